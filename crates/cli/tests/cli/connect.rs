//! Visits of prefixes of which a mirror is every address, of nginx, and of servers that behave badly.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use linerate_lab::{Child, Host, Lab, disk, need};
use tempfile::{TempDir, tempdir};

use crate::mirrored::{CROSSED, LOST, answering, crossroads, lab, mirror, rows, wait_for_rows};
use crate::support::{
    COMPLAINTS, Finished, LINERATE, Live, finish, linerate, start, text, tshark_of_conversations,
    wait,
};

const OWN: [&str; 4] = ["--own", "10.0.0.99", "--own", "fd00::99"];

fn command(host: &Host, args: &[&str]) -> Command {
    let mut command = host.command(LINERATE);
    command.args(["connect", "-i", host.interface(), "--allow-reserved", "--cooldown", "1s"]);
    command.args(OWN).args(args).stdin(Stdio::null());
    command
}

fn connect(host: &Host, args: &[&str]) -> Finished {
    finish(&mut command(host, args))
}

/// A folder with an answer in it, as `--answer` wants it.
fn answer(bytes: &[u8]) -> (TempDir, String) {
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("answer");
    fs::write(&file, bytes).expect("written");
    let name = text(&file).to_owned();
    (folder, name)
}

#[test]
fn all_who_accept_are_visited_once_and_nobody_else() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(b"hello");
    let mirror = mirror(&lab, &["-p", "80", "--one-of", "10", "--answer", &file]);
    let args =
        ["-p", "80,81", "--fields", "address,port,outcome,bytes,data", "-r", "20000", "--all"];
    let request = ["--request", "http", "10.64.0.0/20"];
    let done = connect(lab.host("a"), &[&args[..], &request].concat()).success();
    let answering = answering(1 << 12, 10);
    let lines = answering.iter().flat_map(|address| {
        [format!("{address},80,finished,5,hello"), format!("{address},81,refused,0,")]
    });
    let expected: BTreeSet<_> = lines.collect();
    assert!(expected.len() > 600, "{}", expected.len());
    assert_eq!(rows(&done.stdout), expected, "{}", done.stderr);
    assert_eq!(done.summary("connections asked for"), 1 << 13);
    assert_eq!(done.summary("opened"), answering.len() as u64);
    mirror.interrupt().success();
}

#[test]
fn every_end_is_told_as_it_was() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(&[b'x'; 3_000]);
    for (ending, close, bytes, outcome) in [
        ("fin", "reset", "4096", "finished,3000"),
        ("fin", "fin", "4096", "finished,3000"),
        ("fin", "reset", "3000", "enough,3000"),
        ("reset", "reset", "4096", "reset,3000"),
        ("none", "fin", "3000", "enough,3000"),
        ("none", "reset", "4096", "timeout,3000"),
    ] {
        let mirror = mirror(&lab, &["--ending", ending, "--answer", &file]);
        let args = ["--request", "text:x", "--close", close, "--bytes", bytes, "--time", "500ms"];
        for prefix in ["10.0.0.64/28", "fd00::100/124"] {
            let more = ["-p", "80", "--fields", "address,outcome,bytes", prefix];
            let found =
                rows(&connect(lab.host("a"), &[&args[..], &more].concat()).success().stdout);
            assert_eq!(found.len(), 16, "{ending} {close} {prefix}");
            assert!(found.iter().all(|row| row.ends_with(outcome)), "{ending} {close} {found:?}");
        }
        mirror.interrupt().success();
    }
}

#[test]
fn visits_are_written_that_meet_the_filter() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(b"Server: nginx\r\n");
    let mirror = mirror(&lab, &["-p", "80", "--answer", &file]);
    let found = |filter: &str| {
        let args = ["-p", "80,81", "--request", "http", "--fields", "port", "--output-filter"];
        let done = connect(lab.host("a"), &[&args[..], &[filter, "10.64.0.0/28"]].concat());
        let ports = done.success().stdout;
        ["80", "81"].map(|port| ports.lines().filter(|line| *line == port).count())
    };
    assert_eq!(found("data ~ nginx && bytes = 15"), [16, 0]);
    assert_eq!(found("!success || address = 10.64.0.8/29"), [8, 16]);
    assert_eq!(found("outcome != refused && open_us > 600000000"), [0, 0]);
    mirror.interrupt().success();
}

