//! What is sent: frames of 60 bytes to one destination, or each to another.

use anyhow::Result;
use linerate::transmit::{Blocklist, Outlet, Template};

use super::ground::{Device, Ground};

/// Bytes of a frame, without the check sequence.
pub(super) const SIZE: usize = 60;

/// Decides the order of the destinations.
const SEED: u64 = 7;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Udp,
    Syn,
}

/// Packets of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packets {
    pub(super) protocol: Protocol,
    /// Each goes to another address, of more than four million; else all go to one.
    pub(super) unique: bool,
}

impl Packets {
    /// All there are.
    pub(super) const ALL: [Self; 4] = [
        Self { protocol: Protocol::Udp, unique: false },
        Self { protocol: Protocol::Udp, unique: true },
        Self { protocol: Protocol::Syn, unique: false },
        Self { protocol: Protocol::Syn, unique: true },
    ];

    /// What they are, in words.
    pub(super) fn text(self) -> String {
        let protocol = match self.protocol {
            Protocol::Udp => "UDP",
            Protocol::Syn => "SYN",
        };
        let destinations = if self.unique { "unique" } else { "one destination" };
        format!("{SIZE} B {protocol}, {destinations}")
    }

    /// As `linerate send` takes them.
    pub(super) fn expression(self, device: Device) -> String {
        let network = device.network();
        let destination = match self.unique {
            true => format!("permute(\"{network}/10\")"),
            false => format!("\"{}\"", device.station()),
        };
        let rest = match self.protocol {
            Protocol::Udp => "UDP(sport=1024, dport=9)/Raw(size=18)",
            Protocol::Syn => "TCP(sport=1024, dport=80, flags=\"S\")/Raw(size=6)",
        };
        let (from, to) = ("10.0.0.1", "02:00:00:00:00:02");
        format!("Ether(dst=\"{to}\")/IP(src=\"{from}\", dst={destination})/{rest}")
    }

    /// Compiled, on a thread of the host that sends.
    pub(super) fn template(self, device: Device) -> Result<Template> {
        let outlet = Outlet::find(device.name())?;
        let template =
            Template::compile(&self.expression(device), &outlet, &Blocklist::default(), SEED);
        template.map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The first so many frames.
    pub(super) fn frames(
        self,
        ground: &Ground,
        device: Device,
        count: u64,
    ) -> Result<Vec<Vec<u8>>> {
        let template = ground.sender().run(|| self.template(device))?;
        let frame = |number| {
            let mut frame = vec![0; template.longest()];
            let length = template.fill(number, &mut frame);
            frame.truncate(length);
            frame
        };
        Ok((0..count).map(frame).collect())
    }
}
