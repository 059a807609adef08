//! Scans of prefixes of which a mirror is every address.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::process::Stdio;

use linerate_lab::{Child, Host};
use tempfile::tempdir;

use crate::mirrored::{CROSSED, LOST, answering, crossroads, lab, mirror, rows, wait_for_rows};
use crate::support::{Finished, LINERATE, finish, linerate, text};

fn scan(host: &Host, args: &[&str]) -> Finished {
    let mut command = host.command(LINERATE);
    command.args(["scan", "-i", host.interface(), "--allow-reserved", "--cooldown", "1s"]);
    finish(command.args(args).stdin(Stdio::null()))
}

#[test]
fn all_who_answer_are_found_once_and_nobody_else() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["-p", "80", "--one-of", "10"]);
    let args = ["-p", "80,81", "--fields", "address,port,class", "-r", "20000", "--all"];
    let done = scan(lab.host("a"), &[&args[..], &["10.64.0.0/20"]].concat()).success();
    let answering = answering(1 << 12, 10);
    let row = |address: &IpAddr| [format!("{address},80,open"), format!("{address},81,closed")];
    let expected: BTreeSet<_> = answering.iter().flat_map(row).collect();
    assert!(expected.len() > 600, "{}", expected.len());
    assert_eq!(rows(&done.stdout), expected, "{}", done.stderr);
    assert_eq!(done.summary("probes sent"), 1 << 13);
    assert_eq!(done.summary("targets answered"), expected.len() as u64);
    mirror.interrupt().success();
}

#[test]
fn every_kind_of_probe_finds_its_answers() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["-p", "80"]);
    for (probe, class) in [
        (&["-p", "80"][..], "open"),
        (&["--probe", "ack", "-p", "81"], "unfiltered"),
        (&["--probe", "udp", "-p", "53", "--payload", "dns:example.com"], "reply"),
        (&["--probe", "udp", "-p", "7", "--payload", "text:hello"], "reply"),
        (&["--probe", "echo", "--contact", "https://scan.example"], "echo"),
    ] {
        for (prefix, count) in [("10.0.0.64/28", 16), ("fd00::100/124", 16)] {
            let done =
                scan(lab.host("a"), &[probe, &["--fields", "address,class", prefix]].concat());
            let rows = rows(&done.success().stdout);
            assert_eq!(rows.len(), count, "{probe:?} {prefix}");
            assert!(rows.iter().all(|row| row.ends_with(class)), "{probe:?} {rows:?}");
        }
    }
    mirror.interrupt().success();
}

#[test]
fn an_owned_address_scans_without_the_host() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let args = ["--own", "10.0.0.99", "-p", "80", "--format", "json", "10.64.0.0/24"];
    let done = scan(lab.host("a"), &args).success();
    let lines: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 256, "{}", done.stderr);
    for line in &lines {
        assert_eq!((&line["class"], &line["port"]), (&"open".into(), &80.into()));
        assert!(line["rtt_us"].as_u64().is_some_and(|rtt| rtt < 60_000_000), "{line}");
    }
    mirror.interrupt().success();
}

#[test]
fn parts_make_the_whole() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let mut all = BTreeSet::new();
    for part in ["1/3", "2/3", "3/3"] {
        let args =
            ["-p", "80", "--seed", "7", "--fields", "address", "--shard", part, "10.64.0.0/24"];
        let found = rows(&scan(lab.host("a"), &args).success().stdout);
        assert!((85..=86).contains(&found.len()), "{part}: {}", found.len());
        assert!(all.is_disjoint(&found));
        all.extend(found);
    }
    assert_eq!(all.len(), 256);
    mirror.interrupt().success();
}