#[test]
fn times_of_the_phases_are_told() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(b"a,b\r\n");
    let mirror = mirror(&lab, &["--answer", &file]);
    let args = ["-p", "80", "--request", "http", "--format", "json", "10.64.0.0/24"];
    let done = connect(lab.host("a"), &args).success();
    let lines: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 256, "{}", done.stderr);
    for line in &lines {
        assert_eq!((&line["outcome"], &line["data"]), (&"finished".into(), &r"a\x2cb\r\n".into()));
        let number = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name}: {line}"));
        assert!(number("connect_ms") < 60_000, "{line}");
        assert!(number("first_us") <= number("open_us"), "{line}");
    }
    mirror.interrupt().success();
}

#[test]
fn parts_make_the_whole_and_caps_leave_nobody_out() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(b"hello");
    let mirror = mirror(&lab, &["--ending", "none", "--answer", &file]);
    let mut all = BTreeSet::new();
    for part in ["1/3", "2/3", "3/3"] {
        let args = ["-p", "1-8", "--seed", "7", "--fields", "address,port", "--shard", part];
        let caps =
            ["--per-host", "2", "--per-network", "7", "--request", "text:x", "--time", "50ms"];
        let whom = ["10.64.0.0/28"];
        let done = connect(lab.host("a"), &[&args[..], &caps, &whom].concat()).success();
        let found = rows(&done.stdout);
        assert!((42..=43).contains(&found.len()), "{part}: {}", found.len());
        assert!(all.is_disjoint(&found));
        all.extend(found);
    }
    assert_eq!(all.len(), 128);
    mirror.interrupt().success();
}

#[test]
fn those_who_did_not_answer_are_asked_again_and_no_others() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["--one-of", "2"]);
    let args = ["-p", "80", "--retries", "2", "--time", "100ms", "10.64.0.0/24"];
    let done = connect(lab.host("a"), &args).success();
    let found = rows(&done.stdout).len() as u64;
    assert_eq!(found, answering(256, 2).len() as u64);
    assert_eq!(done.summary("connections asked for"), 256 + 2 * (256 - found));
    mirror.interrupt().success();
}

#[test]
fn routers_and_neighbours_have_their_own_ways() {
    let Some((lab, mirrors)) = crossroads() else { return };
    let args = ["-p", "80", "--fields", "address,outcome", "--retries", "1", "--time", "100ms"];
    let done = connect(lab.host("a"), &[&args[..], &["--all"], &CROSSED, &LOST].concat()).success();
    let (lost, reached): (Vec<_>, Vec<_>) =
        rows(&done.stdout).into_iter().partition(|row| row.ends_with(",unreachable"));
    let gone = ["10.0.0.1", "10.0.0.255", "10.0.0.96", "10.0.0.97"];
    assert_eq!(lost, gone.map(|address| format!("{address},unreachable")));
    assert_eq!(reached.len(), 80, "{}", done.stderr);
    assert_eq!((done.summary("opened"), done.summary("targets not visited")), (80, 4));
    for mirror in mirrors {
        mirror.interrupt().success();
    }
}

#[test]
fn who_is_named_has_a_way_of_its_own() {
    let Some((lab, mirrors)) = crossroads() else { return };
    for mirror in mirrors {
        mirror.interrupt().success();
    }
    // It would answer for the other router's network, too, if it were asked.
    let named = ["--peers", "9", "10.64.0.0/26", "10.65.0.0/26", "10.0.0.64/28"];
    let mirror = Live::mirror(lab.host("b"), &named);
    let crawl = ["-p", "6346", "--request", "gnutella", "--follow", "--fields", "address"];
    let done = connect(lab.host("a"), &[&crawl[..], &["10.64.0.9"]].concat()).success();
    let found = rows(&done.stdout);
    let of = |network: &str| found.iter().filter(|row| row.starts_with(network)).count();
    assert_eq!([of("10.64.0."), of("10.65.0."), of("10.0.0.")], [64, 0, 16], "{}", done.stderr);
    // Hardly anybody whom nobody names.
    assert!((64 + 16 + 32..=64 + 16 + 64).contains(&done.summary("connections asked for")));
    mirror.interrupt().success();
}

