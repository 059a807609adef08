//! Benches, the shortest part of the longest: that its figures are there, not what they are.

use std::fs;

use linerate_lab::need;

use crate::support::*;

#[test]
fn a_bench_of_sending_keeps_rates_and_says_how_well() {
    if !need::root() {
        return;
    }
    let done =
        linerate(["bench", "send", "--quick", "--json", "--only", "pacing", "--only", "live"]);
    let rows: Vec<serde_json::Value> =
        done.success().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for rate in [100_000, 250_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000] {
        for figure in ["mean rate off by", "median gap", "99 % of gaps up to"] {
            let case = format!("paced, {rate} packets/s, {figure}");
            let row = rows.iter().find(|row| row["case"] == case.as_str());
            let row = row.unwrap_or_else(|| panic!("no {case} in {rows:?}"));
            assert_eq!(
                (&row["experiment"], row["subject"].as_str()),
                (&"send".into(), Some("live template"))
            );
            assert!(row["value"].as_f64().unwrap() >= 0.0, "{row}");
        }
    }
    assert_eq!(rows.len(), 18);
}

#[test]
fn a_bench_of_scans_tells_rates_and_what_was_missed() {
    if !need::root() {
        return;
    }
    let done = linerate(["bench", "scan", "--quick", "--json", "--only", "linerate live"]);
    let rows: Vec<serde_json::Value> =
        done.success().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ours: Vec<_> = rows.iter().filter(|row| row["subject"] == "linerate live").collect();
    let mut cases = vec!["SYN, nobody answers".to_owned(), "SYN, nobody answers, all cores".into()];
    for rate in [100_000, 200_000, 500_000] {
        let figures = ["reached", "missed"];
        cases.extend(figures.map(|figure| format!("all answer, {rate} packets/s, {figure}")));
    }
    assert_eq!(ours.iter().map(|row| row["case"].as_str().unwrap()).collect::<Vec<_>>(), cases);
    for row in ours {
        let value = row["value"].as_f64().unwrap();
        assert!(row["experiment"] == "scan" && value >= 0.0, "{row}");
        assert!(row["unit"] == "%" || value > 0.0, "{row}");
        assert!(row["settings"].as_str().is_none_or(|line| line.contains(" scan -i ")), "{row}");
    }
}

#[test]
fn steps_of_a_capture_are_found_by_leaving_them_out() {
    if !need::root() {
        return;
    }
    let done = linerate(["bench", "profile", "--quick", "--json", "--only", "calls"]);
    let rows: Vec<serde_json::Value> =
        done.success().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let subjects: Vec<_> = rows.iter().map(|row| row["subject"].as_str().unwrap()).collect();
    let calls = [1, 4, 16, 32, 64].map(|packets| format!("{packets} packets a call"));
    assert_eq!(subjects, calls);
    for row in &rows {
        assert!(row["value"].as_f64().unwrap() > 0.0, "{row}");
        // Of three runs.
        assert_eq!(row["confidence"], 0.75, "{row}");
    }
}

#[test]
fn a_papers_experiment_gives_a_page_and_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("paper.html");
    let mut arguments = vec!["bench", "paper", "--quick", "--json", "--only", "P1.fig4"];
    arguments.extend(["--html", text(&page), "--save", text(folder.path())]);
    let done = linerate(arguments).success();
    let row: serde_json::Value = serde_json::from_str(done.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&row["experiment"], &row["unit"]), (&"P1.fig4".into(), &"cycles".into()));
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("3.1 to 5.0") && !page.contains("<script"));
    let mut kept = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.find(|path| path.is_dir()).expect("a folder");
    assert_eq!(fs::read_to_string(kept.join("results.jsonl")).unwrap(), done.stdout);
    let machine = fs::read_to_string(kept.join("machine.json")).unwrap();
    let machine: serde_json::Value = serde_json::from_str(&machine).unwrap();
    assert!(machine["cores"].as_u64().unwrap() > 0, "{machine}");
    assert!(kept.join("page.html").exists());
}

#[test]
fn an_experiment_that_is_not_there_is_refused_with_the_names_of_all() {
    let done = linerate(["bench", "paper", "--only", "P9.fig1"]);
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("P1.fig6") && done.stderr.contains("P4.table1"), "{done:?}");
}

#[test]
fn what_no_bench_has_is_refused_before_anything_is_measured() {
    for (bench, some) in [
        ("compile", "libpcap"),
        ("filter", "native"),
        ("sets", "one by one"),
        ("read", "tcpdump"),
        ("capture", "linerate tap"),
        ("send", "pacing"),
        ("scan", "answers"),
        ("dns", "linerate"),
        ("disk", "linerate exclusive"),
        ("tcp", "mirror"),
        ("profile", "timestamps"),
        ("pcap", "capture"),
        ("paper", "P2.test3"),
    ] {
        let done = linerate(["bench", bench, "--only", some, "--only", "nobody"]);
        assert_eq!(done.code(), 1, "{bench}: {done:?}");
        let (refused, names) = done.stderr.split_once("--only nobody names none of: ").unwrap();
        assert!(!refused.contains('%') && names.contains(some), "{bench}: {done:?}");
    }
}

