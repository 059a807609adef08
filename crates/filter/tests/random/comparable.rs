//! Which expressions can be compared with libpcap's.

use crate::quirks;
use linerate_base::LinkType;

/// Whether libpcap 1.10.3's verdicts are defined, and ours the same on purpose.
pub(crate) fn is_comparable(text: &str, link_type: LinkType) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // What a tunnel that did not match leaves behind is undefined there.
    let undefined = has(&["geneve"]) && has(&["or", "||", "not", "!"]);
    // A chain of authentication headers may make libpcap loop for ever; the kernel has no chains.
    let chains = has(&["protochain"]) && (quirks::is_loopback(link_type) || has(&["51"]));
    let metadata = has(&["inbound", "outbound", "ifindex"]);
    let tunnel = has(&["pppoes", "geneve"]);
    // Metadata behind a moved link header is read from a wrong offset there.
    let moved = (tunnel || has(&["lane"]) || quirks::has_start(link_type)) && metadata;
    // Arithmetic before other tests overwrites lengths that were found before.
    let arithmetic = has(&["[", "len", "=", "<", ">"]);
    let overwritten = quirks::has_lengths(link_type) && (tunnel || arithmetic);
    let byte_bits = has(&["byte"]) && has(&["&", "|"]);
    // `!=` means `=` there, and `$` is taken for a digit.
    let numbers = has(&["vpi", "vci", "sio", "opc", "dpc", "sls"]) && has(&["!="]);
    let differs = undefined || chains || moved || overwritten || byte_bits || numbers;
    !(differs || has(&["vxlan", "\\ip", "$"]) || quirks::is_newer(link_type))
}
