//! AF_XDP: the capture has what its filter keeps, and the host the rest.

use std::net::UdpSocket;
use std::time::Duration;

use linerate_lab::traffic::Flow;

use crate::support::{Live, count, quiet_pair, text};

#[test]
fn what_the_filter_keeps_is_captured_and_the_rest_is_the_hosts() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(b, &["--backend", "xdp", "-w", text(&file), "udp port 7"]);
    let [own, hosts] = [7, 8].map(|port| b.run(|| UdpSocket::bind((b.ipv4(), port)).unwrap()));
    Flow::ipv4(a, b, 5000, 7).send_frames(1000, 100).unwrap();
    Flow::ipv4(a, b, 5000, 8).send_frames(100, 100).unwrap();
    hosts.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..100 {
        assert_eq!(hosts.recv(&mut [0; 200]).expect("the host's packet"), 100);
    }
    own.set_nonblocking(true).unwrap();
    assert!(own.recv(&mut [0; 200]).is_err(), "the host got a packet that the filter keeps");
    let done = live.interrupt().success();
    assert_eq!((done.captured(), count(&file)), (1000, 1000), "{done:?}");
    assert_eq!([done.summary("seen"), done.summary("filtered")], [1100, 100], "{done:?}");
    assert!(done.stderr.contains("do not reach the host's own stack"), "{done:?}");
}
