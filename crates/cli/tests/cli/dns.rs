//! Questions of DNS to a mirror that is every server, and to a real one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use linerate_lab::{Child, Host, Lab, need};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::mirrored::{crossroads, lab, mirror, rows, wait_for_rows};
use crate::support::{Finished, LINERATE, finish, linerate, text};

fn dns(host: &Host, args: &[&str]) -> Finished {
    let mut command = host.command(LINERATE);
    command.args(["dns", "-i", host.interface(), "--allow-reserved", "--timeout", "500ms"]);
    finish(command.args(args).stdin(Stdio::null()))
}

/// A file of so many names.
fn names(folder: &Path, count: usize) -> String {
    let path = folder.join("names");
    let mut names = String::new();
    (0..count).for_each(|number| writeln!(names, "n{number}.example").expect("written"));
    fs::write(&path, names).expect("written");
    text(&path).to_owned()
}

const THREE: &str = "10.64.0.1,10.64.0.2,10.64.0.3";

#[test]
fn every_question_has_one_answer_from_either_kind_of_address() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let names = names(folder.path(), 1_000);
    for own in [&["--own", "10.0.0.99"][..], &[]] {
        let args = ["-s", THREE, "-f", &names, "-t", "A,TYPE65", "--per-server", "max"];
        let fields = ["--fields", "name,type,status,answers"];
        let done = dns(lab.host("a"), &[&args[..], &fields, own].concat()).success();
        let row = |n: usize, kind| format!("n{n}.example,{kind},NOERROR,A 192.0.2.1");
        let expected = (0..1_000).flat_map(|n| [row(n, "A"), row(n, "HTTPS")]);
        assert_eq!(rows(&done.stdout), expected.collect::<BTreeSet<_>>(), "{}", done.stderr);
        assert_eq!(done.summary("questions done"), 2_000);
        assert!(done.summary("queries sent") >= 2_000, "{}", done.stderr);
    }
    mirror.interrupt().success();
}

#[test]
fn neighbours_of_both_families_are_asked_in_turn() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let names = names(folder.path(), 100);
    let args =
        ["-s", "10.0.0.65,10.0.0.66,[fd00::101]:53", "-f", &names, "--fields", "name,server"];
    let done = dns(lab.host("a"), &args).success();
    let mut counts = BTreeMap::new();
    for row in rows(&done.stdout) {
        *counts.entry(row.split(',').next_back().expect("a server").to_owned()).or_insert(0) += 1;
    }
    assert_eq!(counts.values().sum::<i32>(), 100);
    assert!(counts.len() == 3 && counts.values().all(|count| *count > 20), "{counts:?}");
    mirror.interrupt().success();
}

#[test]
fn routers_and_neighbours_have_their_own_ways() {
    let Some((lab, mirrors)) = crossroads() else { return };
    let folder = tempdir().expect("a folder");
    let names = names(folder.path(), 200);
    let reached = "10.64.0.1,10.65.0.1,10.0.0.65,10.0.0.81,[fd00::101]:53";
    let args = ["-f", &names, "--fields", "name,status,server", "-s", "10.0.0.96,10.0.0.255"];
    let done = dns(lab.host("a"), &[&args[..], &["-s", reached]].concat()).success();
    let mut counts = BTreeMap::new();
    for row in rows(&done.stdout) {
        let (_, answer) = row.split_once(',').expect("a name");
        *counts.entry(answer.to_owned()).or_insert(0) += 1;
    }
    assert!(counts.keys().all(|answer| answer.starts_with("NOERROR")), "{counts:?}");
    assert!(counts.len() == 5 && counts.values().all(|count| *count > 20), "{counts:?}");
    let done = dns(lab.host("a"), &args).success();
    let found = rows(&done.stdout);
    assert!(found.len() == 200 && found.iter().all(|row| row.ends_with(",unreachable,")));
    assert_eq!(done.summary("queries sent"), 0);
    for mirror in mirrors {
        mirror.interrupt().success();
    }
}

