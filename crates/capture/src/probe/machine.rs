//! What holds for the whole machine and this process.

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::{Instruction, Register};
use linerate_sys::bpf::{Link, Map, MapSpec, Position, Program, ProgramKind, ProgramSpec, Way};
use linerate_sys::packet_socket::{Level, PacketSocket};
use linerate_sys::xsk;

use super::Support;
use crate::privilege::explain;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) packet_socket: Support,
    pub(super) tcx: Support,
    pub(super) xdp: Support,
    pub(super) xdp_socket: Support,
}

impl Machine {
    pub(super) fn ask() -> Self {
        Self {
            packet_socket: Support::of(packet_socket()),
            tcx: Support::of(tcx()),
            xdp: Support::of(load(ProgramKind::Xdp)),
            xdp_socket: Support::of(xdp_socket()),
        }
    }
}

fn packet_socket() -> Result<PacketSocket> {
    PacketSocket::open(Level::Link).map_err(|e| explain("open a packet socket".into(), e))
}

fn xdp_socket() -> Result<()> {
    xsk::check().map_err(|e| match e.raw_os_error() {
        Some(NO_FAMILY) => {
            let asked = "open an AF_XDP socket";
            Error::new(ErrorKind::Unsupported, asked, "this kernel has no AF_XDP sockets")
        }
        _ => explain("open an AF_XDP socket".into(), e),
    })
}

/// `EAFNOSUPPORT`, which has no name in `std`.
const NO_FAMILY: i32 = 97;

/// Loads a program that does nothing.
fn load(kind: ProgramKind) -> Result<Program> {
    let words = [Instruction::mov(Register::R0, 0), Instruction::exit()].map(|i| i.encode());
    Ok(Program::load(&ProgramSpec::new(kind, &words, "linerate_probe"))?)
}

/// What the tap needs: a map that can be shared, a program, and a kernel with TCX, which is asked to attach
/// it to an interface that no machine has.
fn tcx() -> Result<()> {
    const NO_INTERFACE: u32 = i32::MAX as u32;
    Map::new(&MapSpec::array("linerate_probe", 4096, 1).mappable())?;
    let program = load(ProgramKind::Classifier)?;
    match Link::tcx(&program, NO_INTERFACE, Way::Ingress, Position::First) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use linerate_sys::capability::{Capability, limit_capabilities};

    use super::*;
    use crate::probe::Support::{No, Yes};

    /// What the kernel says to a thread with these capabilities and no others.
    fn with(kept: &'static [Capability]) -> Machine {
        let thread = std::thread::spawn(|| {
            limit_capabilities(kept).unwrap();
            Machine::ask()
        });
        thread.join().unwrap()
    }

    fn lacks(support: &Support, capability: &str) -> bool {
        matches!(support, No(reason) if reason.ends_with(&format!("lacks {capability}")))
    }

    #[test]
    fn answers_name_the_capability_that_is_missing() {
        let none = with(&[]);
        assert!(lacks(&none.packet_socket, "CAP_NET_RAW"), "{none:?}");
        assert!(lacks(&none.xdp_socket, "CAP_NET_RAW"), "{none:?}");
        assert!(lacks(&none.xdp, "CAP_BPF and CAP_NET_ADMIN"), "{none:?}");
    }

    #[test]
    fn a_privileged_process_on_a_kernel_of_these_years_has_it_all() {
        if !linerate_lab::need::root() {
            return;
        }
        let all = with(&[Capability::NetRaw, Capability::NetAdmin, Capability::Bpf]);
        for support in [&all.packet_socket, &all.tcx, &all.xdp, &all.xdp_socket] {
            assert_eq!(*support, Yes, "{all:?}");
        }
        assert!(lacks(&with(&[Capability::Bpf]).tcx, "CAP_NET_ADMIN"));
        assert!(lacks(&with(&[Capability::NetAdmin]).xdp, "CAP_BPF"));
    }
}
