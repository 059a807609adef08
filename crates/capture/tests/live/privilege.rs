//! Without privileges, and after giving them up.

use linerate_base::ErrorKind;
use linerate_capture::{Backend, Config, Interrupt, open};
use linerate_lab::traffic::send_frames;
use linerate_sys::capability::drop_capabilities;

use crate::common::*;

#[test]
fn without_the_privilege_the_error_has_the_command_that_gives_it() {
    let config = Config::new("lo", Interrupt::new().unwrap());
    let error = std::thread::spawn(move || {
        drop_capabilities().unwrap();
        open(&config).map(drop).unwrap_err()
    });
    let error = error.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Permission);
    let program = std::env::current_exe().unwrap();
    let command = format!("sudo setcap cap_net_raw,cap_bpf+ep '{}'", program.display());
    assert!(error.to_string().contains(&command), "{error}");
}

#[test]
fn a_source_goes_on_without_privileges_and_its_counts_stay_exact() {
    let Some(lab) = quiet_pair() else { return };
    for backend in Backend::ALL {
        let mut capture = open_on(lab.host("b"), &config(lab.host("b"), backend));
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                drop_capabilities().unwrap();
                assert_eq!(fetch(&mut capture.source, 100).len(), 100);
                let (_, stats) = finish(&mut capture.source);
                assert_eq!((stats.seen, stats.delivered), (100, 100), "{backend}");
            });
        });
    }
}
