//! Reading savefiles back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linerate_lab::{Child, need};

use crate::support::{LINERATE, count, finish, linerate, text};

/// A savefile of the sample captures, with its number of packets.
fn sample(name: &str) -> Option<PathBuf> {
    need::captures().map(|folder| folder.join(name))
}

const DNS: &str = "dns_udp.pcap";

#[test]
fn every_sample_reads_without_a_panic_and_with_a_plain_status() {
    let Some(folder) = need::captures() else { return };
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        for flags in [&["-e", "-vv", "-XX"][..], &["--json"], &["-q", "-ttt"]] {
            let done = finish(Command::new(LINERATE).arg("read").args(flags).arg("-r").arg(&file));
            assert!(matches!(done.code(), 0 | 1), "{}: {done:?}", file.display());
            assert!(!done.stderr.contains("panicked"), "{}: {done:?}", file.display());
        }
    }
}

#[test]
fn standard_input_and_every_compression_are_read() {
    let Some(file) = sample(DNS) else { return };
    let expected = count(&file);
    assert!(expected > 0);
    let stdin = fs::File::open(&file).unwrap();
    let done = finish(Command::new(LINERATE).args(["read", "--count", "-"]).stdin(stdin)).success();
    assert_eq!(done.stdout, format!("{expected} packets\n"));

    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pcap.gz", "a.pcapng.zst", "a.pcap", "a.pcapng"] {
        let copy = folder.path().join(name);
        linerate(["read", text(&file), "-w", text(&copy)]).success();
        assert_eq!(count(&copy), expected, "{name}");
    }
}

#[test]
fn a_copy_is_the_same_however_slowly_it_was_read() {
    let Some(file) = sample(DNS) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (quick, slow) = (folder.path().join("quick.pcapng"), folder.path().join("slow.pcapng"));
    linerate(["read", text(&file), "-w", text(&quick)]).success();
    let (name, copy) = (text(&file), text(&slow));
    let script = format!("(cat {name}; sleep 0.8) | {LINERATE} read - -w {copy}");
    finish(Command::new("sh").args(["-c", &script])).success();
    assert_eq!(fs::read(&slow).unwrap(), fs::read(&quick).unwrap());
}

#[test]
fn a_signal_ends_the_wait_for_a_silent_pipe() {
    for signal in [Child::interrupt, Child::terminate] {
        let mut command = Command::new(LINERATE);
        command.args(["read", "-"]).stdin(Stdio::piped());
        let mut child = Child::start(command).unwrap();
        // It is waiting when its only thread sleeps in a read.
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal(&child).unwrap();
        assert!(child.wait().unwrap().code() != Some(0));
    }
}

#[test]
fn a_copy_prints_as_the_original() {
    let Some(file) = sample(DNS) else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.pcapng");
    linerate(["read", text(&file), "-w", text(&copy)]).success();
    let print = |file: &Path| linerate(["read", "-e", "-XX", "-tttt", text(file)]).success().stdout;
    assert_eq!(print(&copy), print(&file));
}

