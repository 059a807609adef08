//! `linerate capture`: a live interface to lines, or to savefiles.

mod running;
mod simulated;
mod split;

use std::io::{self, IsTerminal};
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use linerate::base::LinkType;
use linerate::bpf::classic::Program;
use linerate::capture::{self, Backend, Config, Interrupt, Owned, Prefix};
use linerate::filter::Options;
use linerate::sys::capability::User;

use crate::args::{CaptureArgs, InterfacesArgs, SimulateArg};
use crate::commands::{filter, interfaces};
use crate::exit::{Outcome, usage};
use crate::save::SavePlan;
use crate::units::Threads;
use crate::{compile, expression, output};
use split::Split;

pub(super) fn run(args: &CaptureArgs) -> Result<Outcome> {
    if args.list_interfaces {
        return interfaces::run(&InterfacesArgs::default());
    }
    if args.simulate.simulate == Some(SimulateArg::Capture) {
        return simulated::run(args);
    }
    let plan = Plan::new(args)?;
    if args.list_link_types {
        return interfaces::link_types(&plan.config.interface);
    }
    if args.dump > 0 {
        return plan.dump(args);
    }
    running::run(plan, args)
}

/// What the flags mean together.
struct Plan {
    config: Config,
    /// The filter's, for `-d`.
    program: Option<Program>,
    notes: Vec<String>,
    text: String,
    save: Option<SavePlan>,
    split: Option<Split>,
    prints: bool,
    user: Option<User>,
    threads: usize,
    /// Threads hand their packets over in the order of their times.
    ordered: bool,
}

impl Plan {
    fn new(args: &CaptureArgs) -> Result<Self> {
        let mut notes = Vec::new();
        let interface = interface(args, &mut notes)?;
        let link_type = link_type(args, &interface)?;
        let text = expression::text(&args.filter, args.filter_file.as_deref())?;
        let mut save = SavePlan::new(&args.save)?;
        let discards = args.simulate.simulate == Some(SimulateArg::Disk);
        if discards {
            save = save.map(SavePlan::discarding);
            notes.push("simulating the disk: nothing will be written".into());
        }
        let mut config = config(args, interface)?;
        let netmask = Some(netmask(&config.interface));
        let options = Options { netmask, ..compile::options(link_type, config.snaplen) };
        let options = args.language.of(options);
        let split = Split::new(&args.split, &options)?;
        let prints = save.is_none() && split.is_none() || args.save.print;
        config.link_type = Some(link_type);
        config.immediate |= args.save.packet_buffered || prints && io::stdout().is_terminal();
        let mut program = None;
        if !text.trim().is_empty() {
            let compiled = compile::for_capture(&text, &options)?;
            config.filter = Some(compiled.filter);
            program = Some(compiled.program);
            notes.extend(compiled.note);
        }
        if !prints && args.print.asks() {
            notes.push("packets are saved, not printed: --print does both".into());
        }
        let user = args.user.as_deref().map(user).transpose()?;
        let threads = match args.threads {
            Threads::Count(count) => count,
            Threads::Auto => capture::best_threads(&config.interface)?,
        };
        // Each thread makes its own table of all interfaces; merging makes one of them.
        let ordered = args.ordered || config.interface == capture::ANY;
        Ok(Self { config, program, notes, text, save, split, prints, user, threads, ordered })
    }

    /// `-d`: the program as it will run, as tcpdump shows it.
    fn dump(&self, args: &CaptureArgs) -> Result<Outcome> {
        self.notes.iter().for_each(output::tell);
        let format = filter::format(args.dump);
        match &self.program {
            Some(program) => output::text(program.text(format))?,
            None => {
                let options = compile::options(LinkType::ETHERNET, self.config.snaplen);
                output::text(compile::compile("", &options)?.program().text(format))?;
            }
        }
        Ok(Outcome::Success)
    }
}

fn config(args: &CaptureArgs, interface: String) -> Result<Config> {
    Ok(Config {
        backend: args.backend.map(Backend::from),
        snaplen: args.snaplen,
        promiscuous: !args.no_promiscuous,
        direction: args.direction.into(),
        buffer: args.buffer,
        immediate: args.immediate,
        exclusive: args.exclusive,
        force: args.force,
        owned: owned(&args.own)?,
        busy_poll: args.busy_poll,
        timestamps: args.timestamps.into(),
        ..Config::new(interface, Interrupt::new()?)
    })
}

fn owned(prefixes: &[Prefix]) -> Result<Option<Owned>> {
    let set = (!prefixes.is_empty()).then(|| Owned::new(prefixes));
    Ok(set.transpose()?)
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
pub(super) fn netmask(interface: &str) -> Ipv4Addr {
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
