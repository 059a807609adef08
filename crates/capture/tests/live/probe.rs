//! What is said of an interface is what happens on it.

use linerate_capture::{Backend, Capturable, Config, Prober, interfaces, open};
use linerate_lab::Host;
use linerate_sys::capability::Capability::{self, Bpf, NetAdmin, NetRaw};
use linerate_sys::capability::limit_capabilities;

use crate::common::*;

fn capturable(host: &Host) -> Capturable {
    let mut all = host.run(|| interfaces().unwrap()).into_iter();
    all.find(|capturable| capturable.name == host.interface()).unwrap()
}

#[test]
fn a_capture_takes_the_back_end_that_was_foretold() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let capturable = capturable(b);
    let sets: [&[Capability]; 4] = [&[NetRaw], &[NetRaw, Bpf], &[NetRaw, NetAdmin, Bpf], &[]];
    for kept in sets {
        b.run(|| {
            limit_capabilities(kept).unwrap();
            let probe = Prober::new().probe(&capturable);
            let config = Config { backend: None, ..config(b, Backend::Socket) };
            let opened = open(&config).ok().map(|capture| capture.backend);
            assert_eq!(probe.chosen, opened, "{kept:?}: {probe:?}");
        });
    }
}
