//! Without privileges, and after giving them up.

use linerate_base::ErrorKind;
use linerate_bpf::classic::Program;
use linerate_capture::{Backend, Config, Interrupt, open};
use linerate_lab::traffic::send_frames;
use linerate_sys::capability::{Capability, User, become_user, limit_capabilities};

use crate::common::*;
use crate::gate::{every_fourth, filter, padded};

#[test]
fn without_the_privilege_the_error_has_the_command_that_gives_it() {
    let config = Config::new("lo", Interrupt::new().unwrap());
    let error = std::thread::spawn(move || {
        limit_capabilities(&[]).unwrap();
        open(&config).map(drop).unwrap_err()
    });
    let error = error.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Permission);
    let program = std::env::current_exe().unwrap();
    let command =
        format!("sudo setcap cap_net_raw,cap_net_admin,cap_bpf+ep '{}'", program.display());
    assert!(error.to_string().contains(&command), "{error}");
}

#[test]
fn a_back_end_names_the_capability_that_it_lacks() {
    let Some(lab) = quiet_pair() else { return };
    use Capability::{Bpf, NetAdmin, NetRaw};
    let b = lab.host("b");
    for (backend, has, missing) in [
        (Backend::Tap, &[NetRaw, NetAdmin][..], "CAP_BPF"),
        (Backend::Tap, &[NetRaw, Bpf], "CAP_NET_ADMIN"),
        (Backend::TapXdp, &[NetRaw, NetAdmin], "CAP_BPF"),
        (Backend::TapXdp, &[NetRaw, Bpf], "CAP_NET_ADMIN"),
        (Backend::Xdp, &[NetRaw, NetAdmin], "CAP_BPF"),
        (Backend::Xdp, &[NetRaw, Bpf], "CAP_NET_ADMIN"),
        (Backend::Tap, &[NetAdmin, Bpf], "CAP_NET_RAW"),
        (Backend::Xdp, &[NetAdmin, Bpf], "CAP_NET_RAW"),
        (Backend::Ring, &[NetAdmin, Bpf], "CAP_NET_RAW"),
        (Backend::Socket, &[NetAdmin, Bpf], "CAP_NET_RAW"),
    ] {
        let error = b.run(|| {
            limit_capabilities(has).unwrap();
            open(&Config { force: true, ..config(b, backend) }).map(drop).unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::Permission, "{backend}: {error}");
        let lacks = format!("this process lacks {missing}; run it as root, or once: sudo setcap");
        assert!(error.to_string().contains(&lacks), "{backend}: {error}");
    }
}

#[test]
fn a_source_goes_on_without_privileges_and_its_counts_stay_exact() {
    let Some(lab) = quiet_pair() else { return };
    for backend in EACH {
        let filter = filter(Some(every_fourth()));
        let config = Config { filter, ..config(lab.host("b"), backend) };
        let mut capture = open_on(lab.host("b"), &config);
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                limit_capabilities(&[]).unwrap();
                assert_eq!(fetch(&mut capture.source, 25).len(), 25);
                let (_, stats) = finish(&mut capture.source);
                assert_eq!((stats.seen, stats.delivered), (100, 25), "{backend}");
            });
        });
    }
}

#[test]
fn without_cap_bpf_a_filter_works_and_says_that_it_does_not_count() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let config = Config { filter: filter(Some(every_fourth())), ..config(b, backend) };
        let mut capture = b.run(|| {
            limit_capabilities(&[Capability::NetRaw]).unwrap();
            open(&config).unwrap_or_else(|e| panic!("{e}"))
        });
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 25).len(), 25);
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered, stats.filtered), (25, 25, 0), "{backend}");
        assert!(stats.filtered_uncounted);
    }
}

#[test]
fn without_any_privilege_a_socket_still_gets_another_filter() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let mut capture = open_on(b, &config(b, backend));
        let keeper = capture.gatekeeper.take().expect("the kernel filters");
        let replace = |filter: Option<Program>| {
            let unprivileged = || {
                limit_capabilities(&[]).unwrap();
                keeper.replace(filter.as_ref())
            };
            std::thread::scope(|scope| scope.spawn(unprivileged).join().unwrap())
        };
        let mut comes = |expected| {
            send_frames(lab.host("a"), &frames(100, 60)).unwrap();
            assert_eq!(fetch(&mut capture.source, expected).len(), expected, "{backend}");
        };
        comes(100);
        replace(Some(every_fourth())).unwrap();
        comes(25);
        replace(None).unwrap();
        comes(100);
        replace(Some(every_fourth())).unwrap();
        // A program that the kernel does not take leaves the gate open.
        replace(Some(padded(&every_fourth()))).unwrap_err();
        comes(100);
        let (rest, stats) = finish(&mut capture.source);
        assert!(rest.is_empty() && stats.filtered_uncounted, "{backend}");
    }
}

#[test]
fn without_cap_bpf_a_filter_too_long_for_the_kernel_runs_in_user_space() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in BY_SOCKET {
        let config = Config { filter: filter(Some(padded(&every_fourth()))), ..config(b, backend) };
        let mut capture = b.run(|| {
            limit_capabilities(&[Capability::NetRaw]).unwrap();
            open(&config).unwrap_or_else(|e| panic!("{e}"))
        });
        let note = capture.notes.iter().find(|note| note.starts_with("filtering in user space: "));
        assert!(note.is_some_and(|note| note.contains("4096")), "{:?}", capture.notes);
        send_frames(lab.host("a"), &frames(100, 60)).unwrap();
        assert_eq!(fetch(&mut capture.source, 25).len(), 25);
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.filtered, stats.filtered_uncounted), (100, 75, false));
    }
}

const ROLE: &str = "LINERATE_CAPTURE_TEST_ROLE";

/// Runs itself again, as becoming another user is for a whole process and for good.
#[test]
fn a_process_that_became_another_user_reads_on_and_can_open_nothing() {
    if std::env::var_os(ROLE).is_some() {
        return become_nobody();
    }
    if !linerate_lab::need::root() {
        return;
    }
    let name = "privilege::a_process_that_became_another_user_reads_on_and_can_open_nothing";
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name]).env(ROLE, "nobody").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn become_nobody() {
    let lab = quiet_pair().unwrap();
    let b = lab.host("b");
    let captures = EACH.map(|backend| {
        open_on(b, &Config { filter: filter(Some(every_fourth())), ..config(b, backend) })
    });
    send_frames(lab.host("a"), &frames(100, 60)).unwrap();
    become_user(&User::named("nobody").unwrap().expect("every system has nobody")).unwrap();
    for mut capture in captures {
        assert_eq!(fetch(&mut capture.source, 25).len(), 25);
        let (_, stats) = finish(&mut capture.source);
        assert_eq!((stats.seen, stats.delivered), (100, 25));
    }
    let error = open(&Config::new("lo", Interrupt::new().unwrap())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission);
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let is = |name: &str, value: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.split_whitespace().skip(1).all(|word| word == value), "{line}");
    };
    for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
        is(set, "0000000000000000");
    }
    is("NoNewPrivs:", "1");
    assert!(!status.lines().any(|l| l.starts_with("Uid:") && l.split('\t').any(|id| id == "0")));
}
