//! Help, manual pages, completions, the list of interfaces, the demo.

use serde_json::Value;

use linerate_lab::need;

use crate::support::linerate;

const COMMANDS: [&str; 10] = [
    "capture",
    "read",
    "send",
    "replay",
    "filter",
    "interfaces",
    "demo",
    "bench",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_and_a_manual_page() {
    let help = linerate(["--help"]).success().stdout;
    for command in COMMANDS {
        assert!(help.contains(command), "{command}");
        assert!(linerate([command, "--help"]).success().stdout.contains("Usage:"), "{command}");
        let page = linerate(["man", command]).success().stdout;
        assert!(page.contains(".TH") && page.contains(command), "{command}");
    }
    assert_eq!(linerate(["man", "nonsense"]).code(), 2);
}

#[test]
fn flags_of_tcpdump_are_shown_their_place() {
    let done = linerate(["-r", "f.pcap"]);
    assert_eq!(done.code(), 2);
    assert!(done.stderr.contains("linerate read FILE"), "{done:?}");
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(linerate(["completions", shell]).success().stdout.contains("linerate"), "{shell}");
    }
}

#[test]
fn usage_errors_have_status_two() {
    for args in [&["nonsense"][..], &["capture", "--nonsense"], &["read"], &["capture", "-B", "x"]]
    {
        assert_eq!(linerate(args).code(), 2, "{args:?}");
    }
}

#[test]
fn interfaces_are_listed_for_people_and_programs() {
    assert!(linerate(["interfaces"]).success().stdout.contains("lo [Up"));
    assert_eq!(linerate(["interfaces"]).stdout, linerate(["capture", "-D"]).success().stdout);
    let verbose = linerate(["interfaces", "-v"]).success().stdout;
    assert!(verbose.contains("127.0.0.1/8") && verbose.contains("by default"), "{verbose}");
    let all: Value =
        serde_json::from_str(&linerate(["interfaces", "--json"]).success().stdout).unwrap();
    assert!(all.as_array().unwrap().iter().any(|i| i["name"] == "lo" && i["loopback"] == true));
    assert!(all.as_array().unwrap().iter().all(|i| i["default"]["reason"].is_string()));
    let types = linerate(["capture", "-i", "lo", "-L"]).success().stdout;
    assert_eq!(types, "EN10MB (Ethernet)\n");
}

#[test]
fn the_demo_shows_a_capture_that_balances() {
    if !need::root() {
        return;
    }
    let demo = linerate(["demo"]).success().stdout;
    assert!(demo.contains("HTTP: GET / HTTP/1.1"), "{demo}");
    assert!(demo.contains("listening on wire0, back end "), "{demo}");
    assert!(demo.contains("Every packet is accounted for"), "{demo}");
}
