//! When packets leave, as far as that can be told without a clock that others disturb.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::sink::Backend;
use linerate_transmit::{End, Plan, run};

use crate::common::*;

#[test]
fn a_time_at_a_rate_is_a_number_of_packets() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, &format!("IP(dst='{}')/UDP()", lab.host("b").ipv4()));
    for burst in [1, 8] {
        let pace = Pace { burst, ..Pace::new(Rate::Frames(2_000_000)) };
        let duration = Duration::from_millis(100);
        let plan = Plan { pace, count: None, duration: Some(duration), ..once(&template) };
        let (report, result) = send(a, Backend::Mmsg, &plan);
        result.unwrap();
        assert_eq!(report.end, Some(End::Time));
        assert_keeps_rate(&report, duration, Duration::from_micros(500), burst);
        assert!(report.elapsed >= Duration::from_millis(90), "{report:?}");
    }
}

#[test]
fn without_a_rate_the_time_ends_it() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, &format!("IP(dst='{}')/UDP()", lab.host("b").ipv4()));
    let duration = Some(Duration::from_millis(20));
    let plan = Plan { count: None, duration, ..once(&template) };
    let (report, result) = send(a, Backend::Ring, &plan);
    result.unwrap();
    assert_eq!(report.end, Some(End::Time));
    assert!(report.stats.sent > 0 && report.elapsed >= Duration::from_millis(20), "{report:?}");
}

#[test]
fn a_stop_ends_a_long_wait() {
    let Some(lab) = quiet_pair() else { return };
    let a = lab.host("a");
    let template = template(a, &format!("IP(dst='{}')/UDP()", lab.host("b").ipv4()));
    // One packet in 1000 seconds: the second is waited for.
    let plan = Plan { pace: Pace::new(Rate::Frames(1)), count: None, ..once(&template) };
    let mut opened =
        open_on(a, Some(Backend::Socket), 60).unwrap_or_else(|error| panic!("{error}"));
    a.run(|| {
        let asked = AtomicU32::new(0);
        let stop = |_| asked.fetch_add(1, Ordering::Relaxed) == 5;
        let (report, result) = run(&plan, &mut *opened.sink, &stop);
        result.unwrap();
        assert_eq!((report.end, report.stats.sent), (Some(End::Stopped), 1));
    });
}
