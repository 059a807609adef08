//! Dumps are byte for byte tcpdump's, over every capture whose link layer both know.

use std::path::Path;

use crate::support;
use linerate_base::{LinkType, Packet};
use linerate_lab::need;
use linerate_wire::{Format, Hexdump, Layer, layers};

/// Link types whose header tcpdump's `-x` leaves out as we do. It counts PPP's header, and those
/// of the link types that are not decoded here, as it likes.
const COMPARED: [LinkType; 8] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
];

fn dump(file: &Path, hexdump: Hexdump) -> Option<String> {
    let mut out = String::new();
    let mut known = true;
    support::packets(file, |packet| {
        known &= COMPARED.contains(&packet.link_type);
        // tcpdump skips records that claim no bytes on the wire.
        if packet.length > 0 && (hexdump.link_header || is_plain(packet)) {
            hexdump.write(packet, &mut out);
            out.push('\n');
        }
    });
    known.then_some(out)
}

/// Whether tcpdump takes the same bytes for the link header: it counts headers to it that are
/// not decoded here, and where a packet is cut off within a header, all of it.
fn is_plain(packet: &Packet<'_>) -> bool {
    let is_whole = packet.data.len() == packet.length as usize;
    let broken =
        |layer: &Layer<'_>| matches!(layer, Layer::Truncated { .. } | Layer::Malformed { .. });
    let network = |layer: &Layer<'_>| match layer {
        Layer::Ipv4(_) | Layer::Ipv6(_) => true,
        Layer::Arp(arp) => arp.hardware_type == 1,
        _ => false,
    };
    let layers = layers(packet);
    is_whole && layers.iter().any(network) && !layers.iter().any(broken)
}

/// Each of our dumps must be among tcpdump's, in order. tcpdump has more: it dumps packets that
/// it does not understand even unasked.
fn compare(flag: &str, hexdump: Hexdump) {
    let Some(folder) = need::captures() else { return };
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    for file in support::files(&folder) {
        let Some(ours) = dump(&file, hexdump) else { continue };
        let theirs = support::tcpdump(&file, &["-n", "-t", "-q", flag]);
        let theirs = dumps(&theirs);
        let mut rest = theirs.iter();
        for (i, ours) in dumps(&ours).iter().enumerate() {
            assert!(rest.any(|theirs| theirs == ours), "{flag}, dump {i} of {file:?}: {ours:?}");
        }
    }
}

/// The lines of each dump.
fn dumps(text: &str) -> Vec<Vec<&str>> {
    let mut dumps: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("\t0x")) {
        if line.starts_with("\t0x0000:") {
            dumps.push(Vec::new());
        }
        dumps.last_mut().expect("a dump begins at 0").push(line);
    }
    dumps
}

#[test]
fn hexadecimal_equals_tcpdumps() {
    compare("-xx", Hexdump { format: Format::Hex, link_header: true });
    compare("-x", Hexdump { format: Format::Hex, link_header: false });
}

#[test]
fn hexadecimal_with_ascii_equals_tcpdumps() {
    compare("-XX", Hexdump { format: Format::HexAscii, link_header: true });
    compare("-X", Hexdump { format: Format::HexAscii, link_header: false });
}