#[test]
fn who_is_silent_is_left_for_who_answers_and_silence_is_told() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["--one-of", "3"]);
    let folder = tempdir().expect("a folder");
    let names = names(folder.path(), 60);
    let servers: Vec<_> = (1..=6).map(|n| format!("10.64.0.{n}")).collect();
    let args = ["--retries", "8", "-f", &names, "--fields", "name,status,server"];
    let done = dns(lab.host("a"), &[&["-s", &servers.join(",")], &args[..]].concat()).success();
    let found = rows(&done.stdout);
    assert!(found.len() == 60 && found.iter().all(|row| row.contains("NOERROR")), "{found:?}");
    mirror.interrupt().success();
    let done = dns(
        lab.host("a"),
        &["-s", "10.0.0.2", "--own", "10.0.0.99", "--retries", "1", "a.example"],
    );
    // There is a host, and nobody who listens.
    let done = done.success();
    assert!(done.stdout.contains("a.example,A,silent,,10.0.0.2:53,"), "{done:?}");
    assert_eq!(done.summary("queries sent"), 2);
}

#[test]
fn every_query_can_be_told_with_its_times() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let args = ["-s", "10.64.0.1", "--every-query", "--format", "json", "a.example", "b.example"];
    let fields = ["--fields", "name,attempt,sent,received,rtt_us,size,protocol"];
    let done = dns(lab.host("a"), &[&args[..], &fields].concat()).success();
    let lines: Vec<Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 2, "{done:?}");
    let answered: Vec<_> = lines.iter().filter(|line| !line["received"].is_null()).collect();
    assert!(answered.len() >= 2, "{done:?}");
    for line in answered {
        let time = |name: &str| line[name].as_str().and_then(|text| text.parse::<f64>().ok());
        assert!(time("sent") <= time("received") && line["rtt_us"].is_u64(), "{line}");
        assert_eq!((&line["protocol"], line["size"].is_u64()), (&json!("udp"), true), "{line}");
    }
    mirror.interrupt().success();
}

#[test]
fn a_run_that_was_killed_goes_on_and_asks_each_question_once() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let names = names(folder.path(), 4_000);
    let (answers, meta) = (folder.path().join("answers.csv"), folder.path().join("meta.json"));
    let a = lab.host("a");
    let args = [
        "-s",
        "10.64.0.1",
        "-f",
        &names,
        "-r",
        "1000",
        "--per-server",
        "max",
        "--fields",
        "name,type",
        "-o",
        text(&answers),
        "--metadata",
        text(&meta),
    ];
    let mut command = a.command(LINERATE);
    command.args(["dns", "-i", a.interface(), "--allow-reserved"]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(command).expect("linerate starts");
    wait_for_rows(&answers, 1_500);
    drop(child);
    let done = dns(a, &[&args[..], &["--resume"]].concat()).success();
    let expected: BTreeSet<_> = (0..4_000).map(|n| format!("n{n}.example,A")).collect();
    assert_eq!(rows(&fs::read_to_string(&answers).expect("answers")), expected);
    assert!(done.summary("queries sent") < 4_000, "it began anew: {}", done.stderr);
    let again = dns(a, &[&args[..], &["--resume"]].concat());
    assert!(again.code() == 2 && again.stderr.contains("is complete"), "{again:?}");
    mirror.interrupt().success();
}

/// A real server, of the domain `test`, on `b`.
fn dnsmasq(lab: &Lab) -> Child {
    let long = "x".repeat(200);
    let mut command = lab.host("b").command("dnsmasq");
    command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts"]);
    command.args(["--user=root", "--pid-file=", "--local=/test/", "--log-facility=-"]);
    command.args(["--listen-address=10.0.0.2", "--bind-interfaces", "--edns-packet-max=4096"]);
    command.args(["--host-record=a.test,192.0.2.10,2001:db8::10", "--cname=alias.test,a.test"]);
    command.args([
        "--mx-host=a.test,mail.test,10",
        &format!("--txt-record=long.test,{long},{long},{long}"),
    ]);
    command.args(["--txt-record=quoted.test,say \"a,b\""]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(command).expect("dnsmasq starts");
    wait_for_server(lab.host("a"), (lab.host("b").ipv4(), 53).into());
    child
}

/// Waits until a server answers the host's own questions.
fn wait_for_server(host: &Host, server: SocketAddr) {
    let began = Instant::now();
    host.run(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.connect(server).expect("an address");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
        let query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01";
        while socket.send(query).and_then(|_| socket.recv(&mut [0; 512])).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "{server} does not answer");
            thread::sleep(Duration::from_millis(20));
        }
    });
}

