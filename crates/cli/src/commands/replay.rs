//! `linerate replay`: packets of savefiles, to an interface.

mod files;
mod portion;

use std::path::Path;

use anyhow::Result;
use linerate::base::Sink;
use linerate::capture::Interrupt;
use linerate::transmit::pacing::Pace;
use linerate::transmit::replay::{Frames, Plan, Replayer, Report, Rewrite, Speed, Timing};
use linerate::transmit::sink::{self, FileSink, Offloads};
use linerate::transmit::template::Surroundings;
use linerate::transmit::{BATCH, Outlet};

use self::files::Files;
use super::sending::{self, Facts, Replayed, Shown, Taker};
use crate::args::{AddressArgs, ReplayArgs};
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;

pub(super) fn run(args: &ReplayArgs) -> Result<Outcome> {
    let timing = timing(args)?;
    let queue = sending::queue(&args.outlet)?;
    let outlet = Outlet::find(&args.interface)?;
    if !args.outlet.sends_nothing() {
        sending::check_network(&args.interface, args.outlet.on_real_network, &outlet)?;
    }
    let most = args.outlet.show.unwrap_or(u64::MAX);
    let count = args.count.map_or(args.outlet.show, |count| Some(count.min(most)));
    let frames = frames(&args.addresses, args.pad, &outlet)?;
    let plan = Plan { frames, timing, count, duration: args.duration };
    let mut files = Files::new(args, plan.frames.addresses.is_some())?;
    match &args.outlet.write {
        _ if args.outlet.show.is_some() => show(args, &plan, &mut files),
        Some(path) => write(args, &plan, &mut files, path),
        None => send(args, &plan, &mut files, queue),
    }
}

/// When packets are to leave.
///
/// # Errors
/// Of usage, where that makes no sense.
fn timing(args: &ReplayArgs) -> Result<Timing> {
    let Some(rate) = args.rate else {
        let speed = args.speed.unwrap_or(Speed::RECORDED);
        return Ok(Timing::Recorded { speed, max_gap: args.max_gap });
    };
    let pace = Pace { burst: args.burst.unwrap_or(1), ..Pace::new(rate) };
    sending::check_pace(&pace)?;
    Ok(Timing::Paced(pace))
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
        blocklist: sending::blocklist(args.blocklist.as_deref())?,
    })
}

/// Memory for frames that wait for a device: enough of them where they are short, not too much where they are long.
const WAITING: usize = 8 << 20;

fn send(args: &ReplayArgs, plan: &Plan, files: &mut Files<'_>, queue: u32) -> Result<Outcome> {
    let longest = plan.frames.slot();
    let open = if plan.timing.is_fast() { sink::open_fast } else { sink::open };
    let mut opened = open(&sink::Config {
        interface: args.interface.clone(),
        backend: args.outlet.backend,
        queue,
        slots: (WAITING / longest).clamp(BATCH, 512),
        longest,
        offloads: Offloads { launches: !plan.timing.is_unlimited(), ..Offloads::default() },
        mark: None,
        alike: None,
    })?;
    opened.notes.iter().for_each(output::tell);
    let (backend, why) = (opened.backend.to_string(), opened.why);
    output::tell(format_args!("replaying on {}, back end {backend}: {why}", args.interface));
    let taker = Taker::BackEnd(&backend, opened.offloads);
    carry_out(args, plan, files, &mut *opened.sink, taker)
}

fn write(args: &ReplayArgs, plan: &Plan, files: &mut Files<'_>, path: &Path) -> Result<Outcome> {
    let mut file = FileSink::create(path, &args.interface, BATCH, plan.frames.slot())?;
    output::tell(format_args!("writing {}", path.display()));
    let ended = carry_out(args, plan, files, &mut file, Taker::Savefile);
    file.finish()?;
    ended
}

/// Prints the first packets as they would leave.
fn show(args: &ReplayArgs, plan: &Plan, files: &mut Files<'_>) -> Result<Outcome> {
    let mut shown = Shown::new(&args.print, &args.interface, plan.frames.slot());
    let (_, result) = play(plan, files, &mut shown)?;
    shown.finish()?;
    result?;
    Ok(Outcome::Success)
}

/// Sends until all is sent or the user wants an end, and says what was sent.
fn carry_out(
    args: &ReplayArgs,
    plan: &Plan,
    files: &mut Files<'_>,
    sink: &mut dyn Sink,
    taker: Taker<'_>,
) -> Result<Outcome> {
    let (report, result) = play(plan, files, sink)?;
    let replayed = Some(Replayed { counts: report.counts, filtered: files.filtered() });
    let (interface, asked) = (&args.interface, plan.timing);
    let facts = Facts { interface, taker, asked, seed: None, replayed };
    let told = sending::report(&report.sent, &facts, args.print.json);
    result?;
    told?;
    Ok(Outcome::Success)
}

/// What became of all packets, and what ended it before its time.
fn play(plan: &Plan, files: &mut Files<'_>, sink: &mut dyn Sink) -> Result<(Report, Result<()>)> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?)?;
    let mut replayer = Replayer::new(plan, sink)?;
    let played = files.play(&mut replayer, &requests);
    let (report, flushed) = replayer.finish(played.as_ref().ok().copied(), &mut || requests.stop());
    Ok((report, played.and(flushed.map_err(Into::into))))
}