#[test]
fn a_bench_says_what_there_is_and_what_it_is_about() {
    let help = linerate(["bench", "--help"]).success().stdout;
    let names =
        ["compile", "filter", "sets", "read", "capture", "send", "scan", "dns", "disk", "tcp"];
    for name in names.into_iter().chain(["profile", "paper"]) {
        assert!(help.contains(&format!("- {name}: ")), "{name} in {help}");
    }
    let done = linerate(["bench", "no-such-bench"]);
    assert_eq!(done.code(), 2, "{done:?}");
    assert!(done.stderr.contains("[possible values: compile, "), "{done:?}");
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_experiments_are_made() {
    for (flag, place) in [("--html", "/no-such-folder/paper.html"), ("--save", "/dev/null/runs")] {
        let done = linerate(["bench", "paper", "--quick", "--only", "P1.fig4", flag, place]);
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains(place) && !done.stderr.contains("0 %"), "{done:?}");
    }
}

#[test]
fn small_benches_have_one_form_of_output() {
    for (bench, baseline) in [("filter", "libpcap's interpreter"), ("read", "tcpdump -r --count")] {
        let arguments = ["bench", bench, "--quick", "--json", "--only", baseline];
        let done = linerate(arguments).success();
        let rows: Vec<serde_json::Value> =
            done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(!rows.is_empty(), "{done:?}");
        for row in rows {
            assert_eq!((&row["experiment"], &row["subject"]), (&bench.into(), &baseline.into()));
            // Without libpcap and tcpdump they are missing.
            if let Some(value) = row["value"].as_f64() {
                let spread = row["spread"].as_array().expect("two ends");
                assert!(spread[0].as_f64() <= Some(value) && Some(value) <= spread[1].as_f64());
                assert_eq!((&row["ratio"], &row["confidence"]), (&1.0.into(), &0.75.into()));
            }
        }
        // How far it is, and how long it will still take.
        assert!(done.stderr.contains("linerate: 0 %: "), "{done:?}");
    }
}

#[test]
fn connections_are_counted_by_the_kernels_sockets_and_by_ours() {
    if !need::root() {
        return;
    }
    let done = linerate(["bench", "tcp", "--quick", "--json", "--only", "mirror"]).success();
    let rows: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<_> = rows.iter().map(|row| row["subject"].as_str()).collect();
    assert_eq!(names, [Some("kernel, epoll"), Some("linerate")]);
    for row in &rows {
        assert!(row["value"].as_f64().is_some_and(|value| value > 0.0), "{row}");
    }
    assert_eq!(rows[1]["paper"]["value"], 250_000.0);
}

#[test]
fn open_connections_crawls_and_the_hosts_own_tcp_are_measured() {
    if !need::root() {
        return;
    }
    let only = ["--only", "held open", "--only", "crawled", "--only", "beside"];
    let done = linerate([&["bench", "tcp", "--quick", "--json"][..], &only].concat()).success();
    let rows: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let value = |case: &str, subject: &str| {
        let is = |row: &&serde_json::Value| row["case"] == case && row["subject"] == subject;
        let row = rows.iter().find(is).unwrap_or_else(|| panic!("no {case}: {rows:?}"));
        row["value"].as_f64().expect("a figure")
    };
    let megabytes = value("1 million connections held open", "linerate");
    assert!((84.0..100.0).contains(&megabytes), "{megabytes}");
    assert!(value("100,000 peers crawled", "linerate") > 0.0);
    assert!(value("100,000 peers crawled, missed", "linerate") < 100.0);
    for subject in ["nobody", "linerate, 10000 connections/s", "linerate, 100000 connections/s"] {
        assert!(value("TCP beside it", subject) > 0.0);
    }
    assert_eq!(rows.len(), 6);
}

#[test]
fn the_reader_by_libpcap_says_what_it_was_refused() {
    let done = linerate(["libpcap", "-i", "no-such-link", "-w", "/dev/null"]);
    assert_eq!(done.code(), 1, "{done:?}");
    let (missing, refused) = ("load libpcap", "capture on no-such-link by libpcap into /dev/null");
    assert!(done.stderr.contains(missing) || done.stderr.contains(refused), "{done:?}");
}

#[test]
fn questions_are_counted_that_were_answered() {
    if !need::root() {
        return;
    }
    let done = linerate(["bench", "dns", "--quick", "--json", "--only", "linerate live"]).success();
    let rows: Vec<serde_json::Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    let subjects = [Some("linerate live"), Some("linerate live, codes")];
    assert_eq!(column("subject"), [subjects, subjects].concat());
    assert_eq!(
        column("unit"),
        [["answers/s"; 2], ["%"; 2]].concat().into_iter().map(Some).collect::<Vec<_>>()
    );
    for row in &rows {
        let value = row["value"].as_f64().expect("a figure");
        let is_share = row["unit"] == "%";
        assert!(if is_share { (0.0..100.0).contains(&value) } else { value > 0.0 }, "{row}");
    }
}
