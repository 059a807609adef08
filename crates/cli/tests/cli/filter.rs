//! `linerate filter`.

use std::path::Path;
use std::process::Command;

use linerate_lab::need;

use crate::support::{finish, linerate, text};

#[test]
fn the_three_forms_of_a_program() {
    let listing = linerate(["filter", "ip"]).success().stdout;
    assert!(listing.starts_with("(000) ldh      [12]\n(001) jeq      #0x800"), "{listing}");
    let array = linerate(["filter", "-dd", "ip"]).success().stdout;
    assert!(array.starts_with("{ 0x28, 0, 0, 0x0000000c },\n"), "{array}");
    let numbers = linerate(["filter", "-ddd", "ip"]).success().stdout;
    assert_eq!(numbers.lines().next(), Some("4"));
    assert_eq!(linerate(["filter", "ip", "-d"]).success().stdout, listing);
}

#[test]
fn the_intermediate_form_is_shown() {
    let shown = linerate(["filter", "--ir", "tcp port 80"]).success().stdout;
    assert!(shown.contains("80"), "{shown}");
}

#[test]
fn the_part_of_a_taps_program_is_shown() {
    let shown = linerate(["filter", "--ebpf", "less 100"]).success().stdout;
    assert!(shown.starts_with("0: (26) if w9 > 0x64 goto pc+2\n1: (b4) w0 = 1\n"), "{shown}");
    let refused = linerate(["filter", "--ebpf", "ip protochain 6"]);
    assert!(refused.stderr.contains("needs a loop"), "{refused:?}");
}

#[test]
fn an_empty_filter_keeps_everything() {
    let shown = linerate(["filter"]).success().stdout;
    assert_eq!(shown, "(000) ret      #262144\n");
}

#[test]
fn verdicts_agree_with_tcpdump() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(folder) = need::captures() else { return };
    for name in ["dns_udp.pcap", "dns_tcp.pcap", "icmp-rfc4884.pcap"] {
        let file = folder.join(name);
        if file.exists() {
            compare(&file, "udp or ip[8] > 50");
        }
    }
}

fn compare(file: &Path, filter: &str) {
    let ours = linerate(["filter", "-s", "96", "-r", text(file), "--verdicts", filter]).success();
    let mut tcpdump = Command::new("tcpdump");
    let theirs = finish(tcpdump.args(["-n", "-r", text(file), filter])).success();
    assert!(ours.stdout.lines().all(|verdict| verdict == "0" || verdict == "96"), "{ours:?}");
    let kept = ours.stdout.lines().filter(|verdict| *verdict == "96").count();
    assert_eq!(kept, theirs.stdout.lines().filter(|line| !line.starts_with('\t')).count());
}

#[test]
fn a_snaplen_of_zero_keeps_all() {
    assert_eq!(linerate(["filter", "-s", "0"]).success().stdout, "(000) ret      #262144\n");
    assert_eq!(linerate(["filter", "-s", "4294967296"]).code(), 2);
}

#[test]
fn unknown_link_types_are_refused_with_those_that_there_are() {
    let done = linerate(["filter", "--link", "ETHER", "ip"]);
    assert_eq!(done.code(), 2, "{done:?}");
    assert!(done.stderr.contains("ETHER") && done.stderr.contains("EN10MB"), "{done:?}");
}
