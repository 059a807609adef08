//! Beside tcpdump on the same wire, and before the eyes of Wireshark's programs.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linerate_lab::traffic::send_frames;
use linerate_lab::{Child, Lab, need};

use crate::support::{Live, finish, quiet_pair, text};

/// Connections from `a` to port 80 of `b`, each with a request.
fn browse(lab: &Lab, times: usize) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let listener = b.run(|| TcpListener::bind((b.ipv4(), 80))).unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..times {
            std::io::copy(&mut listener.accept().unwrap().0, &mut std::io::sink()).unwrap();
        }
    });
    a.run(|| {
        for _ in 0..times {
            let mut stream = TcpStream::connect((b.ipv4(), 80)).unwrap();
            stream.write_all(&[b'x'; 3000]).unwrap();
        }
    });
    server.join().unwrap();
}

/// A packet as tcpdump prints it: time to the microsecond, then headers and every byte.
type Printed = (String, String);

/// A file's packets as tcpdump prints them.
fn printed(file: &Path) -> Vec<Printed> {
    let mut tcpdump = Command::new("tcpdump");
    let text = finish(tcpdump.args(["-tt", "-n", "-e", "-xx", "-r", text(file)])).success().stdout;
    let mut packets: Vec<Printed> = Vec::new();
    for line in text.lines() {
        match line.split_once(' ') {
            Some((time, rest)) if !line.starts_with('\t') => {
                packets.push((time.into(), rest.into()));
            }
            _ => packets.last_mut().expect("a packet first").1 += line,
        }
    }
    packets
}

fn wait_for_bytes(file: &Path, bytes: u64) {
    let begun = Instant::now();
    while file.metadata().map_or(0, |meta| meta.len()) < bytes {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} stays empty", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What we and tcpdump, side by side on `b`, capture of the TCP on port 80 that `talk` makes.
fn side_by_side(lab: &Lab, backend: &str, talk: impl Fn()) -> [Vec<(String, String)>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.pcapng"), folder.path().join("theirs.pcap"));
    let b = lab.host("b");
    let mut command = b.command("tcpdump");
    command.args(["-Z", "root", "-U", "-i", b.interface(), "-w", text(&theirs), "tcp port 80"]);
    let tcpdump = Child::start(quiet(command)).unwrap();
    wait_for_bytes(&theirs, 24);
    let live = Live::start(b, &["--backend", backend, "-w", text(&ours), "tcp port 80"]);
    // Soon after the first capture that wants it, the kernel stamps packets once for all who capture;
    // until then each does so for itself, a few microseconds apart.
    std::thread::sleep(Duration::from_millis(500));
    talk();
    // tcpdump gets its last packets when its block is a second old, and leaves without them otherwise.
    std::thread::sleep(Duration::from_millis(1500));
    let done = live.interrupt().success();
    tcpdump.interrupt().unwrap();
    tcpdump.output().unwrap();
    let captured = [printed(&ours), printed(&theirs)];
    assert_eq!(done.captured(), captured[0].len() as u64);
    captured
}

/// True for what `b` received.
fn is_received(packet: &str) -> bool {
    packet.starts_with("02:00:00:00:00:01 >")
}

/// The tap sees what the host sends before the kernel fills in checksums, as every capture does where a
/// network card does that; tcpdump sees it after. So the TCP checksum is left out, at byte 50 behind an IPv4
/// header without options.
fn without_checksum(packet: &str) -> String {
    let line = "0x0030:  ";
    let at = packet.find(line).expect("a TCP header reaches here") + line.len() + 5;
    format!("{}----{}", &packet[..at], &packet[at + 4..])
}

/// In seconds. The tap stamps packets by itself, in the same run of the kernel as the stamp that tcpdump shows:
/// microseconds apart, unless the machine is busy in between.
const TOLERANCE: f64 = 0.05;

fn assert_about_the_same(ours: &mut [Printed], theirs: &mut [Printed]) {
    for packet in ours.iter_mut().chain(theirs.iter_mut()) {
        if !is_received(&packet.1) {
            packet.1 = without_checksum(&packet.1);
        }
    }
    ours.sort_by(|a, b| a.1.cmp(&b.1));
    theirs.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(ours.len(), theirs.len());
    for ((our_time, our_bytes), (their_time, their_bytes)) in ours.iter().zip(theirs) {
        assert_eq!(our_bytes, their_bytes);
        let [our_time, their_time] = [our_time, their_time].map(|t| t.parse::<f64>().unwrap());
        assert!((our_time - their_time).abs() < TOLERANCE, "{our_time} {their_time}");
    }
}

#[test]
fn tcpdump_beside_the_tap_captures_the_same_connections() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let [mut ours, mut theirs] = side_by_side(&lab, "tap", || browse(&lab, 20));
    assert!(ours.len() >= 20 * 8, "{}", ours.len());
    assert!(ours.is_sorted_by(|a, b| a.0 <= b.0), "packets of several cores are in order of time");
    assert_about_the_same(&mut ours, &mut theirs);
}

