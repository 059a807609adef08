//! Programs run on packets that no interface received: `BPF_PROG_TEST_RUN`.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use linerate_base::{Error, Result};

use super::{Program, bpf, command};

/// What an XDP program is shown of a packet beside its bytes, `struct xdp_md` of `linux/bpf.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct XdpContext {
    /// Where the packet begins, after metadata of as many bytes.
    pub data: u32,
    /// Where it ends. Since Linux 6.18, what follows in the given bytes lies in further buffers.
    pub data_end: u32,
    /// Not settable: 0.
    pub data_meta: u32,
    /// Index of the interface that received it; 0: the loopback interface.
    pub ingress_ifindex: u32,
    /// The interface's receive queue.
    pub rx_queue_index: u32,
    /// Not settable: 0.
    pub egress_ifindex: u32,
}

impl XdpContext {
    /// The context of a packet of `length` bytes.
    pub fn new(length: u32) -> Self {
        Self { data_end: length, ..Self::default() }
    }

    /// Its bytes, as [`TestRun::context`] takes them.
    pub fn to_bytes(self) -> Vec<u8> {
        let Self { data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex } =
            self;
        [data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex]
            .iter()
            .flat_map(|field| field.to_ne_bytes())
            .collect()
    }
}

/// A program run on a packet.
#[derive(Clone, Copy, Debug)]
pub struct TestRun<'a> {
    /// The packet, at least an Ethernet header.
    pub data: &'a [u8],
    /// `struct xdp_md` ([`XdpContext`]) or `struct __sk_buff`; empty for one made from the packet.
    pub context: &'a [u8],
    /// How often it is run on it, at least once.
    pub repeat: u32,
}

impl<'a> TestRun<'a> {
    /// Once, on this packet.
    pub fn once(data: &'a [u8]) -> Self {
        Self { data, context: &[], repeat: 1 }
    }
}

/// What a program made of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// What it returned; -1 is `u32::MAX`.
    pub verdict: u32,
    /// The packet as it left it.
    pub data: Vec<u8>,
    /// Mean time of one run.
    pub duration: Duration,
}

/// Frames that are sent through a program into the network stack and to interfaces, as if they
/// were received: `BPF_F_TEST_XDP_LIVE_FRAMES` (Linux 5.18).
///
/// A program that changes frames finds them as it left them when they come by again.
#[derive(Clone, Copy, Debug)]
pub struct LiveRun<'a> {
    /// The frame, at least an Ethernet header and at most some 3,400 bytes.
    pub frame: &'a [u8],
    /// Index of the interface that seems to receive it, in the calling thread's namespace; 0: the
    /// loopback interface. It must run XDP.
    pub interface: u32,
    /// How many frames.
    pub repeat: u32,
    /// How many at a time, at most 256; 0: 64.
    pub batch: u32,
}

/// How live frames ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveEnd {
    /// All have gone through the program.
    Complete,
    /// A signal came first (EINTR).
    Interrupted,
}

/// `BPF_PROG_TEST_RUN`'s part of `union bpf_attr`.
#[repr(C)]
#[derive(Default)]
struct RunAttributes {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    /// Nanoseconds.
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    padding: u32,
}

/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;

/// How much a program may make a packet longer.
const GROWTH: usize = 4096;

impl Program {
    /// Runs the program on one packet, which goes nowhere.
    ///
    /// # Errors
    /// When the packet is too short or too long, or the context holds what cannot be set.
    pub fn test_run(&self, run: &TestRun<'_>) -> Result<TestResult> {
        let mut data = vec![0; run.data.len() + GROWTH];
        let mut attributes = RunAttributes {
            data_size_out: data.len() as u32,
            data_out: data.as_mut_ptr() as u64,
            repeat: run.repeat,
            ..self.run_attributes(run.data, run.context)
        };
        // SAFETY: the attributes are those of BPF_PROG_TEST_RUN; packet and context are borrowed
        // during the call, and the kernel writes no more to `data` than the size says.
        let done = unsafe { bpf(command::PROG_TEST_RUN, &mut attributes) };
        done.map_err(|e| self.run_failed("run", e))?;
        data.truncate(attributes.data_size_out as usize);
        let duration = Duration::from_nanos(attributes.duration.into());
        Ok(TestResult { verdict: attributes.retval, data, duration })
    }

    /// Sends frames through the program, an XDP one, and waits until all are through.
    ///
    /// # Errors
    /// As the kernel answers, number included ([`Error::raw_os_error`]): EINVAL for a frame or batch that
    /// is too large or an interface without XDP, EAGAIN when it is worth another try.
    pub fn live_run(&self, run: &LiveRun<'_>) -> Result<LiveEnd> {
        let length = run.frame.len() as u32;
        let context =
            XdpContext { ingress_ifindex: run.interface, ..XdpContext::new(length) }.to_bytes();
        let mut attributes = RunAttributes {
            repeat: run.repeat,
            flags: LIVE_FRAMES,
            batch_size: run.batch,
            ..self.run_attributes(run.frame, &context)
        };
        // SAFETY: the attributes are those of BPF_PROG_TEST_RUN; frame and context are borrowed
        // during the call, and the kernel writes nothing back.
        match unsafe { bpf(command::PROG_TEST_RUN, &mut attributes) } {
            Ok(_) => Ok(LiveEnd::Complete),
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => Ok(LiveEnd::Interrupted),
            Err(e) => Err(self.run_failed("send live frames through", e)),
        }
    }

    fn run_attributes(&self, data: &[u8], context: &[u8]) -> RunAttributes {
        RunAttributes {
            prog_fd: self.as_fd().as_raw_fd() as u32,
            data_size_in: data.len() as u32,
            data_in: data.as_ptr() as u64,
            ctx_size_in: context.len() as u32,
            ctx_in: if context.is_empty() { 0 } else { context.as_ptr() as u64 },
            ..RunAttributes::default()
        }
    }

    fn run_failed(&self, what: &str, error: io::Error) -> Error {
        Error::system(format!("{what} the BPF program {}", self.name()), error)
    }
}

const _: () = assert!(size_of::<RunAttributes>() == 80);
const _: () = assert!(size_of::<XdpContext>() == 24);
