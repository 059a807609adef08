//! `linerate demo`: the main job, end to end, on hosts made for the purpose.

use std::io::Read;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use linerate::base::{Interface, LinkType, Source, Stats};
use linerate::capture::{self, Capture, Config, Interrupt};
use linerate::lab::{self, Host, Lab};
use linerate::sys::process;

use crate::args::{PrintArgs, SaveArgs};
use crate::exit::Outcome;
use crate::live::LiveLine;
use crate::pump::{Consumer, Pump};
use crate::save::SavePlan;
use crate::show::Printer;
use crate::signals::Requests;
use crate::summary::Form;
use crate::{compile, output, summary};

const FILTER: &str = "tcp port 80";
const PAGES: [&str; 3] = ["/", "/about", "/large"];
/// Packets that the filter is to turn away.
const DATAGRAMS: usize = 25;
/// Lines of the savefile that are shown.
const SHOWN: usize = 12;

pub(super) fn run() -> Result<Outcome> {
    become_root()?;
    let lab = Lab::plan().host("server").host("client").without_offloads().build()?;
    let (server, client) = (lab.host("server"), lab.host("client"));
    output::line(format_args!(
        "Two hosts on one wire: server {}, client {}.",
        server.ipv4(),
        client.ipv4()
    ))?;

    let folder = tempfile::tempdir().context("make a folder for the savefile")?;
    let file = folder.path().join("demo.pcapng");
    output::line(format_args!(
        "\n$ linerate capture -i {} -w demo.pcapng '{FILTER}'",
        server.interface()
    ))?;
    let stats = save(server, client, &file)?;
    output::line(summary::counters(&stats).trim_end())?;

    output::line("\n$ linerate read demo.pcapng")?;
    let read = show(&file)?;
    ensure!(read == stats.delivered, "read {read} packets of {} captured", stats.delivered);
    ensure!(stats.balances(), "the counters do not balance: {stats:?}");
    output::line(format_args!("\n{}", verdict(&stats)))?;
    Ok(Outcome::Success)
}

/// What the counters and the savefile have shown.
fn verdict(stats: &Stats) -> &'static str {
    if stats.filtered_uncounted {
        return "Every packet that the filter kept is accounted for, and all that were captured were read back;\n\
                how many the filter turned away is known with CAP_BPF only, as root has it.";
    }
    "Every packet is accounted for, and all that were captured were read back."
}

fn become_root() -> Result<()> {
    if process::effective_user() == 0 {
        return Ok(());
    }
    lab::become_root_in_user_namespace()
        .context("the demo makes hosts of its own; run it as root, or allow user namespaces")
}

/// Captures what the two hosts say to each other, to a savefile.
fn save(server: &Host, client: &Host, file: &Path) -> Result<Stats> {
    let interrupt = Interrupt::new()?;
    let mut capture = server.run(|| open(server, &interrupt))?;
    capture.notes.iter().try_for_each(output::line)?;
    output::line(format_args!(
        "listening on {}, back end {}",
        capture.interface.name, capture.backend
    ))?;
    let requests = Requests::default();
    thread::scope(|scope| {
        let talk = scope.spawn(|| {
            let result = talk(server, client);
            requests.request_stop();
            interrupt.trigger();
            result
        });
        let stats = record(&mut capture, file, requests.clone(), interrupt.clone());
        let talked = talk.join().unwrap_or_else(|_| Err(anyhow!("the hosts' thread panicked")));
        talked.and(stats)
    })
}

fn open(server: &Host, interrupt: &Interrupt) -> Result<Capture> {
    let options = compile::options(LinkType::ETHERNET, capture::MAX_SNAPLEN);
    let filter = compile::for_capture(FILTER, &options)?.filter;
    let config = Config::new(server.interface(), interrupt.clone());
    Ok(capture::open(&Config { filter: Some(filter), ..config })?)
}

