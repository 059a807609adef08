//! `--simulate`: one half of the work, to learn what it sustains.

use std::time::{Duration, Instant};

use anyhow::Result;
use linerate::base::Source;
use linerate::capture::Interrupt;
use linerate::capture::synthetic::{Load, MIXED, Synthetic};
use linerate::savefile::Totals;

use super::running::now;
use crate::args::CaptureArgs;
use crate::exit::{Outcome, usage};
use crate::live::LiveLine;
use crate::output;
use crate::pump::{Consumer, Pump};
use crate::save::SavePlan;
use crate::signals::Requests;
use crate::summary::{self, Form, Summary};
use crate::units::{grouped, volume};

/// `--simulate capture`: made-up packets go to the disk.
pub(super) fn run(args: &CaptureArgs) -> Result<Outcome> {
    if args.interface.is_some() || !args.filter.is_empty() || args.save.print {
        return Err(usage(
            "--simulate capture makes its packets up: it takes no -i, filter or --print",
        ));
    }
    let Some(save) = SavePlan::new(&args.save)? else {
        return Err(usage("--simulate needs the name of a savefile: -w"));
    };
    let interrupt = Interrupt::new()?;
    let mut source = Synthetic::new(&load(args), interrupt.clone());
    let mut saver = save.open(source.interfaces(), Some(now()))?;
    let requests = Requests::default();
    requests.watch(interrupt.clone())?;
    output::tell("simulating a capture: the packets are made up");
    let began = Instant::now();
    let deadline = args.duration.map(|span| began + span);
    let live = LiveLine::new(true);
    let form = Form::Text { threads: false };
    let mut pump = Pump { requests, interrupt, limit: args.count, deadline, live, form };
    let (taken, result) = pump.run(&mut source, vec![&mut saver]);
    let stats = summary::settle(source.stats()?, taken);
    let saved = saver.finish(Some(&stats));
    let totals = saver.totals();
    let summary = Summary {
        sum: summary::settle(source.stats()?, totals.written.packets),
        stalls: saver.stalls(),
        overwritten: totals.overwritten,
        ..Summary::default()
    };
    summary::report(&summary, &pump.form, &mut pump.live);
    report("simulated: the packets were made up", &totals, began.elapsed());
    result.and(saved)?;
    Ok(if args.strict && summary::lost(&summary.sum) { Outcome::Lost } else { Outcome::Success })
}

fn load(args: &CaptureArgs) -> Load {
    let sizes = args.simulate.simulate_size.map_or(MIXED.to_vec(), |size| vec![size]);
    Load { sizes, rate: args.simulate.simulate_rate, buffer: args.buffer }
}

/// Says how fast the half that was no simulation was.
pub(super) fn report(what: &str, totals: &Totals, span: Duration) {
    let (written, seconds) = (totals.written, span.as_secs_f64());
    let per_second = |count: u64| count as f64 / seconds;
    output::tell(format_args!(
        "{what}; {} packets and {} of savefile in {seconds:.1} s: {} packets/s, {}/s",
        grouped(written.packets),
        volume(written.bytes as f64),
        grouped(per_second(written.packets) as u64),
        volume(per_second(written.bytes)),
    ));
}