#[test]
fn tcpdump_beside_the_tap_captures_the_same_frames() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    for (backend, sees_sent) in [("tap", true), ("tap-xdp", false)] {
        let frames: Vec<_> = (0..200).map(|number| segment(&lab, number)).collect();
        let [mut ours, mut theirs] = side_by_side(&lab, backend, || {
            send_frames(lab.host("a"), &frames).expect("sent");
        });
        theirs.retain(|(_, packet)| sees_sent || is_received(packet));
        assert!(ours.len() >= 200, "{}", ours.len());
        assert_about_the_same(&mut ours, &mut theirs);
    }
}

#[test]
fn tcpdump_beside_the_ring_captures_the_same_connections() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let [mut ours, mut theirs] = side_by_side(&lab, "ring", || browse(&lab, 20));
    assert!(ours.len() >= 20 * 8, "{}", ours.len());
    // Two processors may have handed packets to the two captures at the same moment.
    ours.sort_by(|a, b| a.1.cmp(&b.1));
    theirs.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(ours.len(), theirs.len());
    for ((our_time, our_bytes), (their_time, their_bytes)) in ours.iter().zip(&theirs) {
        assert_eq!(our_bytes, their_bytes);
        // A segment that comes over a veth still carries the sender's departure time, so that the
        // kernel gives it none of arrival, and each capture takes its own.
        if !is_received(our_bytes) {
            assert_eq!(our_time, their_time, "{our_bytes}");
        }
    }
}

#[test]
fn tcpdump_beside_the_ring_captures_the_same_frames_at_the_same_times() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let frames: Vec<_> = (0..200).map(|number| segment(&lab, number)).collect();
    let [ours, theirs] = side_by_side(&lab, "ring", || {
        send_frames(lab.host("a"), &frames).expect("sent");
    });
    assert!(ours.len() >= 200, "{}", ours.len());
    assert_eq!(ours, theirs);
}

/// A TCP segment from `a` to `b`; the sequence number tells it from others.
fn segment(lab: &Lab, number: u32) -> Vec<u8> {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let builder = etherparse::PacketBuilder::ethernet2(a.mac(), b.mac())
        .ipv4(a.ipv4().octets(), b.ipv4().octets(), 64)
        .tcp(40_000, 80, number, 1000);
    let mut frame = Vec::new();
    builder.write(&mut frame, b"payload").expect("a vector takes it");
    frame
}

fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn wireshark_reads_our_files_without_complaint() {
    if !need::program("capinfos", "wireshark-common") || !need::program("tshark", "tshark") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["f.pcapng", "f.pcap"] {
        let file = folder.path().join(name);
        let live = Live::start(lab.host("b"), &["-w", text(&file), "tcp port 80"]);
        browse(&lab, 3);
        let done = live.interrupt().success();

        let infos = finish(Command::new("capinfos").args(["-M", "-c", text(&file)])).success();
        assert_eq!(infos.stderr, "");
        let packets = format!("Number of packets:   {}\n", done.captured());
        assert!(infos.stdout.contains(&packets), "{infos:?} {done:?}");

        let filter = ["-Y", "_ws.malformed || _ws.expert.severity == error"];
        let wrong = finish(Command::new("tshark").args(["-r", text(&file)]).args(filter)).success();
        assert_eq!(wrong.stdout, "");
    }
}
