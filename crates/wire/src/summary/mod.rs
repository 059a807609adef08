//! One line per packet, for people and their scripts.
//!
//! The format is tcpdump's (4.99) where it decodes the same protocols. Known differences:
//! - a packet is one line, always: where tcpdump breaks the line there is a space;
//! - bytes from packets are escaped as `\xNN`, never sent raw to the terminal;
//! - protocols that are not decoded here (routing protocols, STP, SCTP, RADIUS, ...) show their
//!   name and length, or over UDP and TCP their length alone; unknown packets are not dumped:
//!   `-x` does that;
//! - hosts, ports and interfaces are numbers unless a [`Names`] gives their names;
//! - a connection that was idle while 65,536 others passed starts anew with absolute numbers;
//! - a packet cut off within its transport header shows no ports;
//! - a packet whose IP length is 0, as captured before the card segmented it, is decoded;
//! - DHCP shows the type of message after the length;
//! - options of Multipath TCP, TCP authentication and fast open show their data undecoded, and
//!   the accurate-ECN flag shows as `e`;
//! - `-v` shows the header details and checksums of IP, TCP, UDP and ICMP, the packet that an
//!   ICMP error quotes, and the options of neighbour discovery; `-vv` all sections of DNS. It
//!   does not list DHCP options, group records, or options of IPv6 extension headers.

mod application;
mod arp;
mod dns;
mod flows;
mod icmp;
mod icmpv6;
mod igmp;
mod ip;
mod line;
mod link;
mod tcp;
mod tunnel;
mod udp;

use linerate_base::{LinkType, Packet};

use crate::layer::{Addresses, Ethernet, Layer, Layers, Llc};
use crate::names::{Names, Numeric};
use crate::paint::Paint;
use flows::Flows;
use line::Line;

/// What to show of packets.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much detail: 0, or the number of `-v` given.
    pub verbosity: u8,
    /// Show the link layer's header (`-e`).
    pub link_header: bool,
    /// Show less (`-q`).
    pub quick: bool,
    /// Show sequence numbers as they were on the wire (`-S`), not from the connection's start.
    pub absolute_sequence: bool,
    /// The colours.
    pub paint: Paint,
}

/// Writes packets as lines.
///
/// Remembers nothing but where TCP connections began.
pub struct Summary {
    options: Options,
    names: Box<dyn Names + Send>,
    flows: Flows,
}

impl Summary {
    /// A summary that shows numbers, no names.
    pub fn new(options: Options) -> Self {
        Self::with_names(options, Box::new(Numeric))
    }

    /// A summary that asks `names` for the names of hosts and ports.
    pub fn with_names(options: Options, names: Box<dyn Names + Send>) -> Self {
        Self { options, names, flows: Flows::default() }
    }

    /// Appends the line for `packet` to `out`, without a line feed. It holds no control
    /// characters but those of the colours.
    pub fn write(&mut self, packet: &Packet<'_>, out: &mut String) {
        let mut printer = Printer {
            line: Line::new(out, &self.options.paint),
            options: &self.options,
            names: &*self.names,
            flows: &mut self.flows,
            context: Context::default(),
        };
        if self.options.link_header && is_bare_ip(packet.link_type) {
            printer.line.text("ip: ");
        }
        printer.layers(Layers::new(packet));
    }
}

fn is_bare_ip(link_type: LinkType) -> bool {
    matches!(link_type, LinkType::RAW | LinkType::IPV4 | LinkType::IPV6)
}

/// Writes the layers of one packet.
struct Printer<'a> {
    line: Line<'a>,
    options: &'a Options,
    names: &'a dyn Names,
    flows: &'a mut Flows,
    context: Context,
}

/// What the layers so far mean for the next one.
#[derive(Default)]
struct Context {
    ethernet: Option<Ethernet>,
    llc: Option<Llc>,
    /// Of the IP packet whose addresses are still to be shown, with the ports of its payload.
    unshown: Option<Addresses>,
    /// The last layer was an MPLS label, and not the bottom one.
    in_label_stack: bool,
    before: Before,
}

/// The layer before, where a payload shows differently after it.
#[derive(Clone, Copy, Default)]
enum Before {
    #[default]
    Other,
    /// Its payload's length has been shown.
    Tcp,
    /// Its payload's length has been shown, or is not of interest.
    Fragment,
    /// Its payload shows as `UDP, length N`.
    Udp(usize),
}

impl Printer<'_> {
    fn layers(&mut self, layers: Layers<'_>) {
        for layer in layers {
            self.layer(&layer);
            if self.options.quick && matches!(layer, Layer::Tcp(_) | Layer::Udp(_)) {
                break;
            }
        }
    }

    fn layer(&mut self, layer: &Layer<'_>) {
        match layer {
            Layer::Ethernet(ethernet) => self.ethernet(ethernet),
            Layer::Vlan(vlan) => self.vlan(vlan),
            Layer::LinuxCooked(cooked) => self.cooked(cooked),
            Layer::Loopback(loopback) => self.loopback(loopback),
            Layer::Ppp(ppp) => self.ppp(ppp),
            Layer::Pppoe(pppoe) => self.pppoe(pppoe),
            Layer::Llc(llc) => self.llc(llc),
            Layer::Snap(snap) => self.snap(snap),
            Layer::Mpls(mpls) => self.mpls(mpls),
            Layer::Arp(arp) => self.arp(arp),
            Layer::Ipv4(ipv4) => self.ipv4(ipv4),
            Layer::Ipv6(ipv6) => self.ipv6(ipv6),
            Layer::Ipv6Extension(extension) => self.ipv6_extension(extension),
            Layer::Ah(ah) => self.ah(ah),
            Layer::Esp(esp) => self.esp(esp),
            Layer::Icmp(icmp) => self.icmp(icmp),
            Layer::Icmpv6(icmp) => self.icmpv6(icmp),
            Layer::Igmp(igmp) => self.igmp(igmp),
            Layer::Tcp(tcp) => self.tcp(tcp),
            Layer::Udp(udp) => self.udp(udp),
            Layer::Gre(gre) => self.gre(gre),
            Layer::Vxlan(vxlan) => self.vxlan(vxlan),
            Layer::Geneve(geneve) => self.geneve(geneve),
            Layer::Dns(dns) => self.dns(dns),
            Layer::Dhcp(dhcp) => self.dhcp(dhcp),
            Layer::Text(text) => self.text_protocol(text),
            Layer::Protocol(protocol) => self.protocol(protocol),
            Layer::Payload(payload) => self.payload(payload),
            Layer::Truncated { protocol } => self.truncated(protocol),
            Layer::Malformed { protocol, reason } => self.malformed(protocol, reason),
        }
    }

    fn verbose(&self) -> bool {
        self.options.verbosity > 0
    }
}