fn record(
    capture: &mut Capture,
    file: &Path,
    requests: Requests,
    interrupt: Interrupt,
) -> Result<Stats> {
    let args = SaveArgs { write: Some(file.into()), ..SaveArgs::default() };
    let plan = SavePlan::new(&args)?.context("a savefile was named")?;
    let interface = Interface { filter: FILTER.into(), ..capture.interface.clone() };
    let mut saver = plan.open(&[interface], None)?;
    let (live, form) = (LiveLine::new(false), Form::Text { threads: false });
    let mut pump = Pump { requests, interrupt, limit: None, deadline: None, live, form };
    let (taken, result) = pump.run(&mut *capture.source, vec![&mut saver]);
    let stats = summary::settle(capture.source.stats()?, taken);
    saver.finish(Some(&stats))?;
    result.map(|()| stats)
}

/// A web server and a client, and packets of another kind.
fn talk(server: &Host, client: &Host) -> Result<()> {
    let (address, peer) = (server.ipv4(), client.ipv4());
    let web = server.run(|| tiny_http::Server::http((address, 80)));
    let web = Arc::new(web.map_err(|error| anyhow!("start the web server: {error}"))?);
    let serving = server.spawn({
        let web = web.clone();
        move || serve(&web)
    });
    let fetched = client.run(|| fetch(address).and_then(|()| chat(peer, address)));
    settle_down(server);
    web.unblock();
    serving.join().map_err(|_| anyhow!("the web server panicked"))?;
    fetched
}

fn serve(web: &tiny_http::Server) {
    for request in web.incoming_requests() {
        let body = match request.url() {
            "/large" => "linerate ".repeat(5000),
            path => format!("This is {path}\n"),
        };
        // A client that went away is the client's business.
        let _ = request.respond(tiny_http::Response::from_string(body));
    }
}

fn fetch(server: Ipv4Addr) -> Result<()> {
    for page in PAGES {
        let url = format!("http://{server}{page}");
        let mut body = String::new();
        let mut response = ureq::get(&url).call().with_context(|| format!("fetch {url}"))?;
        response.body_mut().as_reader().read_to_string(&mut body)?;
        output::line(format_args!(
            "client: GET {page} -> {}, {} bytes",
            response.status(),
            body.len()
        ))?;
    }
    Ok(())
}

fn chat(from: Ipv4Addr, to: Ipv4Addr) -> Result<()> {
    let socket = UdpSocket::bind((from, 0))?;
    for number in 0..DATAGRAMS {
        // The port is closed; its ICMP errors come back through the socket.
        let _ = socket.send_to(format!("datagram {number}").as_bytes(), (to, 9));
    }
    output::line(format_args!("client: {DATAGRAMS} datagrams that the filter is to turn away"))?;
    Ok(())
}

/// Waits until connections have closed and the wire is silent.
fn settle_down(host: &Host) {
    let patience = Instant::now() + Duration::from_secs(2);
    let mut seen = None;
    while Instant::now() < patience {
        let now = host.counters().ok().map(|counters| counters.received);
        if now.is_some() && now == std::mem::replace(&mut seen, now) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Prints the beginning of the savefile and counts all of it.
fn show(file: &Path) -> Result<u64> {
    let mut source = capture::open_file(file)?;
    let mut printer = Printer::new(&PrintArgs::default(), false);
    let mut count = 0;
    while let Some(batch) = source.next_batch(Duration::MAX)? {
        printer.batch(&batch.truncate(SHOWN.saturating_sub(count)))?;
        count += batch.len();
    }
    printer.idle()?;
    if count > SHOWN {
        output::line(format_args!("... and {} more", count - SHOWN))?;
    }
    Ok(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_is_not_said_to_be_accounted_for() {
        let counted = Stats::default();
        assert!(verdict(&counted).starts_with("Every packet is accounted for"));
        let uncounted = Stats { filtered_uncounted: true, ..counted };
        assert!(verdict(&uncounted).starts_with("Every packet that the filter kept is"));
    }
}
