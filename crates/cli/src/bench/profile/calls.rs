//! What system calls cost, by the packets that each brings.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use linerate::lab::traffic::live::{Frame, Load, Sender};
use linerate::sys::packet_socket::{ALL_PROTOCOLS, Level, PacketSocket, Receiver, SLOTS, Slots};

use super::EXPERIMENT;
use crate::bench::capture::measure::Effort;
use crate::bench::capture::stage::Stage;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, Subject, measure};

/// Packets of a call.
pub(in crate::bench) const BATCHES: [usize; 5] = [1, 4, 16, 32, SLOTS];
pub(in crate::bench) const STEPS: usize = BATCHES.len();

const SIZE: usize = 60;
/// Packets that wait in the socket's buffer; a live frame takes a page and more of it.
const WAITING: u64 = 20_000;
const BUFFER: usize = 256 << 20;

pub(super) fn rows(stage: &Stage, effort: &Effort, progress: &mut Progress) -> Result<Vec<Row>> {
    let figures = drained(stage, effort.repeats, progress)?;
    Ok(compare(EXPERIMENT, "60 B, recvmmsg", "ns", &name(1), &figures))
}

pub(in crate::bench) fn name(batch: usize) -> String {
    format!("{batch} packets a call")
}

/// Nanoseconds of a packet that waits in a socket, by the packets of a call.
///
/// # Errors
/// When packets are lost; without root.
pub(in crate::bench) fn drained(
    stage: &Stage,
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<(String, Option<Samples>)>> {
    let subjects = BATCHES.map(|batch| Subject {
        name: name(batch),
        run: Some(Box::new(move || drain(stage, batch))),
    });
    measure("recvmmsg", subjects.into(), repeats, progress)
}

fn drain(stage: &Stage, batch: usize) -> Result<f64> {
    let (a, b) = (stage.lab().host("a"), stage.lab().host("b"));
    let socket = b.run(|| PacketSocket::open(Level::Link)).context("open a packet socket")?;
    socket.set_receive_buffer(BUFFER)?;
    b.run(|| socket.bind(b.interface_index(), ALL_PROTOCOLS))?;
    let load = Load::new(Frame::mirrored(a, b, SIZE), WAITING);
    Sender::start(a, b, &load)?.finish()?;
    let slots = Slots { stride: 256, headroom: 0 };
    let (mut receiver, mut buffer) = (Receiver::new(), vec![0; SLOTS * slots.stride]);
    let (began, mut packets) = (Instant::now(), 0);
    loop {
        match receiver.receive(&socket, &mut buffer, slots, batch)? {
            0 => break,
            count => packets += count as u64,
        }
    }
    let elapsed: Duration = began.elapsed();
    ensure!(packets == WAITING, "of {WAITING} packets {packets} waited in the socket");
    Ok(elapsed.as_secs_f64() * 1e9 / packets as f64)
}
