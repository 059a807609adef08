//! The program's frames are those of user space, byte for byte.

use linerate_bpf::extended::Register::{R0, R1, R6, R9};
use linerate_bpf::extended::{Assembler, Instruction, Size};
use linerate_lab::need;
use linerate_sys::bpf::{Map, MapSpec, Program, ProgramKind, ProgramSpec, TestRun};
use linerate_transmit::live::Stamp;
use linerate_transmit::template::{NextHop, Surroundings};
use linerate_transmit::{Blocklist, Template};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

struct Nowhere;

impl Surroundings for Nowhere {
    fn mac(&self) -> [u8; 6] {
        [2, 0, 0, 0, 0, 1]
    }

    fn ipv4(&self) -> Option<Ipv4Addr> {
        Some(Ipv4Addr::new(10, 9, 0, 1))
    }

    fn ipv6(&self) -> Option<Ipv6Addr> {
        Some(Ipv6Addr::LOCALHOST)
    }

    fn next_hop(&self, address: IpAddr) -> linerate_base::Result<NextHop> {
        Ok(NextHop { address, mac: [2, 0, 0, 0, 0, 2] })
    }

    fn may_be_neighbour(&self, _: IpAddr) -> bool {
        true
    }
}

fn compile(text: &str, blocked: &str, seed: u64) -> Template {
    let blocklist = Blocklist::parse(blocked, "f").unwrap();
    Template::compile(text, &Nowhere, &blocklist, seed).unwrap_or_else(|error| panic!("{error}"))
}

/// `enum xdp_action`.
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

/// A program that makes the frame whose number a map holds.
struct Stamper {
    number: Map,
    program: Program,
}

impl Stamper {
    fn new(stamp: &Stamp) -> Self {
        let number = Map::new(&MapSpec::array("number", 8, 1)).unwrap();
        let mut p = Assembler::new();
        let give_up = p.label();
        p.push(Instruction::mov(R6, R1));
        p.extend(Instruction::load_map_value(R1, number.as_fd().as_raw_fd(), 0));
        p.push(Instruction::load(Size::Double, R9, R1, 0));
        stamp.emit(&mut p, give_up);
        p.extend([Instruction::mov(R0, XDP_PASS), Instruction::exit()]);
        p.place(give_up);
        p.extend([Instruction::mov(R0, XDP_DROP), Instruction::exit()]);
        let words: Vec<_> = p.finish().unwrap().iter().map(Instruction::encode).collect();
        let spec = ProgramSpec::new(ProgramKind::Xdp, &words, "stamp");
        let program = Program::load(&spec).unwrap_or_else(|error| panic!("{error}"));
        Self { number, program }
    }

    /// The frame of a number, made of that of another.
    fn frame(&self, number: u64, before: &[u8]) -> Vec<u8> {
        self.number.insert(&[0; 4], &number.to_ne_bytes()).unwrap();
        let result = self.program.test_run(&TestRun::once(before)).unwrap();
        assert_eq!(result.verdict, XDP_PASS as u32);
        result.data
    }
}

/// Compares the frames of these numbers, made one of the other.
fn compare(text: &str, template: &Template, numbers: impl IntoIterator<Item = u64>) {
    let stamp = Stamp::new(template).unwrap_or_else(|reason| panic!("{text}: {reason}"));
    let stamper = Stamper::new(&stamp);
    let mut frame = stamp.frame().to_vec();
    let mut expected = vec![0; template.longest()];
    for number in numbers {
        template.fill(number, &mut expected);
        frame = stamper.frame(number, &frame);
        assert_eq!(frame, expected, "{text}: {number}");
    }
}

