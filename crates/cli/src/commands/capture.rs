//! `linerate capture`: a live interface to lines, or to savefiles.

use std::io::{self, IsTerminal};
use std::net::Ipv4Addr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use linerate::base::{Interface, LinkType, Stats, Timestamp};
use linerate::capture::{self, Backend, Capture, Config, Directions, Interrupt};
use linerate::sys::capability::{self, User};

use crate::args::{CaptureArgs, DirectionArg, InterfacesArgs};
use crate::commands::{filter, interfaces};
use crate::exit::{Outcome, usage};
use crate::live::LiveLine;
use crate::pump::{Consumer, Pump};
use crate::save::{SavePlan, Saver};
use crate::show::Printer;
use crate::signals::Requests;
use crate::{compile, expression, output, summary};

pub(super) fn run(args: &CaptureArgs) -> Result<Outcome> {
    if args.list_interfaces {
        return interfaces::run(&InterfacesArgs::default());
    }
    let plan = Plan::new(args)?;
    if args.list_link_types {
        return interfaces::link_types(&plan.config.interface);
    }
    if args.dump > 0 {
        return plan.dump(args);
    }
    plan.carry_out(args)
}

/// What the flags mean together.
struct Plan {
    config: Config,
    notes: Vec<String>,
    text: String,
    save: Option<SavePlan>,
    prints: bool,
    user: Option<User>,
}

impl Plan {
    fn new(args: &CaptureArgs) -> Result<Self> {
        let mut notes = Vec::new();
        let interface = interface(args, &mut notes)?;
        let link_type = link_type(args, &interface)?;
        let text = expression::text(&args.filter, args.filter_file.as_deref())?;
        let save = SavePlan::new(&args.save)?;
        let prints = save.is_none() || args.save.print;
        let mut config = config(args, interface)?;
        config.link_type = Some(link_type);
        config.immediate |= args.save.packet_buffered || prints && io::stdout().is_terminal();
        if !text.trim().is_empty() {
            let netmask = Some(netmask(&config.interface));
            let (filter, note) = compile::for_capture(&text, link_type, config.snaplen, netmask)?;
            config.filter = Some(filter);
            notes.extend(note);
        }
        if !prints && args.print.asks() {
            notes.push("packets are saved, not printed: --print does both".into());
        }
        let user = args.user.as_deref().map(user).transpose()?;
        Ok(Self { config, notes, text, save, prints, user })
    }

    /// `-d`: the program as it will run, as tcpdump shows it.
    fn dump(&self, args: &CaptureArgs) -> Result<Outcome> {
        self.notes.iter().for_each(output::tell);
        let format = filter::format(args.dump);
        match &self.config.filter {
            Some(filter) => {
                output::text(filter.kernel.as_ref().unwrap_or(&filter.user).text(format))?;
            }
            None => {
                let options = compile::options(LinkType::ETHERNET, self.config.snaplen);
                output::text(compile::compile("", &options)?.program().text(format))?;
            }
        }
        Ok(Outcome::Success)
    }

    fn carry_out(self, args: &CaptureArgs) -> Result<Outcome> {
        let mut capture = capture::open(&self.config)?;
        if let Some(user) = &self.user {
            let asked = || format!("go on as user {}", args.user.as_deref().unwrap_or_default());
            capability::become_user(user).with_context(asked)?;
        }
        let interfaces = [Interface { filter: self.text, ..capture.interface.clone() }];
        let saver = self.save.map(|plan| plan.open(&interfaces, Some(now()))).transpose();
        let mut saver = match &args.user {
            Some(user) => saver.with_context(|| format!("as user {user}"))?,
            None => saver?,
        };
        let requests = Requests::default();
        requests.watch(self.config.interrupt.clone())?;
        announce(&capture, &self.notes);
        let mut printer = self.prints.then(|| Printer::new(&args.print, true));
        let mut pump = Pump {
            requests,
            interrupt: self.config.interrupt,
            limit: args.count,
            deadline: args.duration.map(|span| Instant::now() + span),
            live: LiveLine::new(!self.prints),
        };
        let mut consumers: Vec<&mut dyn Consumer> = Vec::new();
        consumers.extend(printer.as_mut().map(|printer| printer as _));
        consumers.extend(saver.as_mut().map(|saver| saver as _));
        let (taken, result) = pump.run(&mut *capture.source, &mut consumers);
        let shown = printer.as_mut().map_or(Ok(()), Consumer::idle);
        let (stats, saved) = settle(&mut capture, taken, saver.as_mut())?;
        summary::report(&stats, &mut pump.live);
        if let Some(saver) = &saver {
            summary::report_overwritten(&saver.totals());
        }
        result.and(shown).and(saved)?;
        Ok(if args.strict && summary::lost(&stats) { Outcome::Lost } else { Outcome::Success })
    }
}