#[test]
fn who_is_named_is_visited_once() {
    let Some(lab) = lab() else { return };
    let peers = ["--peers", "5", "10.64.0.0/22", "10.64.9.0/24"];
    let mirror = Live::mirror(lab.host("b"), &peers);
    let crawl = ["-p", "6346", "--request", "gnutella", "--follow", "--fields", "address,outcome"];
    let crawl = |more: &[&str]| {
        let done = connect(lab.host("a"), &[&crawl[..], more, &["10.64.0.9"]].concat()).success();
        (rows(&done.stdout), done.summary("connections asked for"))
    };
    let (all, asked) = crawl(&[]);
    assert_eq!((all.len(), asked), (1_280, 1_280));
    assert!(all.iter().all(|row| row.ends_with(",finished")), "{all:?}");
    let folder = tempdir().expect("a folder");
    let list = folder.path().join("list");
    fs::write(&list, "10.64.9.0/24\n").expect("written");
    let (some, _) = crawl(&["--blocklist", text(&list)]);
    // Who is named by blocked ones only is not found.
    assert!(some.is_subset(&all) && some.len() > 900, "{}", some.len());
    assert!(!some.iter().any(|row| row.starts_with("10.64.9.")));
    mirror.interrupt().success();
}

#[test]
fn who_was_named_and_did_not_answer_is_asked_again() {
    let Some(lab) = lab() else { return };
    let mirror = Live::mirror(lab.host("b"), &["--one-of", "2", "--peers", "9", "10.64.0.0/23"]);
    let crawl = ["-p", "6346", "--request", "gnutella", "--follow", "--fields", "address"];
    let first = answering(1 << 9, 2)[0].to_string();
    let crawl = |retries: &str| {
        let more = ["--retries", retries, &first];
        let done = connect(lab.host("a"), &[&crawl[..], &more].concat()).success();
        (rows(&done.stdout).len() as u64, done.summary("connections asked for"))
    };
    let (found, asked) = crawl("0");
    assert!(found > 100 && asked > found + 100, "{found} of {asked}");
    assert_eq!(crawl("2"), (found, asked + 2 * (asked - found)));
    mirror.interrupt().success();
}

/// Where a run writes, as its arguments.
fn kept(rows: &Path, meta: &Path) -> [String; 4] {
    ["-o", text(rows), "--metadata", text(meta)].map(str::to_owned)
}

const SLOWLY: [&str; 6] = ["-p", "80", "-r", "1000", "--request", "http"];

#[test]
fn a_run_that_was_killed_goes_on_and_visits_each_target_once() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(b"hello");
    let mirror = mirror(&lab, &["--answer", &file]);
    let folder = tempdir().expect("a folder");
    let (rows_file, meta) = (folder.path().join("rows.csv"), folder.path().join("meta.json"));
    let kept = kept(&rows_file, &meta);
    let kept: Vec<_> = kept.iter().map(String::as_str).collect();
    let args = [&SLOWLY[..], &kept, &["10.64.0.0/20"]].concat();
    let a = lab.host("a");
    let mut killed = command(a, &[&args[..], &["--seed", "5"]].concat());
    killed.stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(killed).expect("linerate starts");
    wait_for_rows(&rows_file, 2_000);
    drop(child);
    let done = connect(a, &[&args[..], &["--resume"]].concat()).success();
    assert_eq!(rows(&fs::read_to_string(&rows_file).expect("rows")).len(), 1 << 12);
    let sent = done.summary("connections asked for");
    assert!(sent < 4_096, "it began anew: {}", done.stderr);
    let again = connect(a, &[&args[..], &["--resume"]].concat());
    assert_eq!(again.code(), 2);
    assert!(again.stderr.contains("is complete"), "{again:?}");
    mirror.interrupt().success();
}

