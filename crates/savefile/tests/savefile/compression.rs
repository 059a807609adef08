//! Compressed savefiles: told apart by their first bytes, whole, joined, cut and damaged.

use std::io::Write;

use linerate_base::ErrorKind;
use linerate_savefile::{Compression, Format, Options, Output, Warning, Writer};

use crate::support::{Dribble, NANOS, Owned, ethernet, packet, read, write};

fn packets() -> Vec<Owned> {
    (0..200_i64).map(|i| packet(i, &vec![(i * i) as u8; 40 + i as usize])).collect()
}

fn file() -> Vec<u8> {
    write(Format::Pcapng, &[ethernet("e")], &packets())
}

fn compress(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut output = Output::new(Vec::new(), compression).unwrap();
    output.write_all(bytes).unwrap();
    output.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut info = lz4_flex::frame::FrameInfo::new();
    info.block_size = lz4_flex::frame::BlockSize::Max64KB;
    info.content_checksum = true;
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    // One block for each flush, so that cuts between blocks occur.
    for part in bytes.chunks(5000) {
        encoder.write_all(part).unwrap();
        encoder.flush().unwrap();
    }
    encoder.finish().unwrap()
}

type Method = fn(&[u8]) -> Vec<u8>;

const METHODS: [(&str, Method); 3] = [
    ("gzip", |bytes| compress(Compression::Gzip, bytes)),
    ("zstd", |bytes| compress(Compression::Zstd, bytes)),
    ("lz4", lz4),
];

#[test]
fn whole_and_in_several_parts() {
    let file = file();
    for (name, method) in METHODS {
        assert_eq!(read(&method(&file)[..]).clean(), packets(), "{name}");
        let empty = method(&[]);
        let parts = [method(&file[..777]), empty, method(&file[777..])].concat();
        assert_eq!(read(&parts[..]).clean(), packets(), "{name} in parts");
        assert_eq!(read(Dribble::new(&parts, 1000)).packets, packets(), "{name} in drops");
    }
}

#[test]
fn a_zstd_file_may_begin_with_a_skippable_frame() {
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    let joined = [&skippable[..], &compress(Compression::Zstd, &file())].concat();
    assert_eq!(read(&joined[..]).clean(), packets());
}

#[test]
fn a_cut_anywhere_gives_the_packets_before_it_and_a_warning() {
    for (name, method) in METHODS {
        let whole = method(&file());
        let mut most = 0;
        for length in (0..whole.len()).rev().step_by(7).chain(whole.len() - 12..whole.len()) {
            let outcome = read(&whole[..length]);
            assert!(packets().starts_with(&outcome.packets), "{name} cut to {length}");
            most = most.max(outcome.packets.len());
            let cut = |w: &Warning| matches!(w, Warning::CompressedDataCut { .. });
            let told = outcome.error.is_some() || outcome.warnings.iter().any(cut);
            assert!(told, "{name} cut to {length} of {}", whole.len());
            assert!(outcome.error.is_none() || outcome.packets.is_empty(), "{name} at {length}");
        }
        assert_eq!(most, 200, "{name}: only the end was cut");
    }
}

#[test]
fn damage_is_an_error_of_the_input() {
    for (name, method) in METHODS {
        let mut damaged = method(&file());
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let outcome = read(&damaged[..]);
        assert!(packets().starts_with(&outcome.packets), "{name}");
        let error = outcome.error.expect(name);
        assert_eq!(error.kind(), ErrorKind::Malformed, "{name}: {error}");
        assert!(error.asked().contains("of its decompressed content"), "{name}: {error}");
    }
}

#[test]
fn a_writer_writes_through_a_compressor() {
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let output = Output::new(Vec::new(), compression).unwrap();
        let mut writer = Writer::new(output, &Options::default(), &[ethernet("e")]).unwrap();
        for packet in packets() {
            writer.write(&packet.borrow()).unwrap();
            writer.flush().unwrap();
        }
        assert_eq!(writer.finish().unwrap().packets, 200);
        let file = writer.into_output().finish().unwrap();
        assert_eq!(read(&file[..]).clean(), packets());
    }
}

#[test]
fn the_ending_of_a_name_asks_for_compression() {
    for (name, compression) in [
        ("a.pcap", Compression::None),
        ("a.pcap.gz", Compression::Gzip),
        ("a.pcapng.zst", Compression::Zstd),
        ("A.PCAP.GZ", Compression::Gzip),
        ("a.Zst", Compression::Zstd),
        ("zst", Compression::None),
    ] {
        assert_eq!(Compression::of_name(name).unwrap(), compression);
    }
}

#[test]
fn the_ending_of_a_compression_that_is_not_written_is_refused() {
    for name in ["a.pcap.lz4", "a.xz", "a.pcapng.BZ2"] {
        let error = Compression::of_name(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn the_ending_of_a_name_asks_for_a_format() {
    for name in ["a.pcap", "a.CAP", "a.pcap.zst", "a.Pcap.GZ"] {
        assert_eq!(Format::of_name(name), NANOS, "{name}");
    }
    for name in ["a.pcapng.gz", "-", "pcap", "a.pcap/b", "a.pcap.1"] {
        assert_eq!(Format::of_name(name), Format::Pcapng, "{name}");
    }
}

#[test]
fn compressed_data_cut_before_the_first_packet_are_told_as_such() {
    for (name, method) in METHODS {
        let whole = method(&file());
        for length in 4..12 {
            let error = read(&whole[..length]).error.expect(name);
            assert_eq!(
                error.answered(),
                "the compressed data end before the first packet",
                "{name} cut to {length}"
            );
        }
    }
}

#[test]
fn a_compression_that_is_not_read_is_named() {
    for (magic, program) in [(&b"\xfd7zXZ\0rest"[..], "xz"), (b"BZh91AY&SY", "bzip2")] {
        let error = read(magic).error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.answered().contains(program), "{error}");
        let command = format!("{program} -dc FILE | linerate read -");
        assert!(error.advice().unwrap().contains(&command), "{error}");
    }
}
