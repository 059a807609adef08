//! What stands in the kernel before a capture socket: direction, filter, snapshot length.
//!
//! All three are one program, so that the kernel turns a packet away before it copies it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_base::{Error, Result};
use linerate_bpf::classic::{Instruction, Program, ancillary, opcode};
use linerate_bpf::extended;
use linerate_sys::bpf::{self, Map, MapKind, ProgramKind, ProgramSpec};
use linerate_sys::socket_filter::{self, SockFilter};

use crate::Directions;

/// Which packets a program must turn away whatever the filter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) directions: Directions,
    pub(crate) loopback: Loopback,
    /// The mark of those that the host sends and that are not to be seen.
    pub(crate) unseen_mark: Option<u32>,
}

/// Where packets are seen twice, on their way out and on their way in again. The first sight is
/// turned away, as libpcap does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loopback {
    /// Not on this interface.
    No,
    /// This interface is the loopback interface.
    Yes,
    /// On one of all interfaces, which has this number.
    One(u32),
}

/// A program in the kernel, and its count of packets.
///
/// Where the process may load extended programs (CAP_BPF), the program counts what it sees. A classic
/// program cannot, and the kernel does not: packets that it turns away are then in no count.
#[derive(Debug)]
pub(crate) struct Gate {
    turns_away: bool,
    counter: Option<Map>,
    is_replaced: Arc<AtomicBool>,
}

/// Puts another filter before a packet socket that captures already, which takes no privilege. A [`Capture`] has one
/// where the filter runs in the kernel and nowhere else.
///
/// [`Capture`]: crate::Capture
#[derive(Debug)]
pub struct Gatekeeper {
    socket: OwnedFd,
    ways: Ways,
    snaplen: u32,
    is_replaced: Arc<AtomicBool>,
}

impl Gatekeeper {
    /// Keeps what `filter` keeps from now on, of `None` all. Packets that wait were let in before. What is turned away
    /// is in no count any more.
    ///
    /// # Errors
    /// When the kernel does not take the filter; then all is kept.
    pub fn replace(&self, filter: Option<&Program>) -> Result<()> {
        self.is_replaced.store(true, Ordering::Relaxed);
        let all = keep_all(self.ways, self.snaplen);
        let Some(filter) = filter else { return attach(self.socket.as_fd(), &all) };
        attach(self.socket.as_fd(), &compose(filter, self.ways, self.snaplen)).or_else(|error| {
            attach(self.socket.as_fd(), &all)?;
            Err(error)
        })
    }
}

impl Gate {
    /// Lets nothing through to `socket` until [`open`](Self::open).
    pub(crate) fn close(socket: BorrowedFd<'_>) -> Result<()> {
        socket_filter::attach_classic(socket, &[sock_filter(&verdict(0))])
    }

    /// Lets through to `socket` what `program` keeps.
    ///
    /// # Errors
    /// When the kernel does not take the program in either form.
    pub(crate) fn open(socket: BorrowedFd<'_>, program: &Program) -> Result<Self> {
        let turns_away = turns_away(program);
        let counter = turns_away.then(|| attach_counting(socket, program)).flatten();
        if counter.is_none() {
            attach(socket, program)?;
        }
        Ok(Self { turns_away, counter, is_replaced: Arc::default() })
    }

    /// What may replace its program, which lets through to `socket` what goes these ways.
    pub(crate) fn keeper(
        &self,
        socket: BorrowedFd<'_>,
        ways: Ways,
        snaplen: u32,
    ) -> Result<Gatekeeper> {
        let socket = socket
            .try_clone_to_owned()
            .map_err(|e| Error::system("keep the capture's socket for another filter", e))?;
        Ok(Gatekeeper { socket, ways, snaplen, is_replaced: self.is_replaced.clone() })
    }

    /// Packets that came to the gate, of which `passed` went through; `None` when that is not known.
    pub(crate) fn seen(&self, passed: u64) -> Option<u64> {
        if self.is_replaced.load(Ordering::Relaxed) {
            return None;
        }
        match &self.counter {
            // Linux before 5.19 does not let a process that gave up its privileges read it.
            Some(counter) => counter.sum(0).ok(),
            None => (!self.turns_away).then_some(passed),
        }
    }
}