#[test]
fn a_run_whose_link_was_down_goes_on_when_it_is_back() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let (rows_file, meta) = (folder.path().join("rows.csv"), folder.path().join("meta.json"));
    let kept = kept(&rows_file, &meta);
    let kept: Vec<_> = kept.iter().map(String::as_str).collect();
    let args =
        [&SLOWLY[..], &["--time", "100ms"], &kept, &["10.0.0.64/28", "10.64.0.0/20"]].concat();
    let a = lab.host("a");
    let running = start(command(a, &[&args[..], &["--seed", "5"]].concat()));
    wait_for_rows(&rows_file, 1_000);
    a.set_link_up(false).expect("down");
    let stopped = wait(running);
    assert_eq!(stopped.code(), 1);
    assert!(stopped.stderr.contains("--resume"), "{stopped:?}");
    a.set_link_up(true).expect("up");
    let route = ["route", "add", "10.64.0.0/16", "via", "10.0.0.2"];
    finish(a.command("ip").args(route)).success();
    connect(a, &[&args[..], &["--resume"]].concat()).success();
    assert_eq!(rows(&fs::read_to_string(&rows_file).expect("rows")).len(), (1 << 12) + 16);
    mirror.interrupt().success();
}

#[test]
fn a_run_whose_disk_was_full_goes_on_when_there_is_room() {
    let Some(lab) = lab() else { return };
    let (_folder, file) = answer(&[b'x'; 1_000]);
    let mirror = mirror(&lab, &["--answer", &file]);
    let folder = tempdir().expect("a folder");
    let (rows_file, meta) = (folder.path().join("rows.csv"), folder.path().join("meta.json"));
    let ballast = folder.path().join("ballast");
    let kept = kept(&rows_file, &meta);
    let kept: Vec<_> = kept.iter().map(String::as_str).collect();
    let args = [&SLOWLY[..], &kept, &["10.64.0.0/21"]].concat();
    let a = lab.host("a");
    disk::with_small_disk(folder.path(), 4 << 20, || {
        fs::write(&ballast, vec![0; 3 << 20]).expect("written");
        let stopped = connect(a, &[&args[..], &["--seed", "5"]].concat());
        assert_eq!(stopped.code(), 1, "{}", stopped.stderr);
        let said = &stopped.stderr;
        assert!(said.contains("rows.csv: No space left") || said.contains("meta.json"), "{said}");
        fs::remove_file(&ballast).expect("removed");
        connect(a, &[&args[..], &["--resume"]].concat()).success();
        assert_eq!(rows(&fs::read_to_string(&rows_file).expect("rows")).len(), 1 << 11);
    })
    .expect("a small disk");
    mirror.interrupt().success();
}

#[test]
fn bad_lines_of_a_list_are_told_and_blocked_addresses_left_out() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let folder = tempdir().expect("a folder");
    let (list, blocked) = (folder.path().join("list"), folder.path().join("blocked"));
    fs::write(&list, "10.64.1.0/30\nnobody\n10.64.2.1 # one\n").expect("written");
    fs::write(&blocked, "10.64.1.1\n").expect("written");
    let args = ["-p", "80", "--fields", "address", "--time", "100ms"];
    let lists = ["-f", text(&list), "--blocklist", text(&blocked)];
    let done = connect(lab.host("a"), &[&args[..], &lists].concat()).success();
    assert!(done.stderr.contains("line 2: `nobody` is no address"), "{done:?}");
    let found: Vec<_> = rows(&done.stdout).into_iter().collect();
    assert_eq!(found, ["10.64.1.0", "10.64.1.2", "10.64.1.3", "10.64.2.1"]);
    mirror.interrupt().success();
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let refused = |args: &[&str]| {
        let done = linerate([&["connect", "-i", "lo"], args].concat());
        (done.code(), done.stderr)
    };
    let own = ["--own", "127.0.0.9"];
    let (code, said) = refused(&[&own[..], &["-p", "80", "10.0.0.0/24"]].concat());
    assert!(code == 1 && said.contains("--allow-reserved"), "{said}");
    for (args, word) in [
        (&["10.0.0.1"][..], "--ports"),
        (&["-p", "80", "--source-ports", "0-9", "10.0.0.1"], "from 1 on"),
        (&["-p", "80", "--request", "ftp", "10.0.0.1"], "http:/path"),
        (&["-p", "80", "--per-host", "0", "10.0.0.1"], "--per-host"),
        (&["-p", "80", "--shard", "1/2", "10.0.0.1"], "--seed"),
        (&["-p", "80", "--resume", "10.0.0.1"], "--metadata"),
        (&["-p", "80", "--output-filter", "outcome = open", "10.0.0.1"], "none of finished"),
        (&["-p", "80", "--output-filter", "success", "--all", "10.0.0.1"], "cannot be used"),
    ] {
        let (code, said) = refused(args);
        assert!(code == 2 && said.contains(word), "{args:?}: {said}");
    }
    let (code, said) = refused(&["--own", "fd00::9", "-p", "80", "--allow-reserved", "10.0.0.1"]);
    assert!(code == 2 && said.contains("--own names no address of IPv4"), "{said}");
}

