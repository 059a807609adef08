//! The reference interpreter against libpcap's and the kernel's.

use crate::support::{kept, libpcap, packets, programs, raw};
use linerate_bpf::classic::{Input, Instruction, Program, ancillary, opcode::*};
use linerate_lab::need;
use linerate_sys::socket_filter::Judge;
use proptest::prelude::*;

#[test]
fn libpcap_gives_the_same_verdicts() {
    let Some(libpcap) = libpcap() else { return };
    proptest!(ProptestConfig::with_cases(2000), |(
        program in programs(),
        data in packets(),
        missing in 0..100_u32,
    )| {
        // libpcap 1.10.3 leaves the scratch memory as it finds it, and the kernel's check tells
        // who reads a word before writing it.
        if !program.fits_kernel() {
            return Ok(());
        }
        let peer = libpcap.program(raw(&program)).expect("libpcap takes what we take");
        let input = Input { length: data.len() as u32 + missing, ..Input::whole(&data) };
        prop_assert_eq!(program.run(&input), peer.verdict(&data, input.length), "{}", program);
    });
}

#[test]
fn the_kernel_gives_the_same_verdicts() {
    proptest!(ProptestConfig::with_cases(2000), |(program in programs(), data in packets())| {
        let judge = Judge::classic(&raw(&program));
        prop_assert_eq!(judge.is_ok(), program.fits_kernel(), "{}", program);
        if let Ok(mut judge) = judge {
            let expected = kept(program.run(&Input::whole(&data)), &data);
            prop_assert_eq!(judge.verdict(&data).expect("a verdict"), expected, "{}", program);
        }
    });
}

#[test]
fn the_kernel_takes_what_fits_it() {
    let new = Instruction::new;
    let keep = new(RET_K, 1);
    let load = |offset| vec![new(LDW_ABS, offset), keep];
    let mut cases: Vec<_> = (0..80).map(|n| load(ancillary::BASE + n)).collect();
    cases.extend([vec![keep; 4096], vec![keep; 4097], load(ancillary::BASE - 1), load(u32::MAX)]);
    cases.push(vec![new(TAX, 0), new(JA, -2_i32 as u32), keep]);
    for case in cases {
        let program = Program::new(case).expect("a valid program");
        let taken = Judge::classic(&raw(&program)).is_ok();
        assert_eq!(taken, program.fits_kernel(), "{} instructions", program.instructions().len());
    }
}

#[test]
fn libpcap_takes_what_passes_the_checks() {
    let Some(libpcap) = libpcap() else { return };
    let instruction = (0..0x180_u16, 0..3_u8, 0..3_u8, prop_oneof![0..40_u32, any::<u32>()])
        .prop_map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
    let bodies = proptest::collection::vec(instruction, 0..3);
    proptest!(ProptestConfig::with_cases(5000), |(mut body in bodies)| {
        body.push(Instruction::new(RET_A, 0));
        if let Ok(program) = Program::new(body) {
            prop_assert!(libpcap.program(raw(&program)).is_ok(), "{}", program);
        }
    });
}

#[test]
fn libpcap_prints_the_same_listings() {
    let Some(libpcap) = libpcap() else { return };
    proptest!(|(program in programs())| {
        let peer = libpcap.program(raw(&program)).expect("libpcap takes what we take");
        prop_assert_eq!(program.to_string(), peer.listing());
    });
    let offsets = (0..80).map(|n| ancillary::BASE + n).chain([0xfff0_0000, u32::MAX]);
    let loads = offsets.flat_map(|k| [LDW_ABS, LDH_ABS, LDB_ABS, LDB_IND].map(|c| (c, k)));
    let loads = loads.map(|(code, k)| Instruction::new(code, k));
    let body: Vec<_> = loads.chain([Instruction::new(RET_K, u32::MAX)]).collect();
    let program = Program::new(body).expect("a valid program");
    assert_eq!(program.to_string(), libpcap.program(raw(&program)).expect("valid").listing());
}

#[test]
fn tcpdump_prints_the_same_text() {
    use linerate_bpf::classic::Format;
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    for expression in ["tcp port 80 or udp", "vlan and ip[2:2] - 3 > len", "ip6 protochain 6"] {
        let decimal = tcpdump("-ddd", expression);
        let program = parse(&decimal);
        assert_eq!(program.text(Format::Decimal).to_string(), decimal);
        assert_eq!(program.text(Format::CArray).to_string(), tcpdump("-dd", expression));
        assert_eq!(program.text(Format::Listing).to_string(), tcpdump("-d", expression));
    }
}

fn tcpdump(format: &str, expression: &str) -> String {
    let arguments = [format, "-y", "EN10MB", expression];
    let mut command = std::process::Command::new("tcpdump");
    command.args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.output().expect("tcpdump runs");
    assert!(output.status.success(), "{expression}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn parse(decimal: &str) -> Program {
    let instruction = |line: &str| {
        let numbers: Vec<u32> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
        let [code, jt, jf, k] = numbers[..] else { panic!("four numbers in {line}") };
        Instruction { code: code as u16, jt: jt as u8, jf: jf as u8, k }
    };
    let body: Vec<_> = decimal.lines().skip(1).map(instruction).collect();
    Program::new(body).expect("a valid program")
}
