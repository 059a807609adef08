//! What the library exports.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use linerate_lab::need;

use crate::library;

/// What libpcap 1.11 exports and 1.10 does not.
const SINCE_1_11: [&str; 6] = [
    "pcap_alloc_option",
    "pcap_free_option",
    "pcap_get_option_int",
    "pcap_get_option_string",
    "pcap_set_option_int",
    "pcap_set_option_string",
];

/// What WinPcap and Npcap export and libpcap does not.
const OF_WINPCAP: [&str; 13] = [
    "pcap_getevent",
    "pcap_live_dump",
    "pcap_live_dump_ended",
    "pcap_sendqueue_alloc",
    "pcap_sendqueue_destroy",
    "pcap_sendqueue_queue",
    "pcap_sendqueue_transmit",
    "pcap_setbuff",
    "pcap_setmintocopy",
    "pcap_setmode",
    "pcap_setsampling",
    "pcap_setuserbuffer",
    "pcap_stats_ex",
];

/// Names that a library exports, and whether each is code.
fn exported(library: &Path) -> BTreeSet<(String, bool)> {
    let mut nm = Command::new("nm");
    let output = nm.args(["-D", "--defined-only"]).arg(library).output().expect("nm runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("nm prints text");
    let symbol = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let kind = words.next().expect("a kind");
        (words.next().expect("a name").to_owned(), kind == "T")
    };
    text.lines().map(symbol).collect()
}

/// The system's library, as the loader finds it.
fn of_system() -> Option<std::path::PathBuf> {
    let output = Command::new("ldconfig").arg("-p").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().find(|line| line.trim_start().starts_with("libpcap.so.0.8 "))?;
    line.split(" => ").nth(1).map(Into::into)
}

#[test]
fn what_is_exported_is_what_libpcap_exports_and_winpcap() {
    if !need::program("nm", "binutils") || !need::program("ldconfig", "libc-bin") {
        return;
    }
    let system = exported(&of_system().expect("libpcap is installed"));
    let ours = exported(&library().path().join("libpcap.so.0.8"));
    let missing: Vec<_> = system.difference(&ours).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let added = [&SINCE_1_11[..], &OF_WINPCAP[..]].concat();
    let added: BTreeSet<_> = added.into_iter().map(|name| (name.to_owned(), true)).collect();
    let expected: BTreeSet<_> = system.union(&added).cloned().collect();
    let strange: Vec<_> = ours.difference(&expected).collect();
    assert!(strange.is_empty(), "no library has: {strange:?}");
    assert!(added.is_subset(&ours), "missing: {:?}", added.difference(&ours));
}
