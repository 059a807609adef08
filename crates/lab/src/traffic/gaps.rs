//! The gaps between packets that arrive, counted where they arrive.
//!
//! A program at the receiving interface's XDP hook reads the clock for each packet, counts the gap since the one before
//! in a [`Histogram`], and drops the packet. Nothing has to run beside the sender, so that counting disturbs the gaps as
//! little as can be: by the reading of a clock, some 35 ns.

use std::os::fd::{AsFd, AsRawFd};

use linerate_base::{Histogram, Result};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Register, Size, Test, helper};
use linerate_sys::bpf::{Link, Map, MapSpec, Program, ProgramKind, ProgramSpec, XdpMode};

use crate::Host;
use Register::{R0, R1, R2, R7, R8};

/// Takes all that comes to a host's interface, and counts the gaps. Once dropped, the host gets its packets again.
///
/// The interface shall have one queue: gaps are those between packets that one core takes.
#[derive(Debug)]
pub struct GapMeter {
    state: Map,
    counts: Map,
    _link: Link,
}

/// What arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Packets.
    pub packets: u64,
    /// Nanoseconds from the first to the last.
    pub span: u64,
    /// Gaps between one packet and the next: one less than packets.
    pub gaps: Histogram,
}

impl Arrivals {
    /// Packets a second, from the first to the last.
    pub fn rate(&self) -> f64 {
        self.packets.saturating_sub(1) as f64 * 1e9 / self.span.max(1) as f64
    }
}

const NAME: &str = "linerate_gaps";

/// The one key of both maps.
const KEY: [u8; 4] = [0; 4];

/// What the program keeps: 64-bit numbers.
mod state {
    /// Times of the first packet and the last, `CLOCK_MONOTONIC`; 0 before.
    pub(super) const FIRST: i16 = 0;
    pub(super) const LAST: i16 = 8;
    pub(super) const PACKETS: i16 = 16;
    pub(super) const SIZE: u32 = 24;
}

/// Room for all buckets: a power of two, so that the verifier knows an index by its mask.
const ROOM: usize = Histogram::BUCKETS.next_power_of_two();

/// `enum xdp_action`.
const XDP_DROP: i32 = 1;

impl GapMeter {
    /// Begins to count on the host's interface.
    ///
    /// # Errors
    /// Without root; when the interface has an XDP program already, or its MTU is too large for one.
    pub fn start(host: &Host) -> Result<Self> {
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        let counts = Map::new(&MapSpec::array(NAME, ROOM as u32 * 8, 1))?;
        let program = assemble(state.as_fd().as_raw_fd(), counts.as_fd().as_raw_fd());
        let program = load(&program)?;
        let index = host.interface_index();
        let link = host.run(|| Link::xdp(&program, index, XdpMode::Native))?;
        Ok(Self { state, counts, _link: link })
    }

    /// What has arrived so far.
    ///
    /// # Errors
    /// When the process has given up its privileges.
    pub fn arrivals(&self) -> Result<Arrivals> {
        let state = numbers(&self.state)?;
        let mut counts = numbers(&self.counts)?;
        counts.truncate(Histogram::BUCKETS);
        let number = |offset: i16| state.get(offset as usize / 8).copied().unwrap_or_default();
        Ok(Arrivals {
            packets: number(state::PACKETS),
            span: number(state::LAST) - number(state::FIRST),
            gaps: Histogram::of_counts(counts),
        })
    }
}

fn numbers(map: &Map) -> Result<Vec<u64>> {
    let value = map.lookup(&KEY)?.unwrap_or_default();
    let (numbers, _) = value.as_chunks();
    Ok(numbers.iter().map(|number| u64::from_ne_bytes(*number)).collect())
}

fn load(program: &[Instruction]) -> Result<Program> {
    let words: Vec<_> = program.iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?)
}

/// Registers throughout: R7 state, R8 the gap.
fn assemble(state: i32, counts: i32) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [first, done] = [p.label(), p.label()];
    p.push(Instruction::call(helper::KTIME_GET_NS));
    p.extend(Instruction::load_map_value(R7, state, 0));
    p.push(Instruction::load(Size::Double, R1, R7, state::PACKETS));
    p.push(Instruction::alu(Alu::Add, R1, 1));
    p.push(Instruction::store(Size::Double, R7, state::PACKETS, R1));
    p.push(Instruction::load(Size::Double, R1, R7, state::LAST));
    p.push(Instruction::store(Size::Double, R7, state::LAST, R0));
    p.jump_if(Test::Equal, R1, 0, first);
    p.push(Instruction::mov(R8, R0));
    p.push(Instruction::alu(Alu::Sub, R8, R1));
    find_bucket(&mut p);
    p.push(Instruction::alu(Alu::And, R8, ROOM as i32 - 1));
    p.push(Instruction::alu(Alu::Lsh, R8, 3));
    p.extend(Instruction::load_map_value(R1, counts, 0));
    p.push(Instruction::alu(Alu::Add, R1, R8));
    p.push(Instruction::load(Size::Double, R2, R1, 0));
    p.push(Instruction::alu(Alu::Add, R2, 1));
    p.push(Instruction::store(Size::Double, R1, 0, R2));
    p.jump(done);
    p.place(first);
    p.push(Instruction::store(Size::Double, R7, state::FIRST, R0));
    p.place(done);
    p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
    p.finish().expect("every label is placed")
}

/// R8 = the [bucket](Histogram::bucket) of R8 nanoseconds: what is longer than nine bits is shifted by halves. Destroys
/// R1 and R2.
fn find_bucket(p: &mut Assembler) {
    p.push(Instruction::mov(R1, 0));
    for shift in [32, 16, 8, 4, 2, 1] {
        let short = p.label();
        p.push(Instruction::mov(R2, R8));
        p.push(Instruction::alu(Alu::Rsh, R2, 8 + shift));
        p.jump_if(Test::Equal, R2, 0, short);
        p.push(Instruction::alu(Alu::Rsh, R8, shift));
        p.push(Instruction::alu(Alu::Add, R1, shift << 8));
        p.place(short);
    }
    p.push(Instruction::alu(Alu::Add, R8, R1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need;
    use linerate_sys::bpf::TestRun;

    /// A program that answers with the bucket of the number that a packet begins with.
    fn buckets() -> Program {
        let mut p = Assembler::new();
        let short = p.label();
        p.push(Instruction::load(Size::Word, R7, R1, 0));
        p.push(Instruction::load(Size::Word, R2, R1, 4));
        p.push(Instruction::mov(R0, R7));
        p.push(Instruction::alu(Alu::Add, R0, 8));
        p.jump_if(Test::Greater, R0, R2, short);
        p.push(Instruction::load(Size::Double, R8, R7, 0));
        find_bucket(&mut p);
        p.push(Instruction::mov(R0, R8));
        p.push(Instruction::exit());
        p.place(short);
        p.extend([Instruction::mov(R0, -1), Instruction::exit()]);
        load(&p.finish().unwrap()).unwrap()
    }

    #[test]
    fn the_kernel_finds_the_buckets_that_user_space_does() {
        if !need::root() {
            return;
        }
        let program = buckets();
        let powers = (0..64).map(|bit| 1_u64 << bit);
        for nanos in powers.flat_map(|power| [power - 1, power, power + power / 3]) {
            let mut packet = [0; 64];
            packet[..8].copy_from_slice(&nanos.to_ne_bytes());
            let bucket = program.test_run(&TestRun::once(&packet)).unwrap().verdict;
            assert_eq!(bucket as usize, Histogram::bucket(nanos), "{nanos}");
        }
    }
}