#[test]
fn routers_and_neighbours_have_their_own_ways() {
    let Some((lab, mirrors)) = crossroads() else { return };
    for way in [&["--backend", "mmsg"][..], &["--own", "10.0.0.99", "--own", "fd00::99"]] {
        let args = ["-p", "80", "--fields", "address", "--retries", "1"];
        let done = scan(lab.host("a"), &[way, &args[..], &CROSSED, &LOST].concat()).success();
        assert_eq!(rows(&done.stdout).len(), 80, "{}", done.stderr);
        assert_eq!(done.summary("probes sent"), 80, "{}", done.stderr);
        assert!(done.stderr.contains("4 targets not probed"), "{}", done.stderr);
    }
    for mirror in mirrors {
        mirror.interrupt().success();
    }
}

#[test]
fn those_who_did_not_answer_are_asked_again_and_no_others() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["--one-of", "2"]);
    let done = scan(lab.host("a"), &["-p", "80", "--retries", "2", "10.64.0.0/24"]).success();
    let found = rows(&done.stdout).len() as u64;
    assert_eq!(found, answering(256, 2).len() as u64);
    assert_eq!(done.summary("probes sent"), 256 + 2 * (256 - found));
    mirror.interrupt().success();
}

#[test]
fn a_scan_that_was_killed_goes_on_and_finds_each_target_once() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let (rows_file, meta) = (folder.path().join("rows.csv"), folder.path().join("meta.json"));
    let a = lab.host("a");
    let args = [
        "-p",
        "80",
        "-r",
        "1000",
        "-o",
        text(&rows_file),
        "--metadata",
        text(&meta),
        "10.64.0.0/20",
    ];
    let mut command = a.command(LINERATE);
    command.args([
        "scan",
        "-i",
        a.interface(),
        "--allow-reserved",
        "--cooldown",
        "1s",
        "--seed",
        "5",
    ]);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(command).expect("linerate starts");
    wait_for_rows(&rows_file, 1_500);
    drop(child);
    let resumed = |more: &[&str]| scan(a, &[&args[..], &["--resume"], more].concat());
    for (more, word) in [(["--seed", "6"], "run is 5"), (["--fields", "address"], "other --fields")]
    {
        let refused = resumed(&more);
        assert!(refused.code() == 2 && refused.stderr.contains(word), "{refused:?}");
    }
    let done = resumed(&["--seed", "5"]).success();
    assert_eq!(rows(&fs::read_to_string(&rows_file).expect("rows")).len(), 1 << 12);
    let sent = done.summary("probes sent");
    assert!(sent < 4_096, "it began anew: {}", done.stderr);
    let again = scan(a, &[&args[..], &["--resume"]].concat());
    assert_eq!(again.code(), 2);
    assert!(again.stderr.contains("is complete"), "{again:?}");
    let meta: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&meta).expect("metadata")).expect("JSON");
    assert_eq!((&meta["seed"], &meta["complete"]), (&5.into(), &true.into()));
    assert_eq!((&meta["answered"], &meta["targets"]), (&4_096.into(), &4_096.into()));
    mirror.interrupt().success();
}

#[test]
fn answers_are_written_that_meet_the_filter() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["-p", "80"]);
    let found = |filter: &str| {
        let args = ["-p", "80,81", "--fields", "port", "--format", "json", "--output-filter"];
        let done = scan(lab.host("a"), &[&args[..], &[filter, "10.64.0.0/28"]].concat()).success();
        let ports = done.stdout.lines().map(|line| line[8..10].parse::<u16>().expect("a port"));
        ports.fold([0, 0], |[open, closed], port| match port {
            80 => [open + 1, closed],
            _ => [open, closed + 1],
        })
    };
    assert_eq!(found("class = closed"), [0, 16]);
    assert_eq!(found("success || address = 10.64.0.8/29"), [16, 8]);
    assert_eq!(found("!success && rtt_us > 600000000"), [0, 0]);
    mirror.interrupt().success();
}

