//! tcpdump: what it prints of savefiles and of a wire.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Lab, need};

use crate::library;

/// Reads all captures, and not only every so many-th.
const ALL: &str = "LINERATE_ALL_CAPTURES";

/// How many captures there are to each that is read.
const SHARE: usize = 12;

/// What tcpdump prints of a capture by the library in a folder, or by the system's, and its exit status.
fn printed(capture: &Path, library: Option<&Path>) -> (String, Option<i32>) {
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-n", "-e", "-tttt", "-vv", "-r"]).arg(capture).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        tcpdump.env("LD_LIBRARY_PATH", library);
    }
    let output = tcpdump.output().expect("tcpdump runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

/// Captures that the two libraries read differently, for the reasons in `docs/libpcap.md`.
const DIFFERENT: &[&str] = &["atm-oam-loopback-print-overrun.pcap"];

fn differs(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| DIFFERENT.contains(&name))
}

/// The captures to read.
fn sample(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read").path());
    let is_capture = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng")
    };
    let mut files: Vec<_> = files.filter(is_capture).collect();
    files.sort();
    let share = if env::var_os(ALL).is_some() { 1 } else { SHARE };
    files.into_iter().step_by(share).filter(|path| !differs(path)).collect()
}

#[test]
fn savefiles_read_the_same() {
    let (true, Some(folder)) = (need::program("tcpdump", "tcpdump"), need::captures()) else {
        return;
    };
    let library = library();
    for capture in sample(&folder) {
        let (system, ours) = (printed(&capture, None), printed(&capture, Some(library.path())));
        assert_eq!(ours, system, "{}", capture.display());
    }
}

/// What tcpdump writes of a file that it reads by the library in a folder, or by the system's.
fn rewritten(file: &Path, library: Option<&Path>) -> Vec<u8> {
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-w", "-", "-r"]).arg(file).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        tcpdump.env("LD_LIBRARY_PATH", library);
    }
    tcpdump.output().expect("tcpdump runs").stdout
}

/// A number in the byte order that this machine has not.
fn other(number: u32) -> [u8; 4] {
    number.swap_bytes().to_ne_bytes()
}

/// A pcap file of this machine, with its header and its records' in the other byte order; `None` for other files.
fn in_other_order(file: &[u8]) -> Option<Vec<u8>> {
    let (header, mut rest) = file.split_first_chunk::<24>()?;
    let is_pcap = header[..4] == 0xa1b2_c3d4_u32.to_ne_bytes() && header[4..8] == [2, 0, 4, 0];
    let mut turned = header.to_vec();
    turned.chunks_mut(4).for_each(<[u8]>::reverse);
    turned[4..8].rotate_left(2);
    while let Some((record, packet)) = rest.split_first_chunk::<16>() {
        let [.., a, b, c, d, _, _, _, _] = *record;
        let data = packet.split_at_checked(u32::from_ne_bytes([a, b, c, d]) as usize);
        let (data, next) = data.unwrap_or((packet, &[]));
        record.chunks(4).for_each(|word| turned.extend(word.iter().rev()));
        turned.extend(data);
        rest = next;
    }
    is_pcap.then_some(turned)
}

/// Link types with fields in the order of the machine that captured, and one without.
const PSEUDO: [u32; 7] = [113, 276, 117, 239, 189, 220, 1];

