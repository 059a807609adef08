//! Random expressions over random packets, cut at random.
//!
//! Programs agree with the meaning, optimised or not, for user space and for the kernel; nothing
//! panics; and where libpcap is installed it takes the same expressions and gives the same verdicts.

#[path = "../common/mod.rs"]
mod common;
mod comparable;
mod generate;
#[path = "../common/quirks.rs"]
mod quirks;

use generate::{expression, soup};
use linerate_base::LinkType;
use linerate_bpf::classic::{Ancillary, Input};
use linerate_filter::{ErrorKind, Hermetic, Options, Target, Verdict, compile, link_types};
use linerate_sys::libpcap::{CompileFor, Libpcap};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const SNAPLEN: u32 = 65_535;

fn link_type() -> impl Strategy<Value = LinkType> {
    prop::sample::select(link_types().chain(quirks::OPAQUE).collect::<Vec<_>>())
}

/// A packet of `link_type`, perhaps with a byte changed, and how much of it was captured.
fn packet(link_type: LinkType) -> impl Strategy<Value = (Vec<u8>, usize)> {
    let packets = common::packets(link_type);
    let changed = prop::option::of((any::<prop::sample::Index>(), any::<u8>()));
    (prop::sample::select(packets), changed, any::<prop::sample::Index>()).prop_map(
        |(mut packet, changed, cut)| {
            if let Some((at, byte)) = changed {
                let at = at.index(packet.len());
                packet[at] = byte;
            }
            let cut = cut.index(packet.len() + 1);
            (packet, cut)
        },
    )
}

fn ancillary() -> impl Strategy<Value = Ancillary> {
    let tag = prop::option::of(prop::sample::select(vec![5_u16, 6, 0x2005]));
    (tag, 0..5_u8, 0..4_u32).prop_map(|(vlan_tci, packet_type, interface)| Ancillary {
        protocol: Some(0x0800),
        packet_type: Some(packet_type),
        interface_index: Some(interface),
        vlan_tci,
        ..Ancillary::default()
    })
}

fn case() -> impl Strategy<Value = (LinkType, String, Vec<(Vec<u8>, usize)>, Ancillary)> {
    (link_type(), expression(), ancillary()).prop_flat_map(|(link, expression, ancillary)| {
        let packets = prop::collection::vec(packet(link), 30);
        (Just(link), Just(expression), packets, Just(ancillary))
    })
}

fn value_of(verdict: Verdict) -> u32 {
    if verdict == Verdict::True { SNAPLEN } else { 0 }
}

/// A thousand cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let from_environment = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_environment,
        None => ProptestConfig { cases: 1000, ..from_environment },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn programs_mean_what_the_expression_means(
        (link_type, text, packets, ancillary) in case(),
        in_kernel in any::<bool>(),
    ) {
        let target = if in_kernel { Target::Kernel } else { Target::User };
        let options = Options {
            snaplen: SNAPLEN,
            target,
            metadata: true,
            netmask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            ..Options::new(link_type, &Hermetic)
        };
        let optimised = match compile(&text, &options) {
            Ok(filter) => filter,
            Err(error) => {
                // Rendering must not fail either, wherever the caret goes.
                prop_assert!(!error.to_string().is_empty());
                return Ok(());
            }
        };
        let plain = compile(&text, &Options { optimise: false, ..options });
        let plain = match plain {
            Ok(filter) => Some(filter),
            // The passes may have got rid of what the kernel does not take.
            Err(error) if error.user_space_can() => None,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        if in_kernel {
            prop_assert_eq!(optimised.program().check_kernel(), Ok(()));
        }
        for (packet, cut) in packets {
            let input = Input { data: &packet[..cut], length: packet.len() as u32, ancillary };
            let meant = value_of(optimised.evaluate(&input));
            prop_assert_eq!(optimised.program().run(&input), meant, "{} cut at {}", text, cut);
            if let Some(plain) = &plain {
                prop_assert_eq!(plain.program().run(&input), meant, "{} plain, cut at {}", text, cut);
            }
        }
    }

    #[test]
    fn libpcap_agrees((link_type, text, packets, _) in case()) {
        let Ok(libpcap) = Libpcap::load() else {
            linerate_lab::need::program("tcpdump", "libpcap0.8");
            return Ok(());
        };
        if !comparable::is_comparable(&text, link_type) {
            return Ok(());
        }
        compare(&libpcap, link_type, &text, &packets)?;
    }

    #[test]
    fn libpcap_takes_the_same_words(link_type in link_type(), text in soup()) {
        let Ok(libpcap) = Libpcap::load() else {
            linerate_lab::need::program("tcpdump", "libpcap0.8");
            return Ok(());
        };
        if comparable::is_comparable(&text, link_type) {
            compare(&libpcap, link_type, &text, &[])?;
        }
    }

    #[test]
    fn nothing_panics(link_type in link_type(), text in ".{0,60}") {
        let _ = compile(&text, &Options::new(link_type, &Hermetic)).map_err(|e| e.to_string());
    }

    #[test]
    fn nothing_panics_on_soup(link_type in link_type(), text in soup(), noise in "[\\PC\t\n]{0,3}") {
        let text = text.replacen(' ', &noise, 1);
        let _ = compile(&text, &Options::new(link_type, &Hermetic)).map_err(|e| e.to_string());
    }
}

fn compare(
    libpcap: &Libpcap,
    link_type: LinkType,
    text: &str,
    packets: &[(Vec<u8>, usize)],
) -> Result<(), TestCaseError> {
    let netmask = Some(Ipv4Addr::new(255, 255, 255, 0));
    let theirs = CompileFor { link_type: link_type.0, snaplen: SNAPLEN, optimise: false, netmask };
    let options = Options {
        snaplen: SNAPLEN,
        target: if quirks::is_loopback(link_type) { Target::Kernel } else { Target::User },
        metadata: true,
        netmask,
        ..Options::new(link_type, &Hermetic)
    };
    let (ours, theirs) = match (compile(text, &options), libpcap.compile(text, &theirs)) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) => return Ok(()),
        (Ok(_), Err(error)) if error.to_string().contains("too many registers") => return Ok(()),
        (Ok(_), Err(error)) => {
            return Err(TestCaseError::fail(format!("[{link_type}] {text}: we accept, {error}")));
        }
        (Err(error), Ok(_)) if error.kind() == ErrorKind::TooLarge => return Ok(()),
        (Err(error), Ok(_)) => {
            return Err(TestCaseError::fail(format!("[{link_type}] libpcap accepts, {error}")));
        }
    };
    for (packet, cut) in packets {
        let input =
            Input { data: &packet[..*cut], length: packet.len() as u32, ..Input::default() };
        let expected = theirs.verdict(input.data, input.length);
        let got = ours.program().run(&input);
        prop_assert_eq!(got, expected, "[{}] {} cut at {}\n{:x?}", link_type, text, cut, packet);
    }
    Ok(())
}
