//! `linerate bench read`: counting what matches in a savefile of 1 GB, against `tcpdump -r`.
//!
//! Both run as programs on the same file, which the page cache holds, and must find the same count.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use linerate::base::{Batch, Descriptor, Interface, LinkType, Timestamp};
use linerate::savefile::{Format, Options, Precision, Writer};

use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Subject, measure, seconds};
use crate::args::BenchArgs;

const OURS: &str = "linerate read --count";
/// What it is compared with.
const PEER: &str = "tcpdump -r --count";

const FILTER: &str = "tcp port 80";

/// Sizes of frames, in bytes without the check sequence, and how they are mixed.
const CASES: &[(&str, &[usize])] = &[("mixed frames", MIXED), ("60-byte frames", &[60])];
pub(super) const MIXED: &[usize] = &[60, 60, 576, 1514, 60, 60, 60, 576, 60, 1514, 60, 576];

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only([OURS, PEER])?;
    let bytes: u64 = if args.quick { 100_000_000 } else { 1_000_000_000 };
    let mut rows = Vec::new();
    let progress = &mut Progress::new(2 * CASES.len());
    for (case, sizes) in CASES {
        let file = tempfile::Builder::new().suffix(".pcap").tempfile()?;
        write(file.as_file(), sizes, bytes)
            .with_context(|| format!("write {bytes} bytes to {}", file.path().display()))?;
        let mut subjects = subjects(file.path());
        subjects.retain(|subject| subject.name == PEER || args.wants(&subject.name));
        let case = format!("{} MB, {case}", bytes / 1_000_000);
        let results = measure(&case, subjects, args.repeats(), progress)?;
        rows.extend(compare("read", &case, "s", PEER, &results));
    }
    Ok(rows)
}

fn subjects(file: &Path) -> Vec<Subject<'_>> {
    let counts = std::rc::Rc::new(std::cell::Cell::new(None));
    let subject = move |name: &str, command: fn(&Path) -> Result<Command>, installed: bool| {
        let counts = counts.clone();
        let run = move || seconds(|| agree(&counts, count(command(file)?)?));
        Subject { name: name.into(), run: installed.then(|| Box::new(run) as _) }
    };
    vec![subject(OURS, linerate, true), subject(PEER, tcpdump, tcpdump_is_installed())]
}

fn linerate(file: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["read", "--count", "-r"]).arg(file).arg(FILTER);
    Ok(command)
}

fn tcpdump(file: &Path) -> Result<Command> {
    let mut command = Command::new("tcpdump");
    command.args(["-n", "--count", "-r"]).arg(file).arg(FILTER);
    Ok(command)
}

fn tcpdump_is_installed() -> bool {
    Command::new("tcpdump").arg("--version").output().is_ok()
}

/// The number that a program's standard output begins with.
fn count(mut command: Command) -> Result<u64> {
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
    number.with_context(|| format!("{:?} printed `{}`", command.get_program(), text.trim()))
}

fn agree(counts: &std::cell::Cell<Option<u64>>, count: u64) -> Result<()> {
    let expected = counts.get().unwrap_or(count);
    ensure!(count == expected, "{count} packets match, another subject found {expected}");
    counts.set(Some(count));
    Ok(())
}

/// Writes a savefile of about `bytes` bytes; every second frame belongs to port 80.
pub(super) fn write(file: &File, sizes: &[usize], bytes: u64) -> Result<()> {
    let interfaces = [Interface { link_type: LinkType::ETHERNET, ..Interface::default() }];
    let options = Options { format: Format::Pcap(Precision::Micros), ..Options::default() };
    let mut writer = Writer::new(file, &options, &interfaces)?;
    let (region, mut table) = frames(sizes);
    while writer.size() < bytes {
        writer.write_batch(&Batch::new(&region, &table, &interfaces))?;
        for descriptor in &mut table {
            descriptor.time = Timestamp::from_nanos(descriptor.time.nanos() + 1_000_000);
        }
    }
    writer.finish()?;
    Ok(())
}

/// A few thousand frames one after another, with where each lies.
fn frames(sizes: &[usize]) -> (Vec<u8>, Vec<Descriptor>) {
    let (mut region, mut table) = (Vec::new(), Vec::new());
    for (i, size) in sizes.iter().cycle().take(4092).enumerate() {
        let offset = region.len() as u32;
        region.extend(frame(i as u16, *size));
        let length = region.len() as u32 - offset;
        let time = Timestamp::from_parts(1_700_000_000, i as u32 * 200);
        table.push(Descriptor { time, offset, captured: length, length, ..Descriptor::default() });
    }
    (region, table)
}

/// A TCP segment in a frame of `size` bytes; the ports follow from `number` without a pattern that a
/// branch predictor learns in passing.
fn frame(number: u16, size: usize) -> Vec<u8> {
    const HEADERS: usize = 14 + 20 + 20;
    let hash = number.wrapping_mul(0x9e37) ^ number.rotate_left(7);
    let port = if hash & 1 == 0 { 80 } else { 443 };
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, (hash >> 8) as u8, hash as u8], 64)
        .tcp(32_768 | hash, port, hash.into(), 64_240);
    let payload = vec![0x5a; size - HEADERS];
    let mut bytes = Vec::with_capacity(size);
    builder.write(&mut bytes, &payload).expect("a vector takes every byte");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_sizes_asked_for() {
        let (region, table) = frames(&[60, 1514]);
        assert_eq!((table[0].length, table[1].length), (60, 1514));
        assert_eq!(region.len(), table.iter().map(|d| d.length as usize).sum::<usize>());
    }
}
