//! One expression, compiled by us and by libpcap, and the verdicts of all of it on packets.

use std::fmt;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use linerate::base::{Error, LinkType};
use linerate::bpf::classic::{Ancillary, Input, Program};
use linerate::filter::{self, Filter, Hermetic, Options, Target, Verdict};
use linerate::sys::socket_filter::Judge;

use crate::peers::{Opinion, Peers, Truth};
use crate::socket::{
    Counting, TAGGED, is_another_matter_in_the_kernel, raw, without_cooked_header,
};

/// What a filter says of a packet that it keeps: no packet here is longer.
pub(crate) const KEEP: u32 = 262_144;

/// The mask of the network captured on, for `ip broadcast`.
pub(crate) const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

/// In a `protochain`, libpcap 1.10.3 takes the length of an authentication header for its end.
const AUTHENTICATION_HEADER: u8 = 51;

/// An expression, and what libpcap and we made of it.
pub(crate) struct Compared {
    expression: String,
    link_type: LinkType,
    savefile: Option<Side>,
    socket: Option<Side>,
}

/// What libpcap and we made of an expression for one use. Where both refuse it, where libpcap is
/// mistaken, and where the kernel cannot run the program, there is none.
struct Side {
    name: &'static str,
    truth: Truth,
    /// The optimised one first.
    filters: Vec<(&'static str, Filter)>,
}

/// A difference, with all that it takes to see it again.
pub(crate) struct Disagreement {
    expression: String,
    link_type: LinkType,
    what: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` on {}: {}", self.expression, self.link_type, self.what)
    }
}

impl Compared {
    /// Compiles an expression everywhere.
    pub(crate) fn new(
        peers: &Peers,
        expression: &str,
        link_type: LinkType,
    ) -> Result<Self, Disagreement> {
        let side = |name, theirs, target| {
            Side::new(name, theirs, expression, link_type, target).map_err(|what| {
                let what = format!("for a {name}, {what}");
                Disagreement { expression: expression.to_owned(), link_type, what }
            })
        };
        let savefile = side("savefile", peers.for_savefile(expression, link_type), Target::User)?;
        let socket = side("socket", peers.for_socket(expression, link_type), Target::Kernel)?;
        Ok(Self { expression: expression.to_owned(), link_type, savefile, socket })
    }

    /// True when there is anything to compare: the expression is valid, and libpcap not mistaken.
    pub(crate) fn is_comparable(&self) -> bool {
        self.savefile.is_some() || self.socket.is_some()
    }

    /// Compares all verdicts on one packet, of which `data` was captured.
    pub(crate) fn check(&self, data: &[u8], length: u32) -> Result<(), Disagreement> {
        if self.expression.contains("protochain") && data.contains(&AUTHENTICATION_HEADER) {
            return Ok(());
        }
        let plain = Input { data, length, ancillary: Ancillary::default() };
        if let Some(savefile) = &self.savefile {
            self.check_side(savefile, &plain, &plain)?;
        }
        let Some(socket) = &self.socket else { return Ok(()) };
        for whole in [plain, Input { ancillary: TAGGED, ..plain }] {
            if let Some(shown) = without_cooked_header(self.link_type, &whole) {
                self.check_side(socket, &whole, &shown)?;
            }
        }
        Ok(())
    }

    /// Compares our verdicts on what a program is shown of a packet with libpcap's on the whole.
    fn check_side(
        &self,
        side: &Side,
        whole: &Input<'_>,
        shown: &Input<'_>,
    ) -> Result<(), Disagreement> {
        let truth = side.truth.verdict(whole);
        match side.verdicts(shown).find(|(_, verdict)| *verdict != truth) {
            None => Ok(()),
            Some((who, verdict)) => {
                Err(self.differ(&format!("{who} for a {}", side.name), verdict, truth, whole))
            }
        }
    }

    /// Compares the kernel's verdicts with the interpreter's, on the program made for the kernel
    /// and, where the machine allows it, on its extended form.
    pub(crate) fn check_kernel(&self, packets: &[Vec<u8>]) -> Result<(), Disagreement> {
        let Some(side) = &self.socket else { return Ok(()) };
        let program = side.filters[0].1.program();
        if !is_another_matter_in_the_kernel(&self.expression) {
            let classic = Judge::classic(&raw(program)).map_err(|e| self.error(&e))?;
            self.check_judge("the kernel", classic, program, packets)?;
        }
        if let Some(counting) = Counting::new(program).map_err(|e| self.error(&e))? {
            let judge = Judge::extended(counting.program.as_fd()).map_err(|e| self.error(&e))?;
            self.check_judge("the kernel, extended,", judge, program, packets)?;
            let seen = counting.seen().map_err(|e| self.error(&e))?;
            assert_eq!(seen, packets.len() as u64, "{}", self.expression);
        }
        Ok(())
    }

    fn check_judge(
        &self,
        who: &str,
        mut judge: Judge,
        program: &Program,
        packets: &[Vec<u8>],
    ) -> Result<(), Disagreement> {
        // What the kernel says of messages between UNIX sockets.
        let ancillary =
            Ancillary { protocol: Some(0), packet_type: Some(0), ..Ancillary::default() };
        for data in packets {
            let input = Input { ancillary, ..Input::whole(data) };
            let ours = program.run(&input);
            let kept = judge.verdict(data).map_err(|e| self.error(&e))?;
            if kept.is_some() != (ours != 0) {
                let kernel = if kept.is_some() { KEEP } else { 0 };
                return Err(self.differ(who, kernel, ours, &input));
            }
        }
        Ok(())
    }

    fn error(&self, error: &Error) -> Disagreement {
        let (expression, what) = (self.expression.clone(), error.to_string());
        Disagreement { expression, link_type: self.link_type, what }
    }

    fn differ(&self, who: &str, verdict: u32, truth: u32, input: &Input<'_>) -> Disagreement {
        let hex: String = input.data.iter().map(|byte| format!("{byte:02x}")).collect();
        let Input { length, ancillary, .. } = input;
        let tagged = if ancillary.vlan_tci.is_some() { ", tagged" } else { "" };
        let what =
            format!("{who} says {verdict} instead of {truth} of {length} bytes, {hex}{tagged}");
        Disagreement { expression: self.expression.clone(), link_type: self.link_type, what }
    }
}

impl Side {
    fn new(
        name: &'static str,
        theirs: Opinion,
        expression: &str,
        link_type: LinkType,
        target: Target,
    ) -> Result<Option<Self>, String> {
        match (theirs, compile_all(expression, link_type, target)) {
            (Opinion::Mistaken, _) | (Opinion::Refuses, Err(_)) => Ok(None),
            (_, Err(error)) if error.user_space_can() => Ok(None),
            (Opinion::Means(_), Err(error)) => Err(format!("libpcap takes it: {error}")),
            (Opinion::Refuses, Ok(_)) => Err("we take it, libpcap does not".to_owned()),
            (Opinion::Means(truth), Ok(filters)) => Ok(Some(Self { name, truth, filters })),
        }
    }

    /// The verdicts that should be the truth.
    fn verdicts(&self, input: &Input<'_>) -> impl Iterator<Item = (&'static str, u32)> {
        let (_, filter) = &self.filters[0];
        let meaning = match filter.evaluate(input) {
            Verdict::True => KEEP,
            Verdict::False | Verdict::Reject => 0,
        };
        let ran = self.filters.iter().map(|(name, filter)| (*name, filter.program().run(input)));
        [("the meaning", meaning)].into_iter().chain(ran)
    }
}

/// Every program that should do the same.
fn compile_all(
    expression: &str,
    link_type: LinkType,
    target: Target,
) -> filter::Result<Vec<(&'static str, Filter)>> {
    let netmask = Some(NETMASK);
    let options = Options { snaplen: KEEP, target, netmask, ..Options::new(link_type, &Hermetic) };
    let compile = |options| filter::compile(expression, &options);
    let mut filters = vec![
        ("the optimised program", compile(options)?),
        ("the plain program", compile(Options { optimise: false, ..options })?),
    ];
    if target == Target::Kernel && means_the_same_in_user_space(expression, link_type) {
        let options = Options { target: Target::User, metadata: true, ..options };
        filters.push(("the program in place of the kernel's", compile(options)?));
    }
    Ok(filters)
}

/// Not so where user space sees a header or a tag that the kernel's filter does not, or where
/// savefiles may come from another kind of host.
fn means_the_same_in_user_space(expression: &str, link_type: LinkType) -> bool {
    let differ = [LinkType::LINUX_SLL, LinkType::LINUX_SLL2, LinkType::NULL, LinkType::LOOP];
    !expression.contains("vlan") && !differ.contains(&link_type)
}