#[test]
fn with_caps_each_target_is_probed_once_all_the_same() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["-p", "80", "--one-of", "2"]);
    let args =
        ["-p", "80,81", "--per-host", "1", "--per-network", "100", "--retries", "1", "--all"];
    let done = scan(lab.host("a"), &[&args[..], &["10.64.0.0/26"]].concat()).success();
    let found = rows(&done.stdout).len() as u64;
    assert_eq!(found, 2 * answering(64, 2).len() as u64);
    assert_eq!(done.summary("probes sent"), 128 + (128 - found), "{}", done.stderr);
    mirror.interrupt().success();
}

#[test]
fn a_scan_in_vain_ends_and_can_go_on() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["--one-of", "10"]);
    let folder = tempdir().expect("a folder");
    let (rows_file, meta) = (folder.path().join("rows.csv"), folder.path().join("meta.json"));
    let args = ["-p", "80", "-o", text(&rows_file), "--metadata", text(&meta), "10.64.0.0/18"];
    let limits = ["--seed", "5", "-r", "1000", "--stop-below", "50%"];
    let done = scan(lab.host("a"), &[&limits[..], &args].concat()).success();
    assert!(done.stderr.contains("% were answered, less than 50 %"), "{}", done.stderr);
    let sent = done.summary("probes sent");
    assert!(sent < 1 << 14, "it went on: {sent}");
    let journal = fs::read_to_string(&meta).expect("metadata");
    assert!(journal.contains("less than 50 %") && journal.contains("\"complete\": false"));
    scan(lab.host("a"), &[&["--resume", "-r", "20000"][..], &args].concat()).success();
    let found = rows(&fs::read_to_string(&rows_file).expect("rows"));
    assert_eq!(found.len(), answering(1 << 14, 10).len());
    assert!(!fs::read_to_string(&meta).expect("metadata").contains("less than"));
    mirror.interrupt().success();
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let refused = |args: &[&str]| {
        let done = linerate([&["scan", "-i", "lo"], args].concat());
        (done.code(), done.stderr)
    };
    let (code, said) = refused(&["-p", "80", "10.0.0.0/24"]);
    assert!(code == 1 && said.contains("--allow-reserved"), "{said}");
    for (args, word) in [
        (&["10.0.0.1"][..], "--ports"),
        (&["--probe", "echo", "-p", "1", "10.0.0.1"], "echo requests have none"),
        (&["-p", "80", "example.com"], "is no target"),
        (&["-p", "80", "--payload", "ntp", "10.0.0.1"], "only datagrams"),
        (&["-p", "80", "--shard", "1/2", "10.0.0.1"], "--seed"),
        (&["-p", "80", "--resume", "10.0.0.1"], "--metadata"),
        (&["-p", "80", "--stop-below", "0", "10.0.0.1"], "expected percent"),
        (&["-p", "80", "--output-filter", "rtt < 5", "10.0.0.1"], "\n  rtt < 5\n  ^^^"),
        (&["-p", "80", "--output-filter", "success", "--all", "10.0.0.1"], "cannot be used"),
    ] {
        let (code, said) = refused(args);
        assert!(code == 2 && said.contains(word), "{args:?}: {said}");
    }
}

#[test]
fn bad_lines_of_a_list_are_told_and_blocked_addresses_left_out() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let (list, blocked) = (folder.path().join("list"), folder.path().join("blocked"));
    fs::write(&list, b"10.64.1.0/30\nnobody\n10.64.2.1 # one\n\xff\n").expect("written");
    fs::write(&blocked, "10.64.1.1\n").expect("written");
    let args =
        ["-p", "80", "--fields", "address", "-f", text(&list), "--blocklist", text(&blocked)];
    let done = scan(lab.host("a"), &args).success();
    for line in ["line 2: `nobody` is no address", "line 4: `\u{fffd}` is no address"] {
        assert!(done.stderr.contains(line), "{done:?}");
    }
    let found: Vec<_> = rows(&done.stdout).into_iter().collect();
    assert_eq!(found, ["10.64.1.0", "10.64.1.2", "10.64.1.3", "10.64.2.1"]);
    mirror.interrupt().success();
}