fn answers(done: &Finished) -> BTreeMap<(String, String), Value> {
    let mut all = BTreeMap::new();
    for line in done.stdout.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        all.insert((word("name"), word("type")), row);
    }
    all
}

#[test]
fn a_real_server_answers_all_types_and_over_tcp_what_does_not_fit() {
    if !need::program("dnsmasq", "dnsmasq-base") {
        return;
    }
    let Some(lab) = lab() else { return };
    let _server = dnsmasq(&lab);
    let args = ["-s", "10.0.0.2", "--own", "10.0.0.99", "-t", "A,AAAA,MX,TXT", "--udp-size", "512"];
    let names = ["a.test", "alias.test", "long.test", "none.test", "quoted.test"];
    let fields = ["--format", "json", "--fields", "name,type,status,answers,protocol"];
    let done = dns(lab.host("a"), &[&args[..], &fields, &names].concat()).success();
    let all = answers(&done);
    assert_eq!(all.len(), 20, "{done:?}");
    let row = |name: &str, kind: &str| &all[&(name.to_owned(), kind.to_owned())];
    assert_eq!(row("a.test", "A")["answers"], json!(["A 192.0.2.10"]));
    assert_eq!(row("a.test", "AAAA")["answers"], json!(["AAAA 2001:db8::10"]));
    assert_eq!(row("a.test", "MX")["answers"], json!(["MX 10 mail.test."]));
    assert_eq!(row("alias.test", "A")["answers"], json!(["CNAME a.test.", "A 192.0.2.10"]));
    assert_eq!(
        (&row("none.test", "A")["status"], &row("none.test", "A")["answers"]),
        (&json!("NXDOMAIN"), &json!([]))
    );
    let long = row("long.test", "TXT");
    assert_eq!((&long["protocol"], &long["status"]), (&json!("tcp"), &json!("NOERROR")), "{long}");
    assert_eq!(long["answers"][0].as_str().map(|text| text.matches('x').count()), Some(600));
    assert_eq!(row("a.test", "A")["protocol"], "udp");
    assert_eq!(done.summary("over TCP"), 1);
    // As lines of comma-separated values, such answers are quoted.
    let done = dns(
        lab.host("a"),
        &["-s", "10.0.0.2", "-t", "TXT", "--fields", "name,answers", "quoted.test"],
    );
    let line = done.success().stdout.lines().nth(1).expect("a row").to_owned();
    assert!(line.starts_with("quoted.test,\"TXT ") && line.ends_with('"'), "{line}");
    // From ports of the host's own address, too.
    let args = ["-s", "10.0.0.2", "-t", "TXT", "--udp-size", "512", "--fields", "status,protocol"];
    let done = dns(lab.host("a"), &[&args[..], &["long.test"]].concat()).success();
    assert_eq!(rows(&done.stdout), ["NOERROR,tcp".to_owned()].into(), "{}", done.stderr);
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    for (args, word) in [
        (&["-s", "nobody", "a.example"][..], "is no address"),
        (&["-s", "192.0.2.1", "-t", "AXFR", "--allow-reserved", "a.example"], "is no type"),
        (&["-s", "192.0.2.1", "a.example"], "--allow-reserved"),
        (
            &["-s", "127.0.0.1", "--allow-reserved", "--per-server", "1Mbps", "a.example"],
            "--per-server",
        ),
        (&["-s", "127.0.0.1", "--allow-reserved", "a.example", "--resume"], "--metadata"),
        (&["a.example"], "--server <IP>"),
        (&["--iterate", "-s", "192.0.2.1", "a.example"], "--allow-reserved"),
        (&["-s", "127.0.0.1"], "NAMES"),
        (&["-s", "127.0.0.1", "b\u{fc}cher.example"], "xn--"),
        (&["-s", "127.0.0.1", "a.example", "--output-filter", "rtt = 5"], "`rtt` is no field"),
    ] {
        let done = linerate([&["dns", "-i", "lo"], args].concat());
        assert!(done.code() == 2 && done.stderr.contains(word), "{args:?}: {}", done.stderr);
    }
}

