//! `linerate replay`: packets of savefiles, to an interface.

mod files;
mod progress;
mod summary;

use std::path::Path;

use anyhow::Result;
use linerate::base::Sink;
use linerate::capture::Interrupt;
use linerate::transmit::pacing::Pace;
use linerate::transmit::replay::{Frames, Plan, Replayer, Rewrite, Speed, Timing};
use linerate::transmit::sink::{self, FileSink};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{BATCH, Outlet};

use self::files::Files;
use super::way_out;
use crate::args::{AddressArgs, ReplayArgs};
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;

pub(super) fn run(args: &ReplayArgs) -> Result<Outcome> {
    let outlet = Outlet::find(&args.interface)?;
    if args.write.is_none() {
        way_out::check_network(&args.interface, args.on_real_network, &outlet)?;
    }
    let plan = Plan {
        frames: frames(&args.addresses, args.pad, &outlet)?,
        timing: timing(args),
        count: args.count,
        duration: args.duration,
        at_once: args.write.is_some(),
    };
    let mut files = Files::new(args, plan.frames.addresses.is_some())?;
    match &args.write {
        Some(path) => write(args, &plan, &mut files, path),
        None => send(args, &plan, &mut files),
    }
}

fn timing(args: &ReplayArgs) -> Timing {
    match (args.rate, args.speed) {
        (Some(rate), _) => Timing::Paced(Pace::new(rate)),
        (None, speed) => {
            let speed = speed.unwrap_or(Speed::RECORDED);
            Timing::Recorded { speed, max_gap: args.max_gap }
        }
    }
}

fn frames(args: &AddressArgs, pad: bool, outlet: &Outlet) -> Result<Frames> {
    let rewrite = Rewrite {
        mac_source: args.mac_src,
        mac_destination: args.mac_dst,
        maps: args.maps.clone(),
    };
    let source = args.mac_src.unwrap_or_else(|| outlet.mac());
    Ok(Frames {
        rewrite,
        pad,
        longest: outlet.longest(),
        addresses: args.mac_dst.map(|destination| [destination, source]),
        blocklist: way_out::blocklist(args.blocklist.as_deref())?,
    })
}

/// Memory for frames that wait for a device: enough of them where they are short, not too much where they are long.
const WAITING: usize = 8 << 20;

fn send(args: &ReplayArgs, plan: &Plan, files: &mut Files<'_>) -> Result<Outcome> {
    let longest = plan.frames.slot();
    let open = if plan.timing.is_fast() { sink::open_fast } else { sink::open };
    let mut opened = open(&sink::Config {
        interface: args.interface.clone(),
        backend: args.backend,
        queue: 0,
        slots: (WAITING / longest).clamp(BATCH, 512),
        longest,
    })?;
    opened.notes.iter().for_each(output::tell);
    carry_out(args, plan, files, &mut *opened.sink, &opened.backend.to_string())
}

fn write(args: &ReplayArgs, plan: &Plan, files: &mut Files<'_>, path: &Path) -> Result<Outcome> {
    let mut file = FileSink::create(path, &args.interface, BATCH, plan.frames.slot())?;
    let ended = carry_out(args, plan, files, &mut file, "file");
    file.finish()?;
    ended
}

/// Sends until all is sent or the user wants an end, and says what was sent.
fn carry_out(
    args: &ReplayArgs,
    plan: &Plan,
    files: &mut Files<'_>,
    sink: &mut dyn Sink,
    backend: &str,
) -> Result<Outcome> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?)?;
    output::tell(format_args!("replaying on {}, back end {backend}", args.interface));
    let mut replayer = Replayer::new(plan, sink)?;
    let played = files.play(&mut replayer, &requests);
    let (report, flushed) = replayer.finish(played.as_ref().ok().copied(), &mut || requests.stop());
    let facts = summary::Facts {
        interface: &args.interface,
        backend,
        timing: plan.timing,
        filtered: files.filtered(),
    };
    summary::report(&report, &facts, args.json);
    played?;
    flushed?;
    Ok(Outcome::Success)
}
