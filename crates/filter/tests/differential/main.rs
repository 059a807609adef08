//! Ours against the installed libpcap, unoptimised: every primitive on every link type, over packets
//! of every kind and every truncation of them.
//!
//! libpcap cannot say what a filter means for a savefile without one, so its programs are those for
//! live captures, without the special handling of VLAN tags; ours are made for user space with
//! metadata allowed, or for the kernel where link types differ between the two.

#[path = "../common/mod.rs"]
mod common;
mod live;
#[path = "../common/quirks.rs"]
mod quirks;

use linerate_base::LinkType;
use linerate_bpf::classic::Input;
use linerate_filter::{Filter, Hermetic, Options, Target, Verdict, compile, link_types};
use linerate_sys::libpcap::{CompileFor, Libpcap, Program};

const SNAPLEN: u32 = 262_144;

/// Where we differ on purpose (see the crate's documentation), or the oracle knows more names.
fn is_exempt(expression: &str) -> bool {
    expression.contains("\\foo") || expression.contains('$')
}

fn is_exempt_on(link_type: LinkType, expression: &str) -> bool {
    let moves = expression.contains("geneve") || expression.contains("pppoes");
    let metadata = ["inbound", "outbound", "ifindex"].iter().any(|word| expression.contains(word));
    quirks::has_lengths(link_type) && moves
        || quirks::has_start(link_type) && metadata
        || quirks::is_loopback(link_type) && expression.contains("protochain")
}

fn expressions() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../expressions.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with("# ")).filter(|e| !is_exempt(e))
}

fn ours(expression: &str, link_type: LinkType, optimise: bool) -> linerate_filter::Result<Filter> {
    let target = if quirks::is_loopback(link_type) { Target::Kernel } else { Target::User };
    let options = Options::new(link_type, &Hermetic);
    compile(expression, &Options { optimise, target, metadata: true, ..options })
}

fn theirs(libpcap: &Libpcap, expression: &str, link_type: LinkType) -> Result<Program, String> {
    let target =
        CompileFor { link_type: link_type.0, snaplen: SNAPLEN, optimise: false, netmask: None };
    libpcap.compile(expression, &target).map_err(|error| error.to_string())
}

/// One line for each expression on which we disagree.
fn disagreements(libpcap: &Libpcap, link_type: LinkType) -> Vec<String> {
    let packets = common::packets(link_type);
    let mut found = Vec::new();
    for expression in expressions().filter(|text| !is_exempt_on(link_type, text)) {
        let verdict =
            match (ours(expression, link_type, true), theirs(libpcap, expression, link_type)) {
                (Ok(ours), Ok(theirs)) => compare(expression, link_type, &ours, &theirs, &packets),
                (Err(_), Err(_)) => None,
                (Ok(_), Err(error)) => Some(format!("we accept, libpcap says: {error}")),
                (Err(error), Ok(_)) => {
                    Some(format!("libpcap accepts, we say: {}", error.message()))
                }
            };
        found.extend(verdict.map(|what| format!("[{link_type}] {expression}: {what}")));
    }
    found
}

fn compare(
    expression: &str,
    link_type: LinkType,
    optimised: &Filter,
    theirs: &Program,
    packets: &[Vec<u8>],
) -> Option<String> {
    let plain = ours(expression, link_type, false).expect("compiled optimised");
    for (number, packet) in packets.iter().enumerate() {
        for cut in 0..=packet.len() {
            let length = packet.len() as u32;
            let input = Input { data: &packet[..cut], length, ..Input::default() };
            let expected = theirs.verdict(input.data, length);
            let evaluated = match optimised.evaluate(&input) {
                Verdict::True => SNAPLEN,
                Verdict::False | Verdict::Reject => 0,
            };
            let got = [evaluated, plain.program().run(&input), optimised.program().run(&input)];
            if got != [expected; 3] {
                return Some(format!(
                    "packet {number} cut at {cut}: {expected} expected, got {got:?}"
                ));
            }
        }
    }
    None
}

#[test]
fn agrees_with_libpcap() {
    let Ok(libpcap) = Libpcap::load() else {
        linerate_lab::need::program("tcpdump", "libpcap0.8");
        return;
    };
    let known = link_types().chain(quirks::OPAQUE).filter(|link| !quirks::is_newer(*link));
    let found: Vec<_> = known.flat_map(|link| disagreements(&libpcap, link)).collect();
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}
