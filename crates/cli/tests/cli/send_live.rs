//! Live frames, through the command line.

use std::collections::HashSet;
use std::path::Path;

use ::linerate::sys::{cpu, ethtool};
use linerate_lab::{Host, Lab, Offload, need};

use crate::send::sent_to;
use crate::support::{COMPLAINTS, live_pair, tshark};

/// That in the file are `count` packets, without fault, of which no two have the same in these fields.
fn assert_unique(file: &Path, fields: &[&str], count: usize) {
    let found = tshark(file, "udp", fields);
    let unique: HashSet<_> = found.iter().collect();
    assert_eq!((found.len(), unique.len()), (count, count));
    assert_eq!(tshark(file, COMPLAINTS, &["frame.number"]), [""; 0]);
}

/// Packets that the driver has taken from each of two queues.
fn by_queue(host: &Host) -> [u64; 2] {
    let counters = host.run(|| ethtool::statistics(host.interface())).expect("counters");
    ["rx_queue_0_xdp_packets", "rx_queue_1_xdp_packets"].map(|name| {
        let found = counters.iter().find(|(counter, _)| counter == name);
        found.unwrap_or_else(|| panic!("no {name} among {counters:?}")).1
    })
}

#[test]
fn two_threads_send_each_combination_once_by_two_queues() {
    if !need::root() || !need::program("tshark", "tshark") {
        return;
    }
    let threads = cpu::allowed().expect("cores").len().min(2);
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().queues(2);
    let lab = plan.offload(Offload::GenericReceive, true).build().expect("a lab");
    let b = lab.host("b");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let before = by_queue(b);
    let packets =
        "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=permute(\"10.64.0.0/20\"))/UDP(sport=[7, 8])";
    let args = ["--threads", &threads.to_string(), "-r", "300kpps", packets];
    let done = sent_to(&lab, &file, &args);
    assert!(done.stderr.contains("back end live"), "{done:?}");
    assert_eq!(done.summary("packets sent"), 8192, "{done:?}");
    let after = by_queue(b);
    let taken = [0, 1].map(|queue| after[queue] - before[queue]);
    assert_eq!(taken.iter().sum::<u64>(), 8192);
    assert!(threads == 1 || taken == [4096; 2], "{taken:?}: the sending core decides");
    assert_unique(&file, &["ip.dst", "udp.srcport"], 8192);
}

#[test]
fn two_threads_share_the_packets_by_every_way_out() {
    if !need::root() || !need::program("tshark", "tshark") {
        return;
    }
    let threads = cpu::allowed().expect("cores").len().min(2).to_string();
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads().queues(2);
    let lab = plan.build().expect("a lab");
    let folder = tempfile::tempdir().unwrap();
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=permute(\"10.64.0.0/21\"))/UDP(sport=9, dport=9)/Raw(size=random(0-900))";
    for backend in ["xdp", "ring", "mmsg", "socket"] {
        let file = folder.path().join(format!("{backend}.pcapng"));
        let args = ["--backend", backend, "--threads", &threads, "-r", "20k", "--json", packets];
        let done = sent_to(&lab, &file, &args);
        let summary = done.json();
        assert_eq!((&summary["sent"], &summary["end"]), (&2048.into(), &"complete".into()));
        assert_unique(&file, &["ip.dst"], 2048);
    }
}

#[test]
fn frames_of_user_space_have_any_size() {
    let Some(lab) = live_pair() else { return };
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=permute(\"10.64.0.0/20\"))/UDP(sport=9, dport=9)/Raw(size=random(0-1472))";
    let done = sent_to(&lab, &file, &["--backend", "live", "-r", "300kpps", packets]);
    let note = "user space makes the packets, not the kernel: its size varies";
    assert!(done.stderr.contains(note) && done.stderr.contains("back end live"), "{done:?}");
    assert_eq!(done.summary("packets sent"), 4096, "{done:?}");
    assert_unique(&file, &["ip.dst"], 4096);
    let sizes: HashSet<_> = tshark(&file, "udp", &["frame.len"]).into_iter().collect();
    assert!(sizes.len() > 1000, "{} sizes", sizes.len());
}