/// Serves each connection to a port of a host in its own way, on threads that last as long as the test.
pub(crate) fn serve(host: &Host, port: u16, each: impl Fn(TcpStream) + Clone + Send + 'static) {
    let listener = host.run(|| TcpListener::bind(("::", port))).expect("a free port");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
}

#[test]
fn servers_that_behave_badly_cost_no_more_than_their_time() {
    let Some(lab) = lab() else { return };
    let b = lab.host("b");
    let hold = || thread::sleep(Duration::from_secs(60));
    serve(b, 1, move |_stream| hold());
    serve(b, 2, |mut stream| {
        let _ = stream.read(&mut [0; 1_000]);
        for byte in b"slowly" {
            let _ = stream.write_all(&[*byte]);
            thread::sleep(Duration::from_millis(20));
        }
    });
    // It closes with data unread, which the kernel answers with RST (RFC 1122 4.2.2.13).
    serve(b, 3, |stream| {
        thread::sleep(Duration::from_millis(100));
        drop(stream);
    });
    serve(b, 4, |mut stream| while stream.write_all(&[b'x'; 10_000]).is_ok() {});
    serve(b, 5, |mut stream| {
        let mut request = [0; 1_000];
        let length = stream.read(&mut request).unwrap_or(0);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n");
        let _ = stream.write_all(&request[..length.min(3)]);
    });
    let args = ["-p", "1-6", "--request", "http", "--bytes", "50000", "--time", "1s", "--all"];
    let fields = ["--fields", "port,outcome,bytes", "10.0.0.2"];
    let done = connect(lab.host("a"), &[&args[..], &fields].concat()).success();
    let expected =
        ["1,timeout,0", "2,finished,6", "3,reset,0", "4,enough,", "5,finished,44", "6,refused,0"];
    let found = rows(&done.stdout);
    assert_eq!(found.len(), 6, "{found:?}");
    for (row, expected) in found.iter().zip(expected) {
        assert!(row.starts_with(expected), "{found:?}");
    }
}

#[test]
fn a_request_comes_whole_to_who_has_little_room() {
    let Some(lab) = lab() else { return };
    let b = lab.host("b");
    // Least, default and most bytes of a receive buffer (tcp(7)): the window is a part of it, and is closed for the most part.
    b.run(|| fs::write("/proc/sys/net/ipv4/tcp_rmem", "1024 1024 1024")).expect("written");
    serve(b, 9, |mut stream| {
        let (mut request, mut part) = (Vec::new(), [0; 50]);
        while !request.ends_with(b"end")
            && let Ok(length @ 1..) = stream.read(&mut part)
        {
            request.extend(&part[..length]);
            thread::sleep(Duration::from_millis(5));
        }
        let _ = stream.write_all(format!("{} bytes", request.len()).as_bytes());
    });
    let request = format!("text:{}end", "x".repeat(1_397));
    let args = ["-p", "9", "--request", &request, "--time", "20s", "--fields", "outcome,data"];
    let done = connect(lab.host("a"), &[&args[..], &["10.0.0.2"]].concat()).success();
    assert_eq!(rows(&done.stdout), ["finished,1400 bytes".to_owned()].into(), "{}", done.stderr);
}

