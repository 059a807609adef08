use clap::Args;
use linerate::filter::Options;

/// How filters are understood where libpcap's way has a better one beside it.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LanguageArgs {
    /// `vlan`, `mpls` and tunnels are only about what they are joined with by `and`, not about all that follows.
    #[arg(long)]
    pub(crate) scoped: bool,

    /// Follow IPv6 extension headers; `tcp[...]`, `udp[...]` and `sctp[...]` are of IPv6 as well.
    #[arg(long)]
    pub(crate) ipv6: bool,
}

impl LanguageArgs {
    /// The options with these.
    pub(crate) fn of<'a>(self, options: Options<'a>) -> Options<'a> {
        Options { scoped: self.scoped, ipv6: self.ipv6, ..options }
    }
}
