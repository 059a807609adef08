//! Rewritten addresses: the checksums are right all the same.

use std::time::Duration;

use linerate_base::{
    Batch, Descriptor, Interface, LinkType, Result, Sink, SinkStats, Slots, Source, Stats,
};
use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::replay::{Frames, Plan, Replayer, Rewrite, Timing};
use proptest::prelude::*;

use crate::checked::check;
use crate::{packet, template};

/// One packet, taken once.
struct One(Vec<u8>, [Descriptor; 1], [Interface; 1], bool);

impl One {
    fn new(data: &[u8]) -> Self {
        let length = data.len() as u32;
        let descriptor = Descriptor { captured: length, length, ..Descriptor::default() };
        let interface = Interface { link_type: LinkType::ETHERNET, ..Interface::default() };
        Self(data.to_vec(), [descriptor], [interface], false)
    }
}

impl Source for One {
    fn interfaces(&self) -> &[Interface] {
        &self.2
    }

    fn next_batch(&mut self, _: Duration) -> Result<Option<Batch<'_>>> {
        let was_taken = std::mem::replace(&mut self.3, true);
        Ok((!was_taken).then(|| Batch::new(&self.0, &self.1, &self.2)))
    }

    fn stats(&mut self) -> Result<Stats> {
        Ok(Stats::default())
    }

    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The last frame.
#[derive(Default)]
struct Last(Vec<u8>, Vec<u32>, SinkStats);

impl Sink for Last {
    fn acquire(&mut self, _: usize) -> Result<Slots<'_>> {
        self.0.resize(2000, 0xee);
        Ok(Slots::new(&mut self.0, 2000, 0, &mut self.1))
    }

    fn submit(&mut self) -> Result<()> {
        self.0.truncate(self.1[0] as usize);
        Ok(())
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> SinkStats {
        self.2
    }
}

/// The packet as it leaves with this rewriting.
fn replayed(data: &[u8], rewrite: &Rewrite) -> Vec<u8> {
    let frames = Frames { rewrite: rewrite.clone(), longest: 1514, ..Frames::default() };
    let timing = Timing::Paced(Pace::new(Rate::Unlimited));
    let plan = Plan { frames, timing, count: None, duration: None };
    let mut last = Last::default();
    let mut replayer = Replayer::new(&plan, &mut last).unwrap();
    replayer.play(&mut One::new(data), &mut |_| false).unwrap();
    replayer.finish(None, &mut || false).1.unwrap();
    last.0
}

const PACKETS: [&str; 8] = [
    "Ether(dst=\"02:00:00:00:00:09\")/IP(dst=random(\"0.0.0.0/0\"), src=random(\"0.0.0.0/0\"))/UDP(sport=7, dport=9)/Raw(size=random(0-99))",
    "Ether(dst=\"02:00:00:00:00:09\")/IP(dst=random(\"0.0.0.0/0\"))/TCP(dport=80, flags=\"S\")/Raw(size=random(0-99))",
    "Ether(dst=\"02:00:00:00:00:09\")/IP(dst=random(\"0.0.0.0/0\"))/ICMP(id=1, seq=2)/Raw(size=5)",
    "Ether(dst=\"02:00:00:00:00:09\")/IPv6(dst=random(\"2001:db8::/64\"), src=random(\"fd00::/64\"))/UDP(sport=7, dport=9)/Raw(size=random(0-99))",
    "Ether(dst=\"02:00:00:00:00:09\")/IPv6(dst=random(\"2001:db8::/64\"))/TCP(dport=80, flags=\"A\")/Raw(\"odd\")",
    "Ether(dst=\"02:00:00:00:00:09\")/IPv6(dst=random(\"2001:db8::/64\"))/ICMPv6EchoRequest(id=7, seq=8)",
    "Ether(dst=\"02:00:00:00:00:09\")/Dot1Q(vlan=5)/IP(dst=random(\"0.0.0.0/0\"))/UDP(sport=1, dport=2)/Raw(size=9)",
    "Ether(dst=\"02:00:00:00:00:09\")/Dot1Q(vlan=5)/Dot1Q(vlan=6)/IPv6(dst=random(\"2001:db8::/64\"))/TCP()/Raw(size=10)",
];

proptest! {
    #[test]
    fn checksums_are_those_of_the_new_addresses(
        which in 0..PACKETS.len(), number in 0..1000_u64, v4: [u8; 4], v6: [u8; 16], lengths in (0..33_u32, 0..129_u32),
    ) {
        let data = packet(&template(PACKETS[which]), number);
        let v4 = format!("0.0.0.0/0={}/{}", std::net::Ipv4Addr::from(v4), lengths.0);
        let v6 = format!("::/0={}/{}", std::net::Ipv6Addr::from(v6), lengths.1);
        let maps = vec![v4.parse().unwrap(), v6.parse().unwrap()];
        let rewrite = Rewrite { maps, ..Rewrite::default() };
        let changed = replayed(&data, &rewrite);
        check(&changed);
        prop_assert_eq!(changed.len(), data.len());
        prop_assert_eq!(&changed[..14], &data[..14]);
    }
}

#[test]
fn what_is_not_to_be_changed_is_not() {
    for text in PACKETS {
        let data = packet(&template(text), 3);
        let maps = vec!["0.0.0.0/0=0.0.0.0/0".parse().unwrap(), "::/0=::/0".parse().unwrap()];
        assert_eq!(replayed(&data, &Rewrite { maps, ..Rewrite::default() }), data);
        let rewrite = Rewrite {
            mac_source: Some([2; 6]),
            mac_destination: Some([1; 6]),
            ..Rewrite::default()
        };
        let changed = replayed(&data, &rewrite);
        assert_eq!((&changed[..6], &changed[6..12]), (&[1; 6][..], &[2; 6][..]));
        assert_eq!(&changed[12..], &data[12..]);
    }
}

#[test]
fn a_datagram_without_a_checksum_keeps_none() {
    let mut data = packet(&template("IP(dst=\"10.0.0.1\", src=\"10.0.0.2\")/UDP()/Raw(size=9)"), 0);
    data[40..42].fill(0);
    let maps = vec!["10.0.0.0/8=192.168.0.0/16".parse().unwrap()];
    let changed = replayed(&data, &Rewrite { maps, ..Rewrite::default() });
    assert_eq!(
        (&changed[26..30], &changed[30..34]),
        (&[192, 168, 0, 2][..], &[192, 168, 0, 1][..])
    );
    assert_eq!(changed[40..42], [0, 0]);
}
