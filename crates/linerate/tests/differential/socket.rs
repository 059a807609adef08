//! Packets as a socket in the kernel shows them to a filter.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::LazyLock;

use linerate::base::{LinkType, Result};
use linerate::bpf::classic::{Ancillary, Input, Program, ancillary};
use linerate::bpf::extended::{Instruction, from_classic};
use linerate::lab::need;
use linerate::sys::bpf::{self, Map, MapKind, ProgramKind, ProgramSpec};
use linerate::sys::socket_filter::SockFilter;

/// A packet that the host itself sent, off which the driver took a VLAN tag.
pub(crate) const TAGGED: Ancillary = Ancillary {
    protocol: None,
    packet_type: Some(ancillary::OUTGOING),
    interface_index: Some(7),
    vlan_tci: Some(0x2064),
    vlan_protocol: 0x8100,
};

/// What a socket shows of a packet whose cooked header user space has put before it: what follows
/// the header, and the header's fields when asked. `None` where the header is cut or has a packet
/// type that no kernel gives.
pub(crate) fn without_cooked_header<'a>(
    link_type: LinkType,
    packet: &Input<'a>,
) -> Option<Input<'a>> {
    let header = match link_type {
        LinkType::LINUX_SLL => 16,
        LinkType::LINUX_SLL2 => 20,
        _ => return Some(*packet),
    };
    let (header, data) = packet.data.split_at_checked(header)?;
    if link_type == LinkType::LINUX_SLL && header[0] != 0 {
        return None;
    }
    let half = |at| Some(u16::from_be_bytes([header[at], header[at + 1]]));
    let ancillary = if link_type == LinkType::LINUX_SLL {
        Ancillary { protocol: half(14), packet_type: Some(header[1]), ..packet.ancillary }
    } else {
        let interface_index = header[4..8].iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        Ancillary {
            protocol: half(0),
            packet_type: Some(header[10]),
            interface_index: Some(interface_index),
            ..packet.ancillary
        }
    };
    Some(Input { data, length: packet.length - header.len() as u32, ancillary })
}

/// Where the kernel's classic filters differ from everybody's: distances of shifts are taken modulo
/// 32, indices wrap around, and a packet from no interface, as between two UNIX sockets, ends the
/// program with whatever is in A when it asks for the interface.
pub(crate) fn is_another_matter_in_the_kernel(expression: &str) -> bool {
    let is_plain = |index: &str| {
        let end = index.find([':', ']']).unwrap_or(index.len());
        index[..end].len() < 6 && index[..end].chars().all(char::is_alphanumeric)
            || index.starts_with("icmp")
            || index.starts_with("tcpflags")
    };
    ["ifindex", "<<", ">>"].iter().any(|word| expression.contains(word))
        || !expression.split('[').skip(1).all(is_plain)
}

/// A program in its extended form, which counts the packets that it sees.
pub(crate) struct Counting {
    pub(crate) program: bpf::Program,
    counter: Map,
}

impl Counting {
    /// `None` where the test may not load programs.
    pub(crate) fn new(program: &Program) -> Result<Option<Self>> {
        static PRIVILEGED: LazyLock<bool> = LazyLock::new(need::root);
        if !*PRIVILEGED {
            return Ok(None);
        }
        let counter = Map::counters(MapKind::PerCpuArray, 1, "seen")?;
        let extended = from_classic(program, counter.as_fd().as_raw_fd());
        let extended = extended.expect("what the kernel takes has an extended form");
        let words: Vec<_> = extended.iter().map(Instruction::encode).collect();
        let spec = ProgramSpec::new(ProgramKind::SocketFilter, &words, "differential");
        let program = bpf::Program::load(&spec)?;
        Ok(Some(Self { program, counter }))
    }

    pub(crate) fn seen(&self) -> Result<u64> {
        self.counter.sum(0)
    }
}

/// The program as the kernel takes it.
pub(crate) fn raw(program: &Program) -> Vec<SockFilter> {
    let instructions = program.instructions().iter();
    instructions.map(|i| SockFilter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect()
}
