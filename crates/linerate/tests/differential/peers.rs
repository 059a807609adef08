//! libpcap, and the kernel, as the peers that say what an expression means.

use linerate::base::LinkType;
use linerate::bpf::classic::opcode::{LDB_ABS, LDH_ABS, LDW_ABS};
use linerate::bpf::classic::{Input, Instruction, KernelRefusal, Program, ancillary};
use linerate::lab::need;
use linerate::sys::libpcap::{self as pcap, CompileFor, Interface, Libpcap};
use linerate::sys::socket_filter::SockFilter;

use crate::compared::{KEEP, NETMASK};

/// Whoever compiles for us to compare with. Not for more than one thread.
pub(crate) struct Peers {
    libpcap: Libpcap,
    /// The loopback interface, for what libpcap does only where the kernel tells VLAN tags.
    loopback: Option<Interface>,
}

/// What libpcap makes of an expression.
pub(crate) enum Opinion {
    /// It takes it to mean this.
    Means(Truth),
    /// It refuses it.
    Refuses,
    /// What it makes of it is known to be wrong, or not to be comparable.
    Mistaken,
}

/// libpcap's unoptimised program, which says what an expression means.
pub(crate) enum Truth {
    /// Run by libpcap.
    Libpcap(pcap::Program),
    /// Run by our interpreter, where libpcap's would loop for ever, read memory that nobody wrote,
    /// or not know the answers of a socket.
    Interpreted(Program),
}

impl Peers {
    /// `None` where something is missing and the test may skip.
    pub(crate) fn new() -> Option<Self> {
        if !need::program("tcpdump", "tcpdump") {
            return None;
        }
        let libpcap = Libpcap::load().expect("tcpdump comes with its library");
        let open = || libpcap.open_interface("lo", KEEP).expect("root may open it");
        let loopback = need::root().then(open);
        Some(Self { libpcap, loopback })
    }

    /// What libpcap makes of an expression for packets of a savefile.
    pub(crate) fn for_savefile(&self, expression: &str, link_type: LinkType) -> Opinion {
        if arithmetic_precedes("geneve", expression) {
            return Opinion::Mistaken;
        }
        Opinion::of(self.libpcap.compile_for_savefile(expression, &target(link_type)))
    }

    /// What libpcap makes of an expression for packets of a socket.
    pub(crate) fn for_socket(&self, expression: &str, link_type: LinkType) -> Opinion {
        // Behind a tunnel that is not met, packets begin with what a program is shown, which is
        // not the same with a cooked header and without it.
        let is_cooked = [LinkType::LINUX_SLL, LinkType::LINUX_SLL2].contains(&link_type);
        if is_mistaken_for_sockets(expression) || is_cooked && expression.contains("geneve") {
            return Opinion::Mistaken;
        }
        let target = target(link_type);
        if link_type != LinkType::ETHERNET || !expression.contains("vlan") {
            return Opinion::of(self.libpcap.compile(expression, &target));
        }
        match &self.loopback {
            Some(loopback) => Opinion::of(loopback.compile(expression, &target)),
            None => Opinion::Mistaken,
        }
    }
}

fn target(link_type: LinkType) -> CompileFor {
    CompileFor { link_type: link_type.0, snaplen: KEEP, optimise: false, netmask: Some(NETMASK) }
}

/// libpcap 1.10.3 gives the scratch words of arithmetic, and of `protochain`, to a tunnel that
/// follows, and does not set them to 0 again: where the tunnel is not met, its packets begin
/// anywhere.
fn arithmetic_precedes(tunnel: &str, expression: &str) -> bool {
    let signs = ["=", "<", ">", "protochain"].iter().filter_map(|sign| expression.find(sign));
    signs.min().is_some_and(|at| expression[at..].contains(tunnel))
}

/// libpcap does not know that loops have no place in the kernel, and within a tunnel it asks for
/// direction and interface as if they were bytes of the packet.
fn is_mistaken_for_sockets(expression: &str) -> bool {
    let contains = |word: &&str| expression.contains(word);
    contains(&"protochain")
        || ["vlan", "geneve"].iter().any(|tunnel| arithmetic_precedes(tunnel, expression))
        || ["pppoes", "geneve"].iter().any(contains)
            && ["inbound", "outbound", "ifindex"].iter().any(contains)
}

impl Opinion {
    fn of(compiled: linerate::base::Result<pcap::Program>) -> Self {
        compiled.map_or(Self::Refuses, |program| Self::Means(Truth::new(program)))
    }
}

impl Truth {
    fn new(theirs: pcap::Program) -> Self {
        let program = program(theirs.instructions());
        let asks = program
            .instructions()
            .iter()
            .any(|i| matches!(i.code, LDW_ABS | LDH_ABS | LDB_ABS) && i.k >= ancillary::BASE);
        match program.check_kernel() {
            Ok(()) | Err(KernelRefusal::TooLong { .. }) if !asks => Self::Libpcap(theirs),
            _ => Self::Interpreted(program),
        }
    }

    pub(crate) fn verdict(&self, input: &Input<'_>) -> u32 {
        match self {
            Self::Libpcap(program) => program.verdict(input.data, input.length),
            Self::Interpreted(program) => program.run(input),
        }
    }
}

fn program(raw: &[SockFilter]) -> Program {
    let instruction =
        |&SockFilter { code, jt, jf, k }: &SockFilter| Instruction { code, jt, jf, k };
    let instructions: Vec<_> = raw.iter().map(instruction).collect();
    Program::new(instructions).expect("libpcap makes valid programs")
}
