//! Filters as machine code, for one packet after the other.
//!
//! There are two functions to a filter: of a packet, which branches, and of many packets, which does not where that is
//! better, and calls the other for packets that are too short for that.
//!
//! - `straight`: programs as operations without a branch
//! - `places`: which register holds what
//! - `sweep`: the loop over packets
//! - `single`: the walk over a plan, for one of them
//! - `x64`: the functions as code of an x86-64 processor
//! - `a64`: the same of a 64-bit ARM processor

#[cfg(target_arch = "aarch64")]
mod a64;
mod places;
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "no code for this processor")
)]
mod single;
mod straight;
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "no code for this processor")
)]
mod sweep;
#[cfg(target_arch = "x86_64")]
mod x64;

use linerate_base::{Batch, Matches};
use linerate_filter::plan::Plan;
use linerate_sys::code::Code;

use crate::kernels;
use crate::program::Program;
use straight::Straight;

/// A plan as functions: of a packet's bytes and its length on the wire, and of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    /// Made by the modules here alone.
    code: Code,
    /// Where the function of a batch begins in it.
    sweep: usize,
}

/// The lowest bits of some bytes, up to 64.
fn packed(bytes: &[u8]) -> u64 {
    // Each product has the bits of eight bytes in its highest byte: no two of its summands meet.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let eights = bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight));
    eights.rev().fold(0, |word, eight| word << 8 | eight.wrapping_mul(GATHER) >> 56)
}

/// Code that is not in its place yet.
struct Assembled {
    code: Vec<u8>,
    sweep: usize,
}

impl Native {
    /// `None` where the plan asks for what is not among the bytes, has too many slots, is not for this
    /// processor, or where the system permits no code that is made at run time. With the plan as a program, batches go
    /// without branches where that is better.
    pub(crate) fn new(plan: &Plan, program: Option<&Program>) -> Option<Self> {
        let straight = program.and_then(Straight::new);
        let reach = program.map_or(0, |program| program.reach);
        let Assembled { code, sweep } = assemble(plan, straight.as_ref(), reach as u32)?;
        Some(Self { code: Code::new(&code).ok()?, sweep })
    }

    /// Whether the filter keeps a packet of these captured bytes and this length on the wire.
    #[inline]
    pub(crate) fn keeps(&self, data: &[u8], length: u32) -> bool {
        kernels::call(self, data, length)
    }

    /// Marks which packets of a batch the filter keeps.
    pub(crate) fn select(&self, batch: &Batch<'_>, matches: &mut Matches) {
        const STRIP: usize = 1024;
        for first in (0..batch.len()).step_by(STRIP) {
            let strip = batch.slice(first..batch.len().min(first + STRIP));
            let mut kept = [0; STRIP];
            kernels::judge(self, &strip, &mut kept);
            for (word, notes) in kept.chunks(64).enumerate().take(strip.len().div_ceil(64)) {
                matches.insert_word(first + 64 * word, packed(notes));
            }
        }
    }

    /// The code, and where in it the function of a batch begins.
    pub(crate) fn code(&self) -> (&Code, usize) {
        (&self.code, self.sweep)
    }
}

#[cfg(target_arch = "x86_64")]
use x64::assemble;

#[cfg(target_arch = "aarch64")]
use a64::assemble;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn assemble(_: &Plan, _: Option<&Straight>, _: u32) -> Option<Assembled> {
    None
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use linerate_base::LinkType;
    use linerate_filter::{Hermetic, Options, compile};

    use super::*;

    fn native(text: &str) -> Native {
        let filter = compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap();
        Native::new(&filter.plan().expect("a plan"), None).expect("code")
    }

    /// An Ethernet frame with an IPv4 header of `words` words, and 24 bytes of a segment to port `port` behind it.
    fn segment(words: u8, port: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 4 * usize::from(words) + 24];
        frame[12..14].copy_from_slice(&[8, 0]);
        (frame[14], frame[23]) = (0x40 | words, 6);
        let at = 14 + 4 * usize::from(words);
        frame[at + 2..at + 4].copy_from_slice(&port.to_be_bytes());
        frame
    }

    #[test]
    fn fields_at_constant_offsets_and_behind_headers() {
        let web = native("tcp and (dst port 80 or dst port 443 or dst portrange 8000-8080)");
        for words in 5..=15 {
            for (port, kept) in
                [(79, false), (80, true), (443, true), (7999, false), (8080, true), (20480, false)]
            {
                let frame = segment(words, port);
                assert_eq!(web.keeps(&frame, 1500), kept, "{words} words, port {port}");
                let end = 14 + 4 * usize::from(words) + 4;
                assert_eq!(web.keeps(&frame[..end], 1500), kept, "all that it looks at");
                assert!(!web.keeps(&frame[..end - 1], 1500), "a byte less");
            }
        }
        assert!(!web.keeps(&[], 0));
    }

    #[test]
    fn many_numbers_are_found() {
        let ports: Vec<_> = (0..300).map(|port| (3 * port + 1).to_string()).collect();
        let many = native(&format!("tcp dst port {}", ports.join(" or ")));
        for port in 0..1000 {
            assert_eq!(many.keeps(&segment(5, port), 60), port % 3 == 1 && port < 900, "{port}");
        }
    }

    #[test]
    fn bits_of_bytes_are_in_their_order() {
        let bytes: Vec<_> = (0..64).map(|at| u8::from(at % 3 == 0 || at == 62)).collect();
        let meant = (0..64).filter(|at| bytes[*at] == 1).fold(0, |word, at| word | 1_u64 << at);
        assert_eq!(packed(&bytes), meant);
    }

    #[test]
    fn arithmetic_is_that_of_the_language() {
        for (text, kept) in [
            ("ether[0] / ether[1] = 3", true),
            ("ether[0] / ether[2] = 0", false),
            ("not ether[0] / ether[2] = 0", false),
            ("ether[0] % ether[1] = 1", true),
            ("ether[0] << ether[3] = 0", true),
            ("ether[0] >> (ether[3] - 39) = 5", true),
            ("ether[ether[1]] * ether[ether[1] - 2] = 120", true),
            ("(ether[0] - ether[3]) > 4294967260", true),
            ("-ether[1] = 4294967293", true),
            ("len - ether[0] = 30 and ether[0:2] & ether[2:2] = 0", true),
            ("ether[0:4] | ether[4:4] != 0xffffffff and ether[0:4] ^ ether[0:4] = 0", true),
        ] {
            assert_eq!(native(text).keeps(&[10, 3, 0, 40, 1, 2, 3, 4], 40), kept, "{text}");
        }
    }

    #[test]
    fn what_the_bytes_do_not_say_is_for_others() {
        let options = Options { metadata: true, ..Options::new(LinkType::ETHERNET, &Hermetic) };
        let inbound = compile("inbound", &options).unwrap();
        assert!(Native::new(&inbound.plan().expect("a plan"), None).is_none());
    }
}
