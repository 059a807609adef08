//! Long, deep and large expressions: none overflows the stack, none takes forever.

use linerate_base::LinkType;
use linerate_bpf::classic::Input;
use linerate_filter::{ErrorKind, Filter, Hermetic, Options, Result, Target, Verdict, compile};

fn for_user(expression: &str) -> Result<Filter> {
    compile(expression, &Options::new(LinkType::ETHERNET, &Hermetic))
}

fn for_kernel(expression: &str) -> Result<Filter> {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    compile(expression, &Options { target: Target::Kernel, ..options })
}

fn kind(result: Result<Filter>) -> ErrorKind {
    result.expect_err("refused").kind()
}

fn hosts(count: u32) -> String {
    let host = |n: u32| format!("host {}", std::net::Ipv4Addr::from_bits(0x0a00_0000 + n));
    (0..count).map(host).collect::<Vec<_>>().join(" or ")
}

/// An Ethernet frame with an IPv4 packet from 10.0.0.0 plus `n` to nowhere.
fn packet_from(n: u32) -> Vec<u8> {
    let mut packet = vec![0; 34];
    packet[12] = 0x08;
    packet[14] = 0x45;
    packet[26..30].copy_from_slice(&(0x0a00_0000 + n).to_be_bytes());
    packet
}

#[test]
fn ten_thousand_hosts_take_two_tests_each_per_format() {
    let filter = for_user(&hosts(10_000)).expect("compiles");
    // Source and destination for IP and for ARP, which RARP shares, two instructions and some
    // trampolines each.
    let length = filter.program().instructions().len();
    assert!((80_000..90_000).contains(&length), "{length}");
    for (n, expected) in [(0, 262_144), (9_999, 262_144), (10_000, 0)] {
        let packet = packet_from(n);
        assert_eq!(filter.program().run(&Input::whole(&packet)), expected, "{n}");
        let accepted = filter.evaluate(&Input::whole(&packet)) == Verdict::True;
        assert_eq!(accepted, expected > 0, "{n}");
    }
}

#[test]
fn too_many_hosts_for_the_kernel_say_so() {
    assert!(for_kernel(&hosts(300)).expect("compiles").program().fits_kernel());
    let error = for_kernel(&hosts(1_000)).expect_err("refused");
    assert!(error.kind() == ErrorKind::TooLarge && error.user_space_can());
    let shown = error.to_string();
    assert!(shown.starts_with("the kernel cannot take this filter: "), "{shown}");
    assert!(shown.contains(" instructions, more than its 4096\n"), "{shown}");
}

#[test]
fn long_chains_of_mixed_connectives_compile() {
    let text = ["ip and tcp", "udp and arp"].repeat(20_000).join(" or ");
    for optimise in [false, true] {
        let options = Options { optimise, ..Options::new(LinkType::ETHERNET, &Hermetic) };
        let filter = compile(&text, &options).expect("compiles");
        assert!(!filter.ir().to_string().is_empty() && !filter.graph().to_string().is_empty());
        assert_eq!(filter.evaluate(&Input::whole(&packet_from(0))), Verdict::False);
    }
}

#[test]
fn alternating_far_jumps_reach_their_targets() {
    let text = (0..400).map(|n| format!("ip[{}] = {} and len > {n}", n % 60, n % 250));
    let text = text.collect::<Vec<_>>().join(" or ");
    for optimise in [false, true] {
        let options = Options { optimise, ..Options::new(LinkType::ETHERNET, &Hermetic) };
        let filter = compile(&text, &options).expect("compiles");
        for n in 0..200 {
            let packet = [packet_from(n * 7919), vec![n as u8; n as usize]].concat();
            let input = Input::whole(&packet);
            let accepted = filter.evaluate(&input) == Verdict::True;
            assert_eq!(filter.program().run(&input) > 0, accepted, "{n}");
        }
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{}ip{}", "(".repeat(depth), ")".repeat(depth));
    assert!(for_user(&nested(150)).is_ok());
    assert_eq!(kind(for_user(&nested(100_000))), ErrorKind::Limit);
    let brackets = |depth: usize| format!("{}0{} = 1", "ip[".repeat(depth), "]".repeat(depth));
    assert!(for_user(&brackets(100)).is_ok());
    assert_eq!(kind(for_user(&brackets(100_000))), ErrorKind::Limit);
}

#[test]
fn arithmetic_is_limited() {
    let sum = |count: usize| format!("{} = 1", vec!["len"; count].join(" + "));
    assert!(for_user(&sum(400)).is_ok());
    assert_eq!(kind(for_user(&sum(100_000))), ErrorKind::Limit);
    let powers = format!("{} = 1", vec!["len"; 100_000].join(" ^ "));
    assert_eq!(kind(for_user(&powers)), ErrorKind::Limit);
    let minuses = format!("{} len = 1", "- ".repeat(100_000));
    assert_eq!(kind(for_user(&minuses)), ErrorKind::Limit);
}

#[test]
fn any_number_of_negations_is_one_or_none() {
    let odd = for_user(&format!("{} ip", "not ".repeat(100_001))).expect("compiles");
    assert_eq!(odd.program(), for_user("not ip").expect("compiles").program());
    let even = for_user(&format!("{} ip", "! ".repeat(100_000))).expect("compiles");
    assert_eq!(even.program(), for_user("ip").expect("compiles").program());
}

#[test]
fn balanced_arithmetic_needs_few_results_at_once() {
    // Sixteen leaves in a balanced tree, which needs four or five at once.
    let leaves: Vec<_> = (0..16).map(|n| format!("ip[{n}]")).collect();
    let pair = |parts: Vec<String>| -> Vec<String> {
        parts.chunks(2).map(|two| format!("({} + {})", two[0], two[1])).collect()
    };
    let tree = pair(pair(pair(pair(leaves)))).concat();
    assert!(for_user(&format!("{tree} = 5")).is_ok());
    // Seventeen tunnels inside each other keep sixty-eight positions.
    let tunnels = vec!["geneve"; 17].join(" and ");
    assert_eq!(kind(for_user(&tunnels)), ErrorKind::Limit);
}

#[test]
fn a_mistake_far_along_is_shown_with_what_is_around_it() {
    for text in [
        format!("{} or hst 1.2.3.4", hosts(10_000)),
        format!("len = {}1", "-".repeat(100_000)),
        format!("len = {}1", "- ".repeat(100_000)),
        format!("host {}", "a".repeat(100_000)),
    ] {
        let error = for_user(&text).expect_err("refused");
        let shown = error.to_string();
        assert!(shown.contains("\n  at column ") && shown.ends_with('^'), "{shown}");
        assert!(shown.len() < 300, "{shown}");
        assert!(linerate_base::Error::from(error).to_string().len() < 400);
    }
}

#[test]
fn link_types_without_filters_are_named() {
    let options = Options::new(LinkType(2), &Hermetic);
    let error = compile("ip", &options).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("unknown data link type 2"));
}

#[test]
fn a_snaplen_of_zero_would_accept_nothing() {
    let options = Options { snaplen: 0, ..Options::new(LinkType::ETHERNET, &Hermetic) };
    assert_eq!(kind(compile("ip", &options)), ErrorKind::Meaning);
}