#[test]
fn bad_names_of_a_list_are_told_and_left_out() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let list = folder.path().join("list");
    fs::write(&list, "a.example # one\n\nb..example\nc.example\na.example\n").expect("written");
    let args = ["-s", "10.64.0.1", "-f", text(&list), "--fields", "name"];
    let done = dns(lab.host("a"), &args).success();
    assert!(done.stderr.contains("line 3: `b..example` is no name"), "{done:?}");
    let mut found: Vec<_> = done.stdout.lines().skip(1).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        ["a.example", "a.example", "c.example"],
        "a name that comes twice is asked twice"
    );
    let refused = dns(lab.host("a"), &["-s", "10.64.0.1", "b..example"]);
    assert!(refused.code() == 2 && refused.stderr.contains("is no name"), "{refused:?}");
    mirror.interrupt().success();
}

/// A server of NSD with these zones, on `b`.
fn nsd(lab: &Lab, folder: &Path, address: &str, zones: &[(&str, &str)]) -> Child {
    let b = lab.host("b");
    let add = ["addr", "add", &format!("{address}/32"), "dev", b.interface()];
    finish(b.command("ip").args(add)).success();
    let folder = folder.join(address);
    fs::create_dir(&folder).expect("a folder");
    let place = text(&folder);
    let mut config = format!(
        "server:\n ip-address: {address}\n server-count: 1\n username: \"\"\n chroot: \"\"\n database: \"\"\n \
         zonesdir: \"{place}\"\n pidfile: \"{place}/pid\"\n xfrdfile: \"{place}/xfrd\"\n xfrdir: \"{place}\"\n \
         zonelistfile: \"{place}/list\"\n logfile: \"{place}/log\"\n rrl-ratelimit: 0\n\
         remote-control:\n control-enable: no\n"
    );
    for (number, (name, records)) in zones.iter().enumerate() {
        let file = folder.join(format!("zone{number}"));
        let head =
            format!("$ORIGIN {name}\n$TTL 3600\n@ SOA ns.other. host.other. 1 3600 600 86400 60\n");
        fs::write(&file, head + records).expect("written");
        writeln!(config, "zone:\n name: \"{name}\"\n zonefile: \"{}\"", text(&file))
            .expect("written");
    }
    let path = folder.join("nsd.conf");
    fs::write(&path, config).expect("written");
    let mut command = b.command("nsd");
    command.args(["-d", "-c", text(&path)]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(command).expect("nsd starts");
    wait_for_server(lab.host("a"), (address.parse::<IpAddr>().expect("an address"), 53).into());
    child
}

/// A root, the domains `test` and `other`, and zones in `test`.
fn hierarchy(lab: &Lab, folder: &Path) -> [Child; 4] {
    let route = ["route", "add", "10.1.0.0/24", "via", "10.0.0.2"];
    finish(lab.host("a").command("ip").args(route)).success();
    let long = "x".repeat(200);
    let text = format!("\"{long}\" ").repeat(10);
    let mut hosts = String::new();
    for n in 0..500 {
        writeln!(hosts, "n{n} A 192.0.2.{}", n % 250).expect("written");
    }
    let root = "@ NS ns.\nns A 10.1.0.1\ntest NS ns.test.\nns.test A 10.1.0.2\nother NS ns.other.\nns.other A 10.1.0.4\n";
    let test = "@ NS ns\nns A 10.1.0.2\na NS ns.a\nns.a A 10.1.0.3\nglueless NS ns.other.\nlame NS ns.a\nhalf NS ns.a\nhalf NS ns.other.\n\
                alone NS ns.gone.other.\n";
    let leaf =
        format!("@ NS ns\nns A 10.1.0.3\nalias CNAME www.glueless.test.\nlong TXT {text}\n{hosts}");
    let other = "@ NS ns\nns A 10.1.0.4\n";
    let inner = "@ NS ns.other.\nwww A 192.0.2.77\n";
    [
        nsd(lab, folder, "10.1.0.1", &[(".", root)]),
        nsd(lab, folder, "10.1.0.2", &[("test.", test)]),
        nsd(lab, folder, "10.1.0.3", &[("a.test.", &leaf)]),
        nsd(
            lab,
            folder,
            "10.1.0.4",
            &[("other.", other), ("glueless.test.", inner), ("half.test.", inner)],
        ),
    ]
}

#[test]
fn walks_lead_from_the_root_to_who_is_responsible() {
    if !need::program("nsd", "nsd") {
        return;
    }
    let Some(lab) = lab() else { return };
    let folder = tempdir().expect("a folder");
    let _servers = hierarchy(&lab, folder.path());
    let walk = |args: &[&str]| {
        let way = ["--iterate", "-s", "10.1.0.1", "--own", "10.0.0.99", "--format", "json"];
        let fields =
            ["--fields", "name,type,status,answers,server,authoritative,protocol,zone,depth,path"];
        dns(lab.host("a"), &[&way[..], &fields, args].concat()).success()
    };
    let names = [
        "n7.a.test",
        "alias.a.test",
        "none.a.test",
        "www.glueless.test",
        "www.half.test",
        "x.lame.test",
        "x.alone.test",
        "ns.other",
    ];
    let all = answers(&walk(&names));
    let row = |name: &str| &all[&(name.to_owned(), "A".to_owned())];
    let way = json!([". 10.1.0.1:53", "test 10.1.0.2:53"]);
    let found = json!({
        "name": "n7.a.test", "type": "A", "status": "NOERROR", "answers": ["A 192.0.2.7"], "server": "10.1.0.3:53",
        "authoritative": true, "protocol": "udp", "zone": "a.test", "depth": 2, "path": way,
    });
    assert_eq!(*row("n7.a.test"), found);
    assert_eq!(row("alias.a.test")["answers"], json!(["CNAME www.glueless.test.", "A 192.0.2.77"]));
    assert_eq!(
        (&row("none.a.test")["status"], &row("none.a.test")["zone"]),
        (&json!("NXDOMAIN"), &json!("a.test"))
    );
    for name in ["www.glueless.test", "www.half.test"] {
        assert_eq!(
            (&row(name)["answers"], &row(name)["path"]),
            (&json!(["A 192.0.2.77"]), &way),
            "{name}"
        );
    }
    assert_eq!(row("x.lame.test")["status"], "REFUSED");
    assert_eq!(
        (&row("x.alone.test")["status"], &row("x.alone.test")["server"]),
        (&json!("unreachable"), &Value::Null)
    );
    assert_eq!(
        (&row("ns.other")["depth"], &row("ns.other")["path"]),
        (&json!(1), &json!([". 10.1.0.1:53"]))
    );
    let long = answers(&walk(&["-t", "TXT", "long.a.test"]));
    let long = &long[&("long.a.test".to_owned(), "TXT".to_owned())];
    assert_eq!((&long["protocol"], &long["status"]), (&json!("tcp"), &json!("NOERROR")), "{long}");
}

#[test]
fn many_walks_share_what_they_found_and_go_on_after_a_kill() {
    if !need::program("nsd", "nsd") {
        return;
    }
    let Some(lab) = lab() else { return };
    let folder = tempdir().expect("a folder");
    let _servers = hierarchy(&lab, folder.path());
    let list = folder.path().join("names");
    let mut names = String::new();
    (0..500).for_each(|n| writeln!(names, "n{n}.a.test").expect("written"));
    fs::write(&list, names).expect("written");
    let (found, meta) = (folder.path().join("found.csv"), folder.path().join("meta.json"));
    let args = [
        "--iterate",
        "-s",
        "10.1.0.1",
        "-f",
        text(&list),
        "-r",
        "200",
        "--window",
        "20",
        "--fields",
        "name,type,answers",
        "-o",
        text(&found),
        "--metadata",
        text(&meta),
    ];
    let a = lab.host("a");
    let mut command = a.command(LINERATE);
    command.args(["dns", "-i", a.interface(), "--allow-reserved"]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(command).expect("linerate starts");
    wait_for_rows(&found, 200);
    drop(child);
    let done = dns(a, &[&args[..], &["--resume"]].concat()).success();
    let row = |n: usize| format!("n{n}.a.test,A,A 192.0.2.{}", n % 250);
    assert_eq!(rows(&fs::read_to_string(&found).expect("rows")), (0..500).map(row).collect());
    let sent = done.summary("queries sent");
    assert!(sent < 400, "it began anew, or asked for each delegation again: {}", done.stderr);
}
