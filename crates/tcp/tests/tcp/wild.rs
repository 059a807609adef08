//! Peers that send whatever they like.

use std::time::Duration;

use linerate_tcp::segment::{Control, Header, Options, Timestamps};
use linerate_tcp::{Next, Seq};
use proptest::prelude::*;

use crate::peer::byte;
use crate::script::{PEER, PORT, World, all, frame, none};

/// One thing that a peer does.
#[derive(Clone, Debug)]
struct Step {
    control: u8,
    /// Of the first byte, from the one that was sent first.
    start: i32,
    /// Bytes of ours that are acknowledged.
    acked: i32,
    window: u16,
    stamp: Option<u32>,
    length: usize,
    /// Milliseconds until then.
    after: u64,
}

fn step() -> impl Strategy<Value = Step> {
    let control = prop_oneof![4 => Just(0x10_u8), 2 => Just(0x18), 1 => Just(0x11), 3 => 0..64_u8];
    let start = prop_oneof![3 => Just(0), 4 => -2_000..6_000, 1 => any::<i32>()];
    let acked = prop_oneof![4 => 0..=3_000, 1 => -9_000..9_000, 1 => any::<i32>()];
    let window = prop_oneof![0..3_000_u16, any::<u16>()];
    let stamp = proptest::option::weighted(0.8, prop_oneof![9 => 500..600_u32, 1 => any::<u32>()]);
    (control, start, acked, window, stamp, 0..1_400_usize, 0..40_u64).prop_map(
        |(control, start, acked, window, stamp, length, after)| Step {
            control,
            start,
            acked,
            window,
            stamp,
            length,
            after,
        },
    )
}

/// The peer's bytes from this one on.
fn stream(start: i32, length: usize) -> Vec<u8> {
    (0..length).map(|index| byte(0, (start as u32).wrapping_add(index as u32))).collect()
}

proptest! {
    /// What is delivered is a beginning of the peer's stream, all that we send is sound, every connection ends, and nothing is left.
    #[test]
    fn nothing_that_a_peer_does_breaks_a_connection(
        stamps: bool, request in 0..4_000_u32, then in prop::option::of(prop::sample::select(vec![Next::Close, Next::Abort, Next::Send(700)])),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut world = World::open(request, if stamps { all() } else { none() });
        world.user.then = then;
        for step in steps {
            world.pass(Duration::from_millis(step.after));
            let timestamps = step.stamp.map(|value| Timestamps { value, echo: 0 });
            let header = Header {
                seq: PEER + 1 + step.start as u32,
                ack: Seq(world.isn.0.wrapping_add(1).wrapping_add(step.acked as u32)),
                control: Control(step.control),
                window: step.window,
                options: Options { timestamps, ..none() },
            };
            world.frame(&frame(&header, PORT, &stream(step.start, step.length)));
            world.sent();
        }
        let received = &world.user.received;
        prop_assert_eq!(received, &stream(0, received.len()));
        for _ in 0..40 {
            world.pass(Duration::from_secs(1));
            world.sent();
        }
        prop_assert!(world.client.is_idle(), "{:?}", world.client);
        prop_assert_eq!((world.user.opened, world.user.ended.len()), (1, 1));
    }
}