#[test]
fn a_filter_a_limit_and_several_files() {
    let Some(file) = sample(DNS) else { return };
    let name = text(&file);
    let all = count(&file);
    let to_server = linerate(["read", "--count", name, "dst", "port", "53"]).success().stdout;
    let from_server = linerate(["read", "--count", name, "src port 53"]).success().stdout;
    let number = |text: &str| text.split(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(number(&to_server) + number(&from_server), all);
    let limited = linerate(["read", "-c", "1", name]).success();
    assert_eq!(limited.stdout.lines().count(), 1);
    let twice = linerate(["read", "--count", "-r", name, "-r", name, "udp"]).success();
    assert_eq!(number(&twice.stdout), 2 * all);
}

#[test]
fn files_of_several_link_types_become_one() {
    let (Some(one), Some(other)) = (sample(DNS), sample("ppp_ip_udp_dns.pcap")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let both = folder.path().join("both.pcapng");
    let print = |file: &Path| linerate(["read", "-e", "-t", text(file)]).success().stdout;
    for (first, second) in [(&one, &other), (&other, &one)] {
        linerate(["read", "-r", text(first), "-r", text(second), "-w", text(&both)]).success();
        assert_eq!(print(&both), print(first) + &print(second));
    }
    let pcap = folder.path().join("both.pcap");
    let refused = linerate(["read", "-r", text(&one), "-r", text(&other), "-w", text(&pcap)]);
    assert_eq!(refused.code(), 1, "{refused:?}");
}

#[test]
fn a_savefile_is_not_written_over_itself() {
    let Some(sample) = sample(DNS) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::copy(&sample, &file).unwrap();
    let other_name = folder.path().join("link.pcap");
    std::os::unix::fs::symlink(&file, &other_name).unwrap();
    for output in [&file, &other_name] {
        let done = linerate(["read", text(&file), "-w", text(output)]);
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("read from this very file"), "{done:?}");
        assert_eq!(fs::read(&file).unwrap(), fs::read(&sample).unwrap());
    }
}

#[test]
fn a_filter_from_a_file() {
    let Some(file) = sample(DNS) else { return };
    let mut filter = tempfile::NamedTempFile::new().unwrap();
    writeln!(filter, "udp and\n src port 53").unwrap();
    let args = ["read", "--count", "-F", text(filter.path()), text(&file)];
    let words = linerate(["read", "--count", text(&file), "udp and src port 53"]).success();
    assert_eq!(linerate(args).success().stdout, words.stdout);
}

#[test]
fn mistakes_in_the_filter_are_pointed_at() {
    let Some(file) = sample(DNS) else { return };
    let done = linerate(["read", text(&file), "tcp port 80 andd udp"]);
    assert_eq!(done.code(), 2, "{done:?}");
    let mut lines = done.stderr.lines().skip_while(|line| !line.contains("tcp port 80 andd udp"));
    let (text, carets) = (lines.next().unwrap(), lines.next().unwrap());
    assert_eq!(text.find("andd"), carets.find('^'), "{done:?}");
}

#[test]
fn what_is_no_savefile_is_refused_with_its_name() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"this is no savefile at all").unwrap();
    let done = linerate(["read", text(file.path())]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains(text(file.path())), "{done:?}");
    let missing = linerate(["read", "/no/such/file"]);
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr.contains("/no/such/file"), "{missing:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let Some(file) = sample(DNS) else { return };
    let script = format!("{LINERATE} read {} | true; exit ${{PIPESTATUS[0]}}", text(&file));
    let done = finish(Command::new("bash").args(["-c", &script]).stdin(Stdio::null()));
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
}

#[test]
fn colour_is_for_those_who_ask() {
    let Some(file) = sample(DNS) else { return };
    let run = |args: &[&str]| linerate([&["read", text(&file)], args].concat()).success().stdout;
    assert!(!run(&[]).contains('\x1b'), "not off a terminal");
    assert!(run(&["--color", "always"]).contains('\x1b'));
}

#[test]
fn filters_are_scoped_and_follow_ipv6_where_asked_to() {
    // Ethernet, IPv6 with a hop-by-hop header, and UDP from port 53.
    let mut packet = vec![0; 12];
    packet.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 0, 64]);
    packet.extend([0; 32]);
    packet.extend([17, 0, 1, 4, 0, 0, 0, 0, 0, 53, 0, 9, 0, 8, 0, 0]);
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let length = packet.len() as u32;
    file.extend([65_535, 1, 0, 0, length, length].iter().flat_map(|n: &u32| n.to_le_bytes()));
    file.extend(packet);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    fs::write(&path, file).unwrap();
    for (flags, filter, packets) in [
        (&[][..], "udp port 53", "0 packets"),
        (&["--ipv6"], "udp port 53", "1 packet"),
        (&[], "vlan or ip6", "0 packets"),
        (&["--scoped"], "vlan or ip6", "1 packet"),
    ] {
        let args = [&["read", "--count"], flags, &[text(&path), filter]].concat();
        assert_eq!(linerate(args).success().stdout, format!("{packets}\n"), "{flags:?} {filter}");
    }
}