/// Packets of bytes that look like anything, in a file of either format in the other byte order.
fn strange(link_type: u32, is_pcapng: bool) -> Vec<u8> {
    let mut state = link_type;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| other(*number)).collect();
    let mut file: Vec<u8> = match is_pcapng {
        false => words(&[0xa1b2_c3d4, 0x0002_0004, 0, 0, 250, link_type]),
        true => {
            let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1 << 16, u32::MAX, u32::MAX, 28];
            words(&[&section[..], &[1, 20, link_type << 16, 300, 20]].concat())
        }
    };
    for number in 0..3000 {
        let length = random() % 300;
        // Mostly small numbers, in which kinds, versions and lengths mean something.
        let mask = if number % 4 == 0 { 0xff } else { 0x0d };
        let mut data: Vec<u8> = (0..length).map(|_| (random() & mask & random()) as u8).collect();
        data.iter_mut().step_by(1 + number % 3).for_each(|byte| *byte &= 0x40);
        let size = length as u32;
        let wire = if number % 50 == 0 { size / 2 } else { size };
        if is_pcapng {
            let block = size.next_multiple_of(4) + 32;
            file.extend(words(&[6, block, 0, 0, number as u32, size, wire]));
            file.extend(&data);
            file.resize(file.len().next_multiple_of(4), 0);
            file.extend(other(block));
        } else {
            file.extend(words(&[number as u32, 5, size, wire]));
            file.extend(&data);
        }
    }
    file
}

#[test]
fn files_of_the_other_byte_order_read_the_same() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let (folder, library) = (tempfile::tempdir().expect("a folder"), library());
    let file = folder.path().join("file");
    let compare = |what: &str, bytes: &[u8]| {
        fs::write(&file, bytes).expect("written");
        let (system, ours) = (rewritten(&file, None), rewritten(&file, Some(library.path())));
        assert!(system.len() > 24, "{what}");
        assert!(ours == system, "{what}: {} bytes, {}", ours.len(), system.len());
    };
    for (link_type, is_pcapng) in PSEUDO.into_iter().flat_map(|l| [(l, false), (l, true)]) {
        compare(&format!("{link_type} {is_pcapng}"), &strange(link_type, is_pcapng));
    }
    let Some(captures) = need::captures() else { return };
    for capture in sample(&captures).into_iter().chain([captures.join("nflog.pcap")]) {
        if let Some(turned) = in_other_order(&fs::read(&capture).expect("read")) {
            compare(&capture.display().to_string(), &turned);
        }
    }
}

pub(crate) fn wait_for(file: &Path, text: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(file).is_ok_and(|found| found.contains(text)) {
        assert!(begun.elapsed() < Duration::from_secs(30), "no {text:?} in {}", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Captures by our library on a back end what is sent, and counts what tcpdump wrote.
fn captures_all(backend: &str) {
    const SENT: u64 = 1000;
    let (lab, library) =
        (Lab::plan().host("a").host("b").quiet().build().expect("a lab"), library());
    let (a, b) = (lab.host("a"), lab.host("b"));
    let folder = tempfile::tempdir().expect("a folder");
    let (saved, said) = (folder.path().join("saved.pcap"), folder.path().join("said"));
    let mut tcpdump = b.command("sh");
    let script = "exec tcpdump -Z root -U -n -i \"$1\" -c 1000 -w \"$2\" udp port 9 2>\"$3\"";
    tcpdump.args(["-c", script, "sh", b.interface()]).arg(&saved).arg(&said);
    tcpdump.env("LD_LIBRARY_PATH", library.path()).env("LINERATE_BACKEND", backend);
    let tcpdump = Child::start(tcpdump).expect("tcpdump starts");
    wait_for(&said, "listening on");
    Flow::ipv4(a, b, 1000, 10).send_frames(10, 100).expect("sent");
    Flow::ipv4(a, b, 1000, 9).send_frames(SENT, 100).expect("sent");
    let output = tcpdump.output().expect("tcpdump ends by itself");
    let said = fs::read_to_string(said).expect("read");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1000 packets captured"), "{said}");
    assert!(said.contains("0 packets dropped by kernel"), "{said}");
    let count = printed(&saved, None).0.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(count as u64, SENT, "{said}");
}

#[test]
fn a_wire_is_captured_by_each_back_end() {
    if !need::root() || !need::program("tcpdump", "tcpdump") {
        return;
    }
    for backend in ["", "tap", "tap-xdp", "ring", "socket"] {
        captures_all(backend);
    }
}
