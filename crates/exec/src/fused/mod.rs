//! Filters as vector code: all steps for sixteen packets, and then for the next.
//!
//! The interpreter of blocks (`vector`) does one step after the other and keeps columns and masks in memory. Here the
//! same steps and columns are code for AVX-512, made for one filter: numbers stay in vector registers, who comes to a step is a
//! mask in a general register, and no step is ever left out, so that there is nothing to guess.
//!
//! - `function`: the loop over chunks, and where their packets are
//! - `steps`: who comes to which step
//! - `lookups`: tests of fields
//! - `numbers`: columns in vector registers
//! - `quads`: several windows loaded at once
//! - `registers`: which of the processor's registers hold what
//! - `pool`: numbers, vectors and tables beside the code
//! - `vectors`: instructions of AVX-512

#[cfg(target_arch = "x86_64")]
mod function;
#[cfg(target_arch = "x86_64")]
mod lookups;
#[cfg(target_arch = "x86_64")]
mod numbers;
#[cfg(target_arch = "x86_64")]
mod pool;
#[cfg(target_arch = "x86_64")]
mod quads;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(target_arch = "x86_64")]
mod vectors;

use linerate_sys::code::Code;

use crate::program::Program;

/// A program as a function of chunks of packets.
#[derive(Clone, Debug)]
pub(crate) struct Fused {
    /// Made by the modules here alone.
    code: Code,
}

impl Fused {
    /// For processors with the instructions of [`Level::fused`](crate::Level::fused). `None` where the program asks for what
    /// is not among the bytes, divides, or is long, or where the system permits no code that is made at run time.
    pub(crate) fn new(program: &Program) -> Option<Self> {
        let code = Code::new(&assemble(program)?).ok()?;
        Some(Self { code })
    }

    /// The code.
    pub(crate) fn code(&self) -> &Code {
        &self.code
    }
}

#[cfg(target_arch = "x86_64")]
fn assemble(program: &Program) -> Option<Vec<u8>> {
    function::assemble(program)
}

#[cfg(not(target_arch = "x86_64"))]
fn assemble(_: &Program) -> Option<Vec<u8>> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use linerate_base::LinkType;
    use linerate_filter::{Hermetic, Options, compile};

    use super::*;

    #[test]
    fn usual_filters_have_code() {
        let hosts = (0..1000)
            .map(|i| format!("10.{}.{}.7", i >> 8, i & 255))
            .collect::<Vec<_>>()
            .join(" or ");
        for text in [
            "tcp port 80 or 443 or 8080 or 22 or 25",
            "portrange 0-6000 and not (arp or icmp or broadcast)",
            "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.0.0.0/24",
            "tcp port 80 and (ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0",
            "vlan and (tcp port 80 or vlan and host 10.0.0.1)",
            "udp and greater 100 and udp[4:2] > 60",
            &format!("host {hosts}"),
        ] {
            let filter = compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap();
            let program = Program::new(&filter.plan().expect("a plan")).expect("columns");
            assert!(Fused::new(&program).is_some(), "{text}");
        }
    }
}