const TEMPLATES: &[&str] = &[
    "IP(dst='192.0.2.1')/UDP()",
    "IP(dst=permute('10.64.0.0/10'))/TCP(dport=[80, 443], flags='S')/Raw(size=18)",
    "IP(dst=permute('10.0.0.0-10.2.3.4'), src=random('10.0.0.0/9'), ttl=1-255, tos=random(0-255))/\
     TCP(sport=random(1024-65535), seq=random(0-0xffffffff), flags=['S', 'SA', 'FPU', 'N'], window=(0, 65535))/Raw(load='odd')",
    "IP(dst='192.0.2.1', id=0-65535, flags='DF', frag=0-8191)/UDP(sport=1-65535, dport=random(1-65535))",
    "Ether(src=random('02:00:00:00:00:00-02:00:ff:ff:ff:ff'), dst=random('02:00:00:00:00:00-02:00:ff:ff:ff:ff'))/Dot1Q(vlan=0-4095, prio=0-7)/\
     IPv6(dst=random('2001:db8::/64'), src=permute('2001:db8::/96'), fl=random(0-0xfffff), tc=random(0-255), hlim=1-255)/UDP(dport=9)",
    "IPv6(dst=['2001:db8::1', '2001:db8::ffff:0:0:7-2001:db8::ffff:0:0:8'])/ICMPv6EchoRequest(id=0-9, seq=random(0-65535), data='abc')",
    "IP(dst='192.0.2.1')/UDP(sport=0-65535)/DNS(id=random(0-65535), rd=0-1)",
    "IP(dst='192.0.2.1')/ICMP(type=3, code=0-3)/IP(src='192.0.2.1', dst=permute('10.0.0.0/16'), id=RandShort())/\
     UDP(sport=random(0-65535))/'odd'",
    "IPv6(dst='2001:db8::1')/ICMPv6TimeExceeded()/IPv6(dst=random('2001:db8::/64'), hlim=0-1)/TCP(seq=RandInt())/'x'",
    "ARP(pdst='10.9.0.0/24', hwsrc=random('02:00:00:00:00:00-02:00:00:00:ff:ff'))",
];

#[test]
fn frames_are_those_of_user_space() {
    if !need::root() {
        return;
    }
    for text in TEMPLATES {
        let numbers = (0..300).chain([1 << 32, u64::MAX - 1, u64::MAX]);
        let template = compile(text, "", 7);
        compare(text, &template, numbers.clone());
        if let Some((partial, _)) = template.partial() {
            compare(text, &partial, numbers);
        }
    }
}

#[test]
fn blocked_destinations_are_left_out_there_too() {
    if !need::root() {
        return;
    }
    let text = "IP(dst=permute('10.0.0.0/24'))/UDP()";
    let blocked = "10.0.0.0/26\n10.0.0.100\n10.0.0.200-10.0.0.209";
    compare(text, &compile(text, blocked, 7), 0..256);
}

#[test]
fn a_udp_checksum_is_never_zero_there_either() {
    if !need::root() {
        return;
    }
    let text = "IP(dst='192.0.2.1')/UDP(sport=0-65535)";
    let template = compile(text, "", 7);
    let mut slot = vec![0; template.longest()];
    let all_ones = (0..65_536).find(|number| {
        template.fill(*number, &mut slot);
        slot[40..42] == [255, 255]
    });
    compare(text, &template, all_ones);
}

#[test]
fn what_no_program_can_fill_in_has_a_reason() {
    for (text, reason) in [
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=1-9)", "its size varies"),
        ("IP(dst='192.0.2.1')/UDP()/Raw(size=4000)", "longer than 3072 bytes"),
        ("IPv6(dst=['2001:db8::1', '2001:db9::1'])/UDP()", "more than 64 bits"),
        ("Ether(src=random('02:00:00:00:00:00-02:00:ff:ff:ff:fe'))/IP(dst='192.0.2.1')", ""),
        (
            "Ether(src=random('02:00:00:00:00:00-02:01:00:00:00:00'))/IP(dst='192.0.2.1')",
            "2^32 values",
        ),
    ] {
        match Stamp::new(&compile(text, "", 7)) {
            Ok(_) => assert_eq!(reason, "", "{text}"),
            Err(found) => assert!(found.contains(reason) && !reason.is_empty(), "{text}: {found}"),
        }
    }
}

fn walks() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["seq", "permute", "random"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_template_is_filled_in_alike(
        walks in (walks(), walks(), walks(), walks()),
        last in (0..0xffff_u32, 0..0xffff_u16, 0..255_u8, 0..7_u8),
        seed: u64, number: u64, payload in "[a-z]{0,5}",
    ) {
        if need::root() {
            let text = format!(
                "Ether()/Dot1Q(prio={}(0-{}))/IP(dst={}('10.0.0.0-10.0.{}.{}'), ttl={}(0-{}))/UDP(dport={}(0-{}))/Raw('{payload}')",
                walks.0, last.3, walks.1, last.0 >> 8, last.0 & 0xff, walks.2, last.2, walks.3, last.1,
            );
            let template = compile(&text, "", seed);
            compare(&text, &template, [0, 1, 2, number, number.wrapping_add(1)]);
        }
    }
}
