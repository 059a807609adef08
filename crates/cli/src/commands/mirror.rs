//! `linerate mirror`: a server at every address of whole prefixes.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::base::{LinkType, Sink, Slots};
use linerate::capture::{self, Config, Directions, Interrupt, Owned};
use linerate::tcp::mirror::{Behaviour, Ending, Mirror};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{BATCH, Outlet, sink};

use crate::args::{EndingArg, MirrorArgs};
use crate::exit::{Outcome, usage};
use crate::output;
use crate::signals::Requests;
use crate::units::grouped;

/// How long to wait for a frame before looking whether somebody wants an end.
const WAIT: Duration = Duration::from_millis(100);
/// Bytes of the longest frame that is sent.
const LONGEST: usize = 1_514;
/// The longest answer, in frames.
const MOST_FRAMES: usize = BATCH;

pub(super) fn run(args: &MirrorArgs) -> Result<Outcome> {
    let mirror = mirror(args)?;
    let requests = Requests::default();
    let interrupt = Interrupt::new()?;
    requests.watch(interrupt.clone())?;
    let mut config = Config::new(&args.interface, interrupt);
    config.link_type = Some(LinkType::ETHERNET);
    config.promiscuous = false;
    config.immediate = true;
    config.direction = Directions::In;
    config.owned = Some(Owned::new(&args.prefixes)?);
    let mut capture = capture::open(&config)?;
    let mut opened = sink::open(&sink::Config {
        interface: args.interface.clone(),
        backend: None,
        queue: 0,
        slots: 8 * BATCH,
        longest: LONGEST,
    })?;
    capture.notes.iter().chain(&opened.notes).for_each(output::tell);
    output::tell(format_args!("answering on {}", args.interface));
    let mut answers = Answers::default();
    while !requests.stop() {
        let Some(batch) = capture.source.next_batch(WAIT)? else { break };
        batch.iter().for_each(|packet| answers.add(&mirror, packet.data));
        answers.send(&mut *opened.sink)?;
    }
    opened.sink.flush(&mut || false)?;
    output::tell(format_args!("{} frames answered with", grouped(opened.sink.stats().sent)));
    Ok(Outcome::Success)
}

fn mirror(args: &MirrorArgs) -> Result<Mirror> {
    let outlet = Outlet::find(&args.interface)?;
    let read = |path| fs::read(path).with_context(|| format!("read the answer {path:?}"));
    let answer = args.answer.as_ref().map(read).transpose()?.unwrap_or_default();
    let mirror = Mirror::new(Behaviour {
        mac: outlet.mac(),
        ports: args.ports.clone(),
        answer,
        ending: match args.ending {
            EndingArg::Fin => Ending::Fin,
            EndingArg::Reset => Ending::Reset,
            EndingArg::None => Ending::None,
        },
        one_of: args.one_of,
    });
    match mirror.most() {
        ..=MOST_FRAMES => Ok(mirror),
        frames => {
            Err(usage(format!("--answer: it takes {frames} frames, and {MOST_FRAMES} at most")))
        }
    }
}

/// Answers, one after the other.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    /// Where the answers to one frame are written.
    slots: Vec<u8>,
    written: Vec<u32>,
}

impl Answers {
    /// Adds the answers to a frame.
    fn add(&mut self, mirror: &Mirror, frame: &[u8]) {
        self.slots.resize(mirror.most() * LONGEST, 0);
        mirror.answer(frame, &mut Slots::new(&mut self.slots, LONGEST, 0, &mut self.written));
        for (slot, length) in self.slots.chunks(LONGEST).zip(&self.written) {
            self.bytes.extend(&slot[..*length as usize]);
        }
        self.lengths.append(&mut self.written);
    }

    /// Hands all over. What finds no room is not answered: who asked asks again.
    fn send(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut rest = &self.bytes[..];
        let mut lengths = self.lengths.drain(..).peekable();
        while lengths.peek().is_some() {
            let mut slots = sink.acquire(BATCH)?;
            if slots.room() == 0 {
                break;
            }
            while slots.room() > 0
                && let Some(length) = lengths.next()
            {
                let (frame, behind) = rest.split_at(length as usize);
                slots.push(|slot| {
                    slot[..frame.len()].copy_from_slice(frame);
                    frame.len()
                });
                rest = behind;
            }
            sink.submit()?;
        }
        drop(lengths);
        self.bytes.clear();
        Ok(())
    }
}
