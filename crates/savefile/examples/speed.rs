//! How long writing and reading a savefile takes, per packet.
//!
//! `speed write FILE BYTES` fills FILE (its name may end in .pcap, .pcapng, and .gz or .zst) with TCP and
//! UDP frames of the sizes that the Internet has; `speed read FILE` reads it and does nothing else.

use std::env;
use std::error::Error;
use std::fs::File;
use std::time::{Duration, Instant};

use linerate_base::{Direction, Interface, LinkType, Packet, Source, Timestamp};
use linerate_savefile::{Compression, Format, Options, Output, Precision, Reader, Writer};

/// Bytes per frame: half of them small, a third full, the rest between.
const SIZES: [usize; 6] = [60, 66, 1514, 60, 590, 1514];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let start = Instant::now();
    let (packets, bytes) = match arguments[..] {
        ["write", name, bytes] => write(name, bytes.parse()?)?,
        ["read", name] => read(name)?,
        _ => return Err("usage: speed write FILE BYTES | speed read FILE".into()),
    };
    let seconds = start.elapsed().as_secs_f64();
    let (each, rate) = (seconds * 1e9 / packets as f64, bytes as f64 / seconds / 1e9);
    println!("{packets} packets, {seconds:.3} s: {each:.1} ns per packet, {rate:.2} GB/s");
    Ok(())
}

fn read(name: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let mut reader = Reader::new(File::open(name)?)?;
    let mut bytes = 0;
    while let Some(batch) = reader.next_batch(Duration::MAX)? {
        bytes += batch.region().len() as u64;
    }
    Ok((reader.stats()?.delivered, bytes))
}

fn write(name: &str, bytes: u64) -> Result<(u64, u64), Box<dyn Error>> {
    let format =
        if name.contains(".pcapng") { Format::Pcapng } else { Format::Pcap(Precision::Micros) };
    let options = Options { format, ..Options::default() };
    let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
    let output = Output::new(File::create(name)?, Compression::of_name(name)?)?;
    let mut writer = Writer::new(output, &options, &[interface])?;
    let mut frame = frame();
    for number in 0_u32.. {
        if writer.size() >= bytes {
            break;
        }
        let size = SIZES[number as usize % SIZES.len()];
        stamp(&mut frame, number);
        writer.write(&Packet {
            time: Timestamp::from_nanos(1_700_000_000_000_000_000 + i64::from(number) * 1000),
            data: &frame[..size],
            length: size as u32,
            interface: 0,
            link_type: LinkType::ETHERNET,
            direction: Direction::Unknown,
        })?;
    }
    let counters = writer.finish()?;
    writer.into_output().finish()?;
    Ok((counters.packets, counters.bytes))
}

/// An Ethernet and IPv4 header, the rest zeros.
fn frame() -> [u8; 1514] {
    let mut frame = [0; 1514];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34]
        .copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame
}

/// Makes `frame` one of many flows, every fourth of UDP and every eighth of port 80.
fn stamp(frame: &mut [u8], number: u32) {
    frame[23] = if number % 4 == 3 { 17 } else { 6 };
    let port: u16 = if number.is_multiple_of(8) { 80 } else { 443 };
    frame[26..30].copy_from_slice(&(0x0a00_0000 | number >> 5).to_be_bytes());
    frame[34..36].copy_from_slice(&((number as u16) | 0x8000).to_be_bytes());
    frame[36..38].copy_from_slice(&port.to_be_bytes());
}
