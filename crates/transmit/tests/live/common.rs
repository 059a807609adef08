//! Labs, templates, and what arrives.

use std::time::Duration;

use linerate_base::{Packet, Result, Source};
use linerate_capture::{self as capture, Capture, Interrupt};
use linerate_lab::{Host, Lab, Offload, need};
use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::sink::{Backend, Config, Offloads, Opened, open};
use linerate_transmit::{Blocklist, Outlet, Plan, Report, Template, run};

/// A silent pair of hosts which take redirected frames, or `None` without root.
pub(crate) fn quiet_pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads();
    need::root().then(|| plan.offload(Offload::GenericReceive, true).build().unwrap())
}

/// Waits until the host has received as many packets since it had received `before`.
pub(crate) fn await_received(host: &Host, before: u64, count: u64) {
    let received = || host.counters().unwrap().received - before;
    for _ in 0..100 {
        if received() == count {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} received, not {count}", received());
}

/// The template, filled in as on the host's interface.
pub(crate) fn template(host: &Host, text: &str) -> Template {
    let compile = || {
        let outlet = Outlet::find(host.interface()).unwrap();
        Template::compile(text, &outlet, &Blocklist::default(), 7)
    };
    host.run(compile).unwrap_or_else(|error| panic!("{error}"))
}

/// A plan that sends a template once, as fast as it can.
pub(crate) fn once(template: &Template) -> Plan<'_> {
    let count = Some(u64::try_from(template.count()).unwrap());
    Plan { template, pace: Pace::new(Rate::Unlimited), count, duration: None, threads: 1 }
}

pub(crate) fn open_on(host: &Host, backend: Option<Backend>, longest: usize) -> Result<Opened> {
    let (interface, offloads) = (host.interface().into(), Offloads::default());
    let config = Config {
        interface,
        backend,
        queue: 0,
        slots: 256,
        longest,
        offloads,
        mark: None,
        alike: None,
    };
    host.run(|| open(&config))
}

/// Sends from the host by the back end.
pub(crate) fn send(host: &Host, backend: Backend, plan: &Plan<'_>) -> (Report, Result<()>) {
    let longest = plan.template.longest();
    let mut opened =
        open_on(host, Some(backend), longest).unwrap_or_else(|error| panic!("{error}"));
    host.run(|| {
        let (report, result) = run(plan, &mut *opened.sink, &|_| false);
        assert!(report.stats.balances(), "{report:?}");
        assert_eq!(report.stats.pending, 0, "{report:?}");
        (report, result)
    })
}

/// Everything that comes to the host from now on.
pub(crate) fn listen(host: &Host) -> Capture {
    host.run(|| listen_on(host.interface()))
}

/// Everything that comes to an interface of the calling thread's namespace from now on.
pub(crate) fn listen_on(interface: &str) -> Capture {
    let config = capture::Config {
        backend: Some(capture::Backend::Ring),
        direction: capture::Directions::In,
        buffer: 32 << 20,
        ..capture::Config::new(interface, Interrupt::new().unwrap())
    };
    capture::open(&config).unwrap_or_else(|error| panic!("{error}"))
}

/// What came, until there are `count` or nothing has come for long; and that no more came.
pub(crate) fn fetch(capture: &mut Capture, count: usize) -> Vec<Vec<u8>> {
    fetch_as(capture, count, |packet| packet.data.to_vec())
}

/// The same, of each packet what `take` takes of it.
pub(crate) fn fetch_as<T>(
    capture: &mut Capture,
    count: usize,
    take: impl Fn(Packet<'_>) -> T,
) -> Vec<T> {
    let mut packets = Vec::new();
    let mut silent = 0;
    while packets.len() < count && silent < 50 {
        let batch = capture.source.next_batch(Duration::from_millis(100)).unwrap().unwrap();
        silent = if batch.is_empty() { silent + 1 } else { 0 };
        packets.extend(batch.iter().map(&take));
    }
    capture.source.stop().unwrap();
    while let Some(batch) = capture.source.next_batch(Duration::ZERO).unwrap() {
        packets.extend(batch.iter().map(&take));
    }
    assert_eq!(capture.source.stats().unwrap().dropped, 0);
    packets
}

/// The packets that the template stands for, in order.
pub(crate) fn expected(template: &Template, count: u64) -> Vec<Vec<u8>> {
    let packet = |number| {
        let mut slot = vec![0; template.longest()];
        let length = template.fill(number, &mut slot);
        slot.truncate(length);
        slot
    };
    (0..count).map(packet).collect()
}

/// That all packets due in `duration` were sent, a burst of them in so many gaps. A machine that holds the sender up
/// makes it lose time, and at most the packets of that time.
pub(crate) fn assert_keeps_rate(report: &Report, duration: Duration, gap: Duration, burst: u32) {
    let packets = |time: Duration| {
        let bursts = time.as_nanos().div_ceil((gap * burst).as_nanos());
        bursts as u64 * u64::from(burst)
    };
    let fewest = packets(duration.saturating_sub(report.lost));
    assert!((fewest..=packets(duration)).contains(&report.stats.sent), "{report:?}");
}
