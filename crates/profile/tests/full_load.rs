//! A capture by TPACKET_V3 under full load: what samples say agrees with what the kernel accounts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use linerate_base::Source;
use linerate_capture::{Backend, Config, Interrupt};
use linerate_lab::traffic::live::{Frame, Load, Sender};
use linerate_lab::{Lab, Offload, need};
use linerate_profile::path::Component;
use linerate_profile::sampling::{Classifier, Samples, Sampling, Stacks};
use linerate_sys::{task, usage};

/// More than can be sent in [`LOOKS`] times [`EVERY`].
const PACKETS: u64 = 40_000_000;
const LOOKS: u32 = 50;
const EVERY: Duration = Duration::from_millis(50);

/// Takes all packets until told to end; the processor time that it used.
fn capture(config: &Config, is_over: &AtomicBool) -> Duration {
    let mut capture = linerate_capture::open(config).expect("a capture");
    while !is_over.load(Ordering::Relaxed) {
        let _ = capture.source.next_batch(Duration::from_millis(20)).expect("a batch");
    }
    usage::of_this_thread()
}

/// Samples under load; the time that sender and capture used meanwhile, and the packets sent.
fn sample(lab: &Lab) -> (Samples, Duration, u64) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut config = Config::new(b.interface(), Interrupt::new().expect("an interrupt"));
    config.backend = Some(Backend::Ring);
    let is_over = AtomicBool::new(false);
    let mut sampling = Sampling::start(Stacks::Kernel).expect("samples");
    let load =
        Load { limit: Duration::from_secs(30), ..Load::new(Frame::mirrored(a, b, 60), PACKETS) };
    let (used, packets) = thread::scope(|scope| {
        let taking = scope.spawn(|| b.run(|| capture(&config, &is_over)));
        let sender = Sender::start(a, b, &load).expect("a load");
        for _ in 0..LOOKS {
            thread::sleep(EVERY);
            sampling.collect();
        }
        sender.stop().expect("stopped");
        let report = sender.finish().expect("balanced");
        is_over.store(true, Ordering::Relaxed);
        (report.cpu + taking.join().expect("no panic"), report.packets)
    });
    (sampling.finish().expect("samples"), used, packets)
}

#[test]
fn nearly_all_samples_are_classified_and_sum_to_what_the_kernel_accounts() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("a").host("b").quiet().offload(Offload::GenericReceive, true);
    let lab = plan.build().expect("a lab");
    let (samples, used, packets) = sample(&lab);
    assert_eq!(samples.lost, 0);
    let (own, classifier) = (std::process::id(), Classifier::new().expect("symbols"));
    // Sender and capture are threads of this process, and the load's packets may be received by a kernel thread.
    let is_ours = |process: u32| process == own || task::name(process).starts_with("ksoftirqd/0");
    let mut ours = samples.clone();
    ours.stacks.retain(|stack, _| is_ours(stack.process));
    let weights = classifier.weigh(&ours, &[own]);
    assert!(weights.classified() >= 0.9, "{weights:?}");
    assert!(weights.share(Component::Tap) > 0.02, "{weights:?}");
    assert!(weights.share(Component::Allocation) > 0.02, "{weights:?}");
    // Components, and the sending of the packets, are all that was done.
    let sampled = weights.total() + weights.elsewhere.values().sum::<u64>();
    let sampled = sampled as f64 * samples.unit() * 1e-9;
    let (measured, each) = (used.as_secs_f64(), 1e9 / packets as f64);
    let told = format!("{:.0} and {:.0} ns a packet: {weights:?}", sampled * each, measured * each);
    assert!((sampled / measured - 1.0).abs() < 0.1, "{told}");
    println!("{told}");
}
