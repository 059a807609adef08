//! Frames sent by `pcap_inject` in a loop, and by a send queue, which libpcap has not.
//!
//! A process of its own sends, so that it finds one library or the other; it is this program by a command that is not
//! shown.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use linerate::lab::Host;
use linerate::sys::libpcap::{Libpcap, SendQueue};

use super::EXPERIMENT;
use super::library::{Libraries, Which};
use crate::args::{BenchArgs, LibpcapSendsArgs, LibpcapWay};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Subject, measure};
use crate::bench::wire;
use crate::exit::Outcome;

/// Bytes of a frame, without the check sequence.
const SIZE: usize = 60;

/// Frames of a queue; of a loop half as many.
const QUEUE: u32 = 1_000_000;

const SUBJECTS: [(&str, Which, LibpcapWay); 3] = [
    ("libpcap, pcap_inject", Which::System, LibpcapWay::Inject),
    ("linerate, pcap_inject", Which::Ours, LibpcapWay::Inject),
    ("linerate, a send queue", Which::Ours, LibpcapWay::Queue),
];

/// Nanoseconds a frame, on a wire whose other end drops what comes.
pub(super) fn rows(args: &BenchArgs, libraries: &Libraries) -> Result<Vec<Row>> {
    let lab = wire::pair(1)?;
    let _drops = wire::drop_all(lab.host("b"))?;
    let sender = lab.host("a");
    let subject = |(name, which, way): (&str, _, _)| Subject {
        name: name.into(),
        run: Some(Box::new(move || send(libraries, which, way, sender))),
    };
    let case = format!("{SIZE} B, sent");
    let subjects = SUBJECTS.map(subject).into();
    let results = measure(&case, subjects, args.repeats(), &mut Progress::new(3))?;
    Ok(compare(EXPERIMENT, &case, "ns", SUBJECTS[0].0, &results))
}

fn send(libraries: &Libraries, which: Which, way: LibpcapWay, sender: &Host) -> Result<f64> {
    let mut command = sender.command(std::env::current_exe()?);
    let count = if way == LibpcapWay::Queue { QUEUE } else { QUEUE / 2 };
    command.args(["libpcap-sends", sender.interface(), way.name(), &count.to_string()]);
    libraries.choose(which, &mut command);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} said: {}", said.trim());
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("{command:?} printed {text:?}"))
}

/// Sends by the library that this process finds, and prints nanoseconds a frame; what comes first, as the beginning of
/// a program in the kernel, does not count.
///
/// # Errors
/// The library's own.
pub(crate) fn child(args: &LibpcapSendsArgs) -> Result<Outcome> {
    let interface = Libpcap::load()?.open_interface(&args.interface, SIZE as u32)?;
    let mut frame = [0; SIZE];
    // From one locally administered address to another, of an EtherType for experiments.
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 0, 0x98, 0x88, 0xb5]);
    let inject = |count| (0..count).try_for_each(|_| interface.inject(&frame));
    let began = match args.way {
        LibpcapWay::Inject => {
            inject(args.count / 10)?;
            let began = Instant::now();
            inject(args.count)?;
            began
        }
        LibpcapWay::Queue => {
            let queue = SendQueue::of(&frame, args.count)?;
            interface.transmit(&queue)?;
            let began = Instant::now();
            interface.transmit(&queue)?;
            began
        }
    };
    println!("{}", began.elapsed().as_nanos() as f64 / f64::from(args.count));
    Ok(Outcome::Success)
}
