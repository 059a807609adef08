//! A client by our TCP: one thread, as `linerate connect` has it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use linerate::base::Timestamp;
use linerate::capture;
use linerate::sys::cpu;
use linerate::tcp::{Application, Client, Config, End, Flow, Local, Next, Refusal};
use linerate::transmit::space::Span;
use linerate::transmit::{Hops, Outlet};

use super::exchange::{Ending, Exchange, NETWORK, REQUEST};
use super::ground::{CROWD_BITS, Ground, OWN, OWN_BITS, open_sink, owning};
use crate::commands::connect::Wire;

/// Connections under way at once.
const AT_ONCE: u64 = 1_024;
/// From the first connection until they count.
const WARM_UP: Duration = Duration::from_millis(200);
/// If nothing ends for so long, what is under way is lost.
const PATIENCE: Duration = Duration::from_millis(20);
/// Bytes of memory for packets that came.
const BUFFER: u64 = 16 << 20;
/// The first port that is used, and how many.
const FIRST_PORT: u16 = 1_024;
const PORTS: u64 = 64_000;

/// Connections that were used to the end, a second.
pub(super) fn trial(ground: &Ground, case: Exchange, time: Duration) -> Result<f64> {
    let core = ground.client_core;
    ground.client().run(|| -> Result<f64> {
        cpu::pin(core)?;
        let mut wire = open(ground)?;
        let mut caller = Caller { case, done: 0, failed: 0 };
        let mut begun = 0;
        let mut run = |caller: &mut Caller, time: Duration| -> Result<f64> {
            let (began, before) = (Instant::now(), caller.done);
            while began.elapsed() < time {
                turn(&mut wire, caller, &mut begun)?;
            }
            Ok((caller.done - before) as f64 / began.elapsed().as_secs_f64())
        };
        run(&mut caller, WARM_UP)?;
        run(&mut caller, time)
    })
}

fn turn(wire: &mut Wire, caller: &mut Caller, begun: &mut u64) -> Result<()> {
    let case = caller.case;
    let (under_way, over) = (begun.saturating_sub(caller.over()), caller.over());
    let is_full = under_way >= AT_ONCE;
    wire.turn(if is_full { PATIENCE } else { Duration::ZERO }, caller)?;
    if is_full && caller.over() == over {
        caller.failed += under_way;
    }
    let until = caller.over() + AT_ONCE;
    wire.ask(|_, hops| {
        let number = *begun;
        let destination = SocketAddr::from(case.destination(number));
        let next_hop = hops.known(destination.ip()).filter(|_| number < until);
        let Some(next_hop) = next_hop else { return Ok(None) };
        *begun += 1;
        let turn = case.turn(number);
        let local = (turn / PORTS) as usize % locals();
        let door = (local, FIRST_PORT + (turn % PORTS) as u16);
        Ok(Some((door, destination, next_hop)))
    })?;
    Ok(())
}

fn locals() -> usize {
    1 << (32 - OWN_BITS)
}

fn open(ground: &Ground) -> Result<Wire> {
    let a = ground.client();
    let own = format!("{OWN}/{OWN_BITS}").parse().map_err(|e| anyhow!("{e}"))?;
    let capture = capture::open(&capture::Config { buffer: BUFFER, ..owning(a, own)? })?;
    let local = |number: usize| Local {
        address: IpAddr::V4(Ipv4Addr::from_bits(OWN.to_bits() + number as u32)),
        ports: FIRST_PORT..=u16::MAX,
        mac: a.mac(),
    };
    let config = Config {
        linger: Duration::from_millis(500),
        partial_checksums: true,
        ..Config::new((0..locals()).map(local).collect(), [7; 16])
    };
    let client = Client::new(config, Timestamp::EPOCH)?;
    let network = Span::prefix(NETWORK.to_bits().into(), CROWD_BITS.into(), 32);
    let hops = Hops::find(&Outlet::find(a.interface())?, [&[network], &[]])?;
    Ok(Wire::new(client, hops, capture.source, open_sink(a)?))
}

/// Counts connections.
struct Caller {
    case: Exchange,
    done: u64,
    failed: u64,
}

impl Caller {
    fn over(&self) -> u64 {
        self.done + self.failed
    }

    fn finish(&mut self) -> Next {
        match self.case.ending {
            Ending::Rst => Next::Abort,
            Ending::Fin => Next::Close,
        }
    }
}

impl Application for Caller {
    fn opened(&mut self, _: u32, _: &Flow, _: Option<Duration>) -> Next {
        if self.case.asks { Next::Send(REQUEST.len() as u32) } else { self.finish() }
    }

    fn write(&mut self, _: u32, _: &Flow, offset: u32, into: &mut [u8]) {
        into.copy_from_slice(&REQUEST[offset as usize..][..into.len()]);
    }

    /// The answer is one segment.
    fn received(&mut self, _: u32, _: &[u8]) -> Next {
        self.finish()
    }

    fn ended(&mut self, _: u32, _: &Flow, end: End) {
        match end {
            End::Closed | End::Aborted => self.done += 1,
            End::Reset | End::Silent | End::Expired => self.failed += 1,
        }
    }

    fn refused(&mut self, _: &Flow, _: Refusal) {
        self.failed += 1;
    }
}