fn attach(socket: BorrowedFd<'_>, program: &Program) -> Result<()> {
    program.check_kernel()?;
    let instructions: Vec<_> = program.instructions().iter().map(sock_filter).collect();
    socket_filter::attach_classic(socket, &instructions)
}

/// `None` where the kernel does not take the program in its extended form, most often for want of
/// the privilege.
fn attach_counting(socket: BorrowedFd<'_>, program: &Program) -> Option<Map> {
    let counter = Map::counters(MapKind::PerCpuArray, 1, NAME).ok()?;
    let extended = extended::from_classic(program, counter.as_fd().as_raw_fd()).ok()?;
    let words: Vec<_> = extended.iter().map(extended::Instruction::encode).collect();
    let spec = ProgramSpec::new(ProgramKind::SocketFilter, &words, NAME);
    let loaded = bpf::Program::load(&spec).ok()?;
    socket_filter::attach_extended(socket, loaded.as_fd()).ok()?;
    Some(counter)
}

/// What those who list programs and maps see.
const NAME: &str = "linerate_gate";

/// False only for a program that begins by keeping the packet.
fn turns_away(program: &Program) -> bool {
    let first = program.instructions()[0];
    first.code != opcode::RET_K || first.k == 0
}

/// The program that keeps what goes the right way and `filter` keeps, but at most `snaplen` bytes of
/// a packet.
pub(crate) fn compose(filter: &Program, ways: Ways, snaplen: u32) -> Program {
    let mut instructions = check_ways(ways);
    instructions.extend(filter.instructions().iter().map(|i| clip(*i, snaplen)));
    Program::new(instructions).expect("jumps are relative, so a checked program may follow others")
}

/// The program that keeps `snaplen` bytes of all that goes the right way.
pub(crate) fn keep_all(ways: Ways, snaplen: u32) -> Program {
    let mut instructions = check_ways(ways);
    instructions.push(verdict(snaplen));
    Program::new(instructions).expect("a few instructions that end in a return")
}

/// Instructions that return 0 for packets that go the wrong way, and else leave both registers
/// as a program finds them at its start.
fn check_ways(ways: Ways) -> Vec<Instruction> {
    let mut check = check_directions(ways);
    check.extend(ways.unseen_mark.into_iter().flat_map(refuse_sent));
    if !check.is_empty() {
        check.push(Instruction::new(opcode::LD_IMM, 0));
    }
    check
}

fn check_directions(ways: Ways) -> Vec<Instruction> {
    use ancillary::{INTERFACE_INDEX, PACKET_TYPE};
    let outgoing = u32::from(ancillary::OUTGOING);
    match (ways.directions, ways.loopback) {
        (Directions::Both, Loopback::No) => Vec::new(),
        (Directions::Both, Loopback::One(index)) => {
            let refuse = refuse(INTERFACE_INDEX, index);
            let skip = Instruction::jump(opcode::JEQ_K, outgoing, 0, refuse.len() as u8);
            [&[load(PACKET_TYPE), skip], &refuse[..]].concat()
        }
        (Directions::Both, Loopback::Yes) | (Directions::In, _) => {
            refuse(PACKET_TYPE, outgoing).to_vec()
        }
        (Directions::Out, Loopback::No) => require(PACKET_TYPE, outgoing).to_vec(),
        (Directions::Out, Loopback::One(index)) => {
            [require(PACKET_TYPE, outgoing), refuse(INTERFACE_INDEX, index)].concat()
        }
        (Directions::Out, Loopback::Yes) => vec![verdict(0)],
    }
}

/// Turns a packet away that the host sends with this mark.
fn refuse_sent(mark: u32) -> Vec<Instruction> {
    let refuse = refuse(ancillary::MARK, mark);
    let outgoing = u32::from(ancillary::OUTGOING);
    let skip = Instruction::jump(opcode::JEQ_K, outgoing, 0, refuse.len() as u8);
    [&[load(ancillary::PACKET_TYPE), skip], &refuse[..]].concat()
}

