//! Counting in the kernel: filters come and go while packets do.

use std::time::{Duration, Instant};

use linerate_bpf::extended::set::{Condition, Field, Number, Rule};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Predicate, Register, Size, Test};
use linerate_capture::{Directions, Interrupt, Meter, MeterConfig, MeterFilter, Tally};
use linerate_lab::Lab;
use linerate_lab::traffic::send_frames;
use linerate_sys::capability::Capability::{self, Bpf, NetAdmin, Perfmon};
use linerate_sys::capability::limit_capabilities;

use crate::common::*;

const SIZE: usize = 60;

/// Where a frame has its number.
const NUMBER: u32 = 14;

/// Keeps the frame of a number; as a rule, too.
fn one(number: u32) -> MeterFilter {
    let load = Number::Load { base: None, offset: NUMBER, size: Size::Word };
    let field = Field { number: load, mask: u32::MAX };
    let rule = Rule { conditions: vec![Condition { field, ranges: vec![(number, number)] }] };
    MeterFilter {
        text: format!("number {number}"),
        predicate: at_least(number, true),
        rules: Some(vec![rule]),
    }
}

/// Keeps the frames of a number and those above it, and has no rules.
fn others(least: u32) -> MeterFilter {
    MeterFilter { text: format!("from {least}"), predicate: at_least(least, false), rules: None }
}

fn at_least(number: u32, exactly: bool) -> Predicate {
    use Register::{R0, R1};
    let mut code = Assembler::new();
    let end = code.label();
    code.extend([
        Instruction::mov(R0, 0),
        Instruction::mov(R1, Predicate::START),
        Instruction::alu(Alu::Add, R1, NUMBER + 4),
    ]);
    code.jump_if(Test::Greater, R1, Predicate::END, end);
    code.push(Instruction::load(Size::Word, R1, Predicate::START, NUMBER as i16));
    code.push(Instruction::big_endian32(R1));
    let test = if exactly { Test::NotEqual } else { Test::Less };
    code.jump_if32(test, R1, number, end);
    code.push(Instruction::mov(R0, 1));
    code.place(end);
    Predicate::new(code.finish().unwrap(), Vec::new())
}

fn open(lab: &Lab, filters: Vec<MeterFilter>, has: &[Capability]) -> Meter {
    let interrupt = Interrupt::new().unwrap();
    let b = lab.host("b");
    let interface = b.interface().to_owned();
    let config = MeterConfig { interface, direction: Directions::In, filters, interrupt };
    let meter = b.run(|| {
        limit_capabilities(has).unwrap();
        Meter::open(&config)
    });
    meter.unwrap_or_else(|e| panic!("{e}"))
}

/// Sends the numbered frames, and gives the packets of each filter once all are counted.
fn count(lab: &Lab, meter: &Meter, count: u32) -> Vec<u64> {
    let before = meter.read().unwrap().total.packets;
    send_frames(lab.host("a"), &frames(count, SIZE)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while meter.read().unwrap().total.packets < before + u64::from(count) {
        assert!(Instant::now() < deadline, "{:?}", meter.read());
    }
    let tallies = meter.read().unwrap().filters;
    let whole = |tally: &Tally| assert_eq!(tally.bytes, tally.packets * SIZE as u64);
    tallies.iter().inspect(|tally| whole(tally)).map(|tally| tally.packets).collect()
}

/// Adds filters to a meter that has many, or few, and removes some.
fn come_and_go(lab: &Lab, many: u32) {
    let mut meter = open(lab, (0..many).map(one).collect(), &[Bpf, NetAdmin, Perfmon]);
    let there = many as usize;
    let mut expected: Vec<_> = (0..many).map(|number| u64::from(number < 50)).collect();
    assert_eq!(count(lab, &meter, 50), expected);

    assert_eq!(meter.insert(&one(40)).unwrap(), there);
    assert_eq!(meter.insert(&others(30)).unwrap(), there + 1);
    expected.iter_mut().take(there.min(50)).for_each(|sum| *sum += 1);
    expected.extend([1, 20]);
    assert_eq!(count(lab, &meter, 50), expected);

    for number in [1, there, there + 1] {
        assert!(meter.remove(number).unwrap());
        assert!(!meter.remove(number).unwrap());
    }
    assert_eq!(meter.insert(&one(41)).unwrap(), there + 2);
    expected.iter_mut().take(there.min(50)).for_each(|sum| *sum += 1);
    expected[1] -= 1;
    expected.push(1);
    assert_eq!(count(lab, &meter, 50), expected);
    meter.stop();
}

#[test]
fn filters_come_and_go_while_packets_are_counted() {
    let Some(lab) = quiet_pair() else { return };
    come_and_go(&lab, 300);
    come_and_go(&lab, 3);
}

#[test]
fn many_filters_are_counted_without_the_privilege_to_look_into_sets() {
    let Some(lab) = quiet_pair() else { return };
    let meter = open(&lab, (0..150).map(one).collect(), &[Bpf, NetAdmin]);
    let expected: Vec<_> = (0..150).map(|number| u64::from(number < 50)).collect();
    assert_eq!(count(&lab, &meter, 50), expected);
}