#[test]
fn who_opens_towards_us_meanwhile_is_met() {
    let Some(lab) = lab() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    // So that its port is known, and the hardware address that its SYNs go to before anybody answers.
    b.run(|| fs::write("/proc/sys/net/ipv4/ip_local_port_range", "2000 2000")).expect("written");
    let [mac, interface] =
        [a.mac().map(|byte| format!("{byte:02x}")).join(":"), b.interface().into()];
    finish(b.command("ip").args(["neigh", "add", "10.0.0.99", "lladdr", &mac, "dev", &interface]))
        .success();
    let other = b.spawn(|| {
        let mut stream = TcpStream::connect(("10.0.0.99", 40_000)).expect("met");
        let mut request = [0; 5];
        stream.read_exact(&mut request).expect("asked");
        stream.write_all(&request).expect("answered");
    });
    // SYN-SENT (net/tcp_states.h).
    let has_begun = || {
        let sockets = b.run(|| fs::read_to_string("/proc/thread-self/net/tcp")).expect("sockets");
        sockets.contains(":07D0 6300000A:9C40 02 ")
    };
    while !has_begun() {
        thread::sleep(Duration::from_millis(5));
    }
    let args = ["-p", "2000", "--source-ports", "40000-40000", "--request", "text:hello"];
    let fields = ["--fields", "outcome,data", "10.0.0.2"];
    let done = connect(a, &[&args[..], &fields].concat()).success();
    assert_eq!(rows(&done.stdout), ["finished,hello".to_owned()].into(), "{}", done.stderr);
    other.join().expect("the other end");
}

/// nginx on `b`, for every address behind it.
fn nginx(lab: &Lab, folder: &Path) -> Child {
    let b = lab.host("b");
    let local = ["route", "add", "local", "10.64.0.0/16", "dev", "lo"];
    finish(b.command("ip").args(local)).success();
    let config = folder.join("nginx.conf");
    let folder = text(folder);
    let text_of_config = format!(
        "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{ access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;\n\
         fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;\n\
         server {{ listen 80 backlog=4096; listen [::]:80 backlog=4096; return 200 'hello $http_host'; }} }}\n"
    );
    fs::write(&config, text_of_config).expect("written");
    let mut command = b.command("nginx");
    command.args(["-c", text(&config), "-e", &format!("{folder}/error.log")]);
    let child = Child::start(command).expect("nginx starts");
    for _ in 0..500 {
        if b.run(|| TcpStream::connect(("10.0.0.2", 80))).is_ok() {
            return child;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("nginx does not listen: {:?}", fs::read_to_string(format!("{folder}/error.log")));
}

/// What tshark's analysis says of segments that are not as they should be: gaps, numbers out of place, windows not heeded. On a
/// busy machine either side may send again what is only late, and that is acknowledged again.
const MISTAKES: &str = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || \
                        tcp.analysis.out_of_order || tcp.analysis.window_full";

#[test]
fn nginx_answers_all_and_tshark_finds_no_mistake_of_ours() {
    if !need::program("nginx", "nginx-light") || !need::program("tshark", "tshark") {
        return;
    }
    let Some(lab) = lab() else { return };
    let folder = tempdir().expect("a folder");
    let _nginx = nginx(&lab, folder.path());
    let file = folder.path().join("wire.pcapng");
    let capture = Live::start(lab.host("b"), &["-w", text(&file), "host 10.0.0.99"]);
    // 131,072 connections for who has minutes.
    let (bits, rate) = match std::env::var_os("LINERATE_ALL_CONNECTIONS") {
        Some(_) => (16, "5000"),
        None => (10, "2000"),
    };
    let (network, count) = (format!("10.64.0.0/{}", 32 - bits), 1_usize << bits);
    for close in ["reset", "fin"] {
        let args =
            ["-p", "80", "--request", "http", "--close", close, "--fields", "address,outcome,data"];
        let done = connect(lab.host("a"), &[&args[..], &["-r", rate, &network]].concat());
        let found = rows(&done.success().stdout);
        assert_eq!(found.len(), count);
        for row in &found {
            let address = row.split(',').next().expect("an address");
            assert!(row.contains(",finished,HTTP/1.1 200 OK"), "{row}");
            assert!(row.ends_with(&format!("hello {address}")), "{row}");
        }
    }
    capture.interrupt().success();
    let ours = format!("ip.src == 10.0.0.99 && ({MISTAKES} || {COMPLAINTS})");
    let mistakes = tshark_of_conversations(&file, &ours, &["frame.number", "_ws.expert.message"]);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let syns = tshark_of_conversations(
        &file,
        "ip.src == 10.0.0.99 && tcp.flags.syn == 1",
        &["tcp.dstport"],
    );
    assert_eq!(syns.len(), 2 * count);
}
