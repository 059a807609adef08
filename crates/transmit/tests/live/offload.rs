//! What AF_XDP sockets ask of a driver. There is none here that has it; but what is asked of one, the kernel reads where it
//! copies: it completes checksums where the device does not, and a veth pair passes launch times on as the time of receipt.

use linerate_lab::Host;
use linerate_sys::interface;
use linerate_sys::netlink::{VethEnd, create_veth, disable_link_local_address, set_link_up};
use linerate_sys::xsk::{FrameSize, Offloads, Outcome, TransmitQueue};
use linerate_transmit::Template;

use crate::common::*;

const SLOTS: u32 = 64;

/// A socket on the first queue of an interface in the calling thread's namespace.
fn queue(interface: u32, offloads: Offloads) -> TransmitQueue {
    TransmitQueue::open(interface, 0, FrameSize::Half, SLOTS, offloads)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Puts the template's first packets into all slots.
fn fill(queue: &mut TransmitQueue, template: &Template) -> Vec<u32> {
    let (stride, head) = (queue.stride(), queue.head());
    let slots = queue.acquire(SLOTS as usize).chunks_mut(stride);
    (0..).zip(slots).map(|(number, slot)| template.fill(number, &mut slot[head..]) as u32).collect()
}

fn send(queue: &mut TransmitQueue, lengths: &[u32]) {
    queue.submit(lengths);
    queue.kick().unwrap();
    assert_eq!(std::iter::from_fn(|| queue.complete()).collect::<Vec<_>>(), [Outcome::Sent; 64]);
}

#[test]
fn checksums_are_completed_where_it_was_said_that_they_are() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for shape in [
        "IP(dst='B4', src=random('10.0.0.0/8'))/UDP(sport=permute(1024-9999))/Raw('odd', size=3-1000)",
        "Ether(dst='02:00:00:00:00:99')/Dot1Q(vlan=7)/IPv6(dst=permute('2001:db8::/96'))/UDP(dport=9)/Raw(size=18)",
        "IP(dst='B4')/TCP(dport=[80, 443], seq=RandInt(), options=[('MSS', 1460)])/'text'",
        "Ether(dst='02:00:00:00:00:99')/IPv6(dst='2001:db8::1', fl=0-99)/TCP(flags=['S', 'SE'])",
    ] {
        let whole = template(a, &shape.replace("B4", &b.ipv4().to_string()));
        let (partial, checksum) = whole.partial().expect("TCP or UDP");
        let mut capture = listen(b);
        for launches in [false, true] {
            let offloads = Offloads { checksum: Some(checksum), launches };
            let mut queue = a.run(|| queue(a.interface_index(), offloads));
            let lengths = fill(&mut queue, &partial);
            send(&mut queue, &lengths);
        }
        let sent = expected(&whole, SLOTS.into());
        assert_ne!(sent, expected(&partial, SLOTS.into()));
        assert!(fetch(&mut capture, 128) == [&sent[..], &sent[..]].concat(), "{shape}");
    }
}

/// A veth pair whose ends, `near` and `far`, are both in the calling thread's namespace: elsewhere the kernel forgets
/// times of packets.
fn pair(here: &Host) {
    let end = |name, last| VethEnd { name, address: [2, 0, 0, 0, 0, last], mtu: 1500, queues: 1 };
    create_veth(&end("near", 1), &end("far", 2), here.namespace()).unwrap();
    for name in ["near", "far"] {
        let index = interface::by_name(name).unwrap().index;
        disable_link_local_address(index).unwrap();
        set_link_up(index, true).unwrap();
    }
}

#[test]
fn launch_times_are_those_of_the_frames() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, "Ether(dst='02:00:00:00:00:99', type=0x88b5)/Raw(size=50)");
    // Seconds since the epoch that have long passed, each frame in a gap of its own.
    let time = |number: u64| 1_000_000_000_000_000_000 + number * number * 1_001;
    let times = a.run(|| {
        pair(a);
        let mut capture = listen_on("far");
        let offloads = Offloads { launches: true, ..Offloads::default() };
        let mut queue = queue(interface::by_name("near").unwrap().index, offloads);
        for round in 0..2 {
            let lengths = fill(&mut queue, &template);
            (0..64).for_each(|place| queue.launch(place, time(round * 64 + place as u64)));
            send(&mut queue, &lengths);
        }
        fetch_as(&mut capture, 128, |packet| packet.time.nanos())
    });
    assert_eq!(times, (0..128).map(|number| time(number) as i64).collect::<Vec<_>>());
}
