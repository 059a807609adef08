//! What tcpdump captures is what we capture: bytes, lengths, times to the nanosecond.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use linerate_base::{LinkType, Source};
use linerate_capture::{ANY, Backend, Config, open_file};
use linerate_lab::traffic::{send_frames, tagged};
use linerate_lab::{Child, Host, need};

use crate::common::*;

/// A tcpdump on `interface` that is listening.
fn tcpdump(host: &Host, interface: &str, link_type: &str, file: &Path) -> Child {
    let mut command = host.command("tcpdump");
    command.args(["-Z", "root", "-U", "--immediate-mode", "--nano", "-y", link_type]);
    // In immediate mode its ring has a slot of the snapshot length for each packet.
    command.args(["-s", "2048", "-B", "8192"]);
    command.args(["-i", interface, "-w"]).arg(file).stderr(Stdio::piped());
    let mut child = Child::start(command).unwrap();
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        assert!(words.read_line(&mut line).unwrap() > 0, "tcpdump ended");
    }
    child
}

/// The packets in `file`, once there are `count`.
fn written(file: &Path, count: usize) -> Vec<Owned> {
    for _ in 0..200 {
        let packets = all_of(file);
        if packets.len() >= count {
            return packets;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("tcpdump wrote {} of {count} packets", all_of(file).len());
}

fn all_of(file: &Path) -> Vec<Owned> {
    let mut source = open_file(file).unwrap();
    let mut packets = Vec::new();
    while let Some(batch) = source.next_batch(Duration::MAX).unwrap() {
        packets.extend(batch.iter().map(|p| Owned {
            time: p.time,
            data: p.data.to_vec(),
            length: p.length,
            interface: p.interface,
            direction: p.direction,
        }));
    }
    packets
}

fn facts(packets: &[Owned]) -> Vec<(&[u8], u32, i64)> {
    packets.iter().map(|p| (&p.data[..], p.length, p.time.nanos())).collect()
}

#[test]
fn tcpdump_beside_us_captures_the_same() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let (a, b) = (lab.host("a"), lab.host("b"));
    let plain = frames(100, 200);
    let with_tags: Vec<_> = plain.iter().map(|frame| tagged(frame, 5)).collect();
    let folder = tempfile::tempdir().unwrap();
    // The kernel begins to stamp packets on arrival soon after somebody asks for it, and goes on as
    // long as somebody does: ask before the packets that count.
    let _stamps = open_on(b, &config(b, Backend::Ring));
    for backend in BY_SOCKET {
        for (interface, link_type, sent) in [
            (b.interface(), LinkType::ETHERNET, [&plain[..], &with_tags].concat()),
            (ANY, LinkType::LINUX_SLL2, plain.clone()),
            (ANY, LinkType::LINUX_SLL, plain.clone()),
        ] {
            let file = folder.path().join(format!("{backend}-{link_type}"));
            let _tcpdump = tcpdump(b, interface, &link_type.to_string(), &file);
            let interface = interface.to_owned();
            let link_type = Some(link_type);
            let config = Config { interface, link_type, ..config(b, backend) };
            let mut capture = open_on(b, &config);
            send_frames(a, &sent).unwrap();
            let ours = fetch(&mut capture.source, sent.len());
            assert!(facts(&ours) == facts(&written(&file, sent.len())), "{backend} {link_type:?}");
        }
    }
}
