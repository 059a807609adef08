//! A client by the kernel's sockets, as quick ones are written: none waits, and epoll tells which can go on.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::Result;
use linerate::sys::cpu;
use linerate::sys::epoll::{Epoll, Ready, connect, reset_on_close};

use super::exchange::{Ending, Exchange, REQUEST};
use super::ground::Ground;

/// Connections under way at once.
const AT_ONCE: usize = 512;
/// From the first connection until they count.
const WARM_UP: Duration = Duration::from_millis(200);
/// How long one may be under way: what was lost is sent again by the kernel after a second.
const GLANCE: Duration = Duration::from_millis(1);

/// Connections that were used to the end, a second.
pub(super) fn trial(ground: &Ground, case: Exchange, time: Duration) -> Result<f64> {
    let core = ground.client_core;
    ground.client().run(|| -> Result<f64> {
        cpu::pin(core)?;
        let mut caller = Caller::new(case)?;
        let began = Instant::now();
        while began.elapsed() < WARM_UP {
            caller.turn()?;
        }
        let (began, before) = (Instant::now(), caller.done);
        while began.elapsed() < time {
            caller.turn()?;
        }
        Ok((caller.done - before) as f64 / began.elapsed().as_secs_f64())
    })
}

struct Caller {
    case: Exchange,
    epoll: Epoll,
    /// By their numbers.
    calls: Vec<Option<Call>>,
    free: Vec<usize>,
    begun: u64,
    done: u64,
}

struct Call {
    stream: TcpStream,
    has_asked: bool,
}

impl Caller {
    fn new(case: Exchange) -> Result<Self> {
        let calls = (0..AT_ONCE).map(|_| None).collect();
        let free = (0..AT_ONCE).collect();
        Ok(Self { case, epoll: Epoll::new()?, calls, free, begun: 0, done: 0 })
    }

    fn turn(&mut self) -> Result<()> {
        self.begin()?;
        let ready: Vec<_> = self.epoll.wait(GLANCE)?.collect();
        ready.into_iter().try_for_each(|ready| self.go_on(ready))
    }

    fn begin(&mut self) -> Result<()> {
        while let Some(number) = self.free.pop() {
            let stream = match connect(self.case.destination(self.begun)) {
                // All ports are in use; some will not be soon.
                Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                    self.free.push(number);
                    return Ok(());
                }
                stream => stream?,
            };
            self.begun += 1;
            self.epoll.watch(&stream, number as u64)?;
            self.calls[number] = Some(Call { stream, has_asked: false });
        }
        Ok(())
    }

    fn go_on(&mut self, ready: Ready) -> Result<()> {
        let number = ready.key as usize;
        let Some(call) = &mut self.calls[number] else { return Ok(()) };
        if ready.failed && !call.has_asked {
            return self.end(number, false);
        }
        if !self.case.asks {
            return if ready.writable { self.end(number, true) } else { Ok(()) };
        }
        if ready.writable && !call.has_asked {
            call.has_asked = true;
            let _ = call.stream.write(REQUEST)?;
        }
        // The answer is one segment.
        match if ready.readable { call.stream.read(&mut [0; 4_096]) } else { return Ok(()) } {
            Ok(length) => self.end(number, length > 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(_) => self.end(number, false),
        }
    }

    fn end(&mut self, number: usize, is_done: bool) -> Result<()> {
        if let Some(call) = self.calls[number].take() {
            if self.case.ending == Ending::Rst {
                reset_on_close(&call.stream)?;
            }
            self.done += u64::from(is_done);
            self.free.push(number);
        }
        Ok(())
    }
}