/// The counters at the end: captured means printed, or written where packets were to be saved.
fn settle(
    capture: &mut Capture,
    taken: u64,
    saver: Option<&mut Saver>,
) -> Result<(Stats, Result<()>)> {
    let stats = capture.source.stats();
    let Some(saver) = saver else { return Ok((summary::settle(stats?, taken), Ok(()))) };
    // What was captured is written out even where there are no counters to go with it.
    let recorded = stats.as_ref().ok().map(|stats| summary::settle(*stats, taken));
    let saved = saver.finish(recorded.as_ref());
    Ok((summary::settle(stats?, saver.totals().written.packets), saved))
}

fn announce(capture: &Capture, notes: &[String]) {
    for note in notes.iter().chain(&capture.notes) {
        output::tell(note);
    }
    let Interface { name, link_type, snaplen, .. } = &capture.interface;
    let described = link_type.description().map_or(String::new(), |text| format!(" ({text})"));
    output::tell(format_args!(
        "listening on {name}, link type {link_type}{described}, \
         snaplen {snaplen} bytes, back end {}",
        capture.backend
    ));
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH + since
}

fn config(args: &CaptureArgs, interface: String) -> Result<Config> {
    let backend = args.backend.as_deref().map(str::parse::<Backend>).transpose().map_err(usage)?;
    Ok(Config {
        backend,
        snaplen: args.snaplen,
        promiscuous: !args.no_promiscuous,
        direction: match args.direction {
            DirectionArg::In => Directions::In,
            DirectionArg::Out => Directions::Out,
            DirectionArg::Inout => Directions::Both,
        },
        buffer: args.buffer,
        immediate: args.immediate,
        ..Config::new(interface, Interrupt::new()?)
    })
}

/// The interface asked for, or the first one that is up and no loopback, with a note that says so.
fn interface(args: &CaptureArgs, notes: &mut Vec<String>) -> Result<String> {
    if let Some(name) = &args.interface {
        return numbered(name);
    }
    let all = capture::interfaces()?;
    let up = all.iter().filter_map(|c| c.interface.as_ref()).filter(|i| i.is_running);
    let first = up.into_iter().find(|i| !i.is_loopback);
    let first = first.ok_or_else(|| usage("no interface is up: name one with -i"))?;
    notes.push(format!("no interface named; taking {}", first.name));
    Ok(first.name.clone())
}

/// A number stands for the line of `-D` that begins with it, as with tcpdump.
fn numbered(name: &str) -> Result<String> {
    let Ok(number) = name.parse::<usize>() else { return Ok(name.into()) };
    let all = capture::interfaces()?;
    let found = number.checked_sub(1).and_then(|at| all.get(at));
    Ok(found.map_or_else(|| name.into(), |capturable| capturable.name.clone()))
}

fn link_type(args: &CaptureArgs, interface: &str) -> Result<LinkType> {
    let offered = capture::link_types(interface)?;
    let Some(name) = &args.link_type else { return Ok(offered[0]) };
    let wanted = LinkType::from_name(name).filter(|wanted| offered.contains(wanted));
    wanted.ok_or_else(|| {
        let names: Vec<_> = offered.iter().map(ToString::to_string).collect();
        usage(format!("{interface} has no link type {name}; it has {}", names.join(", ")))
    })
}

/// The mask of the interface's first IPv4 network; of one without, as tcpdump has it, 0.0.0.0.
fn netmask(interface: &str) -> Ipv4Addr {
    let all = capture::interfaces().unwrap_or_default();
    let found = all.iter().filter_map(|c| c.interface.as_ref()).find(|i| i.name == interface);
    let first = found.and_then(|i| i.addresses.iter().find(|address| address.ip.is_ipv4()));
    let prefix = first.map_or(0, |address| u32::from(address.prefix));
    Ipv4Addr::from(u32::MAX.checked_shl(32 - prefix).unwrap_or(0))
}

fn user(name: &str) -> Result<User> {
    let found = User::named(name).with_context(|| format!("look up the user {name}"))?;
    found.ok_or_else(|| usage(format!("there is no user `{name}`")))
}
