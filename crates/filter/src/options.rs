//! What to compile for.

use crate::sema::resolver::Resolver;
use linerate_base::LinkType;
use std::net::Ipv4Addr;

/// Where the program will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// In user space, over packets as a savefile has them: VLAN tags among the bytes, no limit on the
    /// program's length, loops allowed.
    User,
    /// In the kernel, on a packet socket: VLAN tags that the driver took off are asked for, as are
    /// direction and interface; no loops, at most 4,096 instructions. Of cooked link types, whose
    /// header user space makes, the program sees what follows that header and asks for what is in it.
    Kernel,
    /// In the kernel as well, with the same meaning, as a fragment of an extended program
    /// ([`Filter::predicate`](crate::Filter::predicate)): of any length.
    Tap,
}

impl Target {
    /// Packets are as the kernel has them.
    pub(crate) fn is_kernel(self) -> bool {
        matches!(self, Self::Kernel | Self::Tap)
    }
}

/// What to compile for.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What the first byte of a packet means.
    pub link_type: LinkType,
    /// How many bytes to keep of a packet that matches: the program's verdict. At least 1, for a
    /// verdict of 0 means no match.
    pub snaplen: u32,
    /// Where the program will run.
    pub target: Target,
    /// The netmask of the network captured on, which `ip broadcast` needs.
    pub netmask: Option<Ipv4Addr>,
    /// Whether to run the passes that make the program smaller and quicker. The verdicts are the same.
    pub optimise: bool,
    /// With [`Target::User`]: each packet's direction and interface are known and will be in
    /// `Input::ancillary`, so `inbound`, `outbound` and `ifindex` are allowed on every link type.
    pub metadata: bool,
    /// `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` are about what they are joined with by `and`, and
    /// about nothing else: `vlan or ip` looks for IP without a tag. libpcap looks behind the tag from
    /// there to the end of the expression.
    pub scoped: bool,
    /// IPv6 as a peer of IPv4: ports, `icmp6[...]` and protocols are looked for behind up to six extension
    /// headers, not in later fragments, and `tcp[...]`, `udp[...]` and `sctp[...]` mean IPv6 as well. To
    /// libpcap an extension header ends the search, and `tcp[...]` is about IPv4.
    pub ipv6: bool,
    /// Who looks names up.
    pub resolver: &'a dyn Resolver,
}

impl<'a> Options<'a> {
    /// tcpdump's defaults for reading a file: all of each packet, in user space, optimised.
    pub fn new(link_type: LinkType, resolver: &'a dyn Resolver) -> Self {
        Self {
            link_type,
            snaplen: 262_144,
            target: Target::User,
            netmask: None,
            optimise: true,
            metadata: false,
            scoped: false,
            ipv6: false,
            resolver,
        }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("link_type", &self.link_type)
            .field("snaplen", &self.snaplen)
            .field("target", &self.target)
            .field("netmask", &self.netmask)
            .field("optimise", &self.optimise)
            .field("metadata", &self.metadata)
            .field("scoped", &self.scoped)
            .field("ipv6", &self.ipv6)
            .finish_non_exhaustive()
    }
}