/// Turns a packet away if what `offset` asks for is `value`.
fn refuse(offset: u32, value: u32) -> [Instruction; 3] {
    [load(offset), Instruction::jump(opcode::JEQ_K, value, 0, 1), verdict(0)]
}

/// Turns a packet away unless what `offset` asks for is `value`.
fn require(offset: u32, value: u32) -> [Instruction; 3] {
    [load(offset), Instruction::jump(opcode::JEQ_K, value, 1, 0), verdict(0)]
}

fn load(offset: u32) -> Instruction {
    Instruction::new(opcode::LDW_ABS, offset)
}

fn verdict(bytes: u32) -> Instruction {
    Instruction::new(opcode::RET_K, bytes)
}

fn clip(instruction: Instruction, snaplen: u32) -> Instruction {
    match instruction.code {
        opcode::RET_K => Instruction { k: instruction.k.min(snaplen), ..instruction },
        _ => instruction,
    }
}

fn sock_filter(i: &Instruction) -> SockFilter {
    SockFilter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }
}

#[cfg(test)]
mod tests {
    use linerate_bpf::classic::{Ancillary, Input};

    use super::*;

    const LO: u32 = 1;
    const NONE: Ways =
        Ways { directions: Directions::Both, loopback: Loopback::No, unseen_mark: None };

    fn verdict_on(program: &Program, outgoing: bool, interface: u32) -> u32 {
        let ancillary = Ancillary {
            packet_type: Some(if outgoing { 4 } else { 0 }),
            interface_index: Some(interface),
            ..Ancillary::default()
        };
        program.run(&Input { ancillary, ..Input::whole(&[0; 60]) })
    }

    /// For out on 2, in on 2, out on loopback, in on loopback: is it kept?
    fn kept(directions: Directions, loopback: Loopback) -> [bool; 4] {
        let program = keep_all(Ways { directions, loopback, unseen_mark: None }, 96);
        [(true, 2), (false, 2), (true, LO), (false, LO)]
            .map(|(outgoing, interface)| verdict_on(&program, outgoing, interface) == 96)
    }

    #[test]
    fn directions_are_those_of_libpcap() {
        use Directions::{Both, In, Out};
        use Loopback::{No, One, Yes};
        assert_eq!(kept(Both, No)[..2], [true, true]);
        assert_eq!(kept(In, No)[..2], [false, true]);
        assert_eq!(kept(Out, No)[..2], [true, false]);
        assert_eq!(kept(Both, Yes)[2..], [false, true]);
        assert_eq!(kept(In, Yes)[2..], [false, true]);
        assert_eq!(kept(Out, Yes)[2..], [false, false]);
        assert_eq!(kept(Both, One(LO)), [true, true, false, true]);
        assert_eq!(kept(In, One(LO)), [false, true, false, true]);
        assert_eq!(kept(Out, One(LO)), [true, false, false, false]);
    }

    #[test]
    fn a_filter_finds_its_registers_as_at_its_start_and_keeps_no_more_than_snaplen() {
        let filter = Program::new(vec![
            Instruction::jump(opcode::JEQ_K, 0, 0, 1),
            verdict(1000),
            verdict(7),
        ]);
        let ways = Ways { directions: Directions::In, ..NONE };
        let program = compose(&filter.unwrap(), ways, 96);
        assert_eq!(verdict_on(&program, false, 2), 96);
        assert_eq!(verdict_on(&program, true, 2), 0);
    }

    #[test]
    fn only_a_program_that_keeps_all_turns_nothing_away() {
        assert!(!turns_away(&keep_all(NONE, 96)));
        let ways = Ways { directions: Directions::Out, ..NONE };
        assert!(turns_away(&keep_all(ways, 96)));
        let nothing = Program::new(vec![verdict(0)]).unwrap();
        assert!(turns_away(&compose(&nothing, NONE, 96)));
    }
}
