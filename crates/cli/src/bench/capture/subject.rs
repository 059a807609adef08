//! Who receives: nobody, a program that drops, our back ends, the peers.

use std::ffi::OsString;
use std::time::Duration;

use linerate::sys::libpcap::Libpcap;

use super::INTERFACE;
use crate::bench::peer::version;

/// The buffer that everybody gets where none else is told, in MiB.
pub(in crate::bench) const BUFFER: u64 = 64;

/// One who receives.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Subject {
    pub(in crate::bench) name: String,
    pub(in crate::bench) kind: Kind,
}

impl Subject {
    /// The program, of one that captures.
    pub(in crate::bench) fn capture(&self) -> Option<&Capture> {
        match &self.kind {
            Kind::Capture(capture) => Some(capture),
            Kind::Stack | Kind::Drop => None,
        }
    }

    /// True when the host's stack gets the packets.
    pub(in crate::bench) fn passes(&self) -> bool {
        match &self.kind {
            Kind::Stack => true,
            Kind::Drop => false,
            Kind::Capture(capture) => capture.passes,
        }
    }
}

/// What runs on the receiving host.
#[derive(Clone, Debug)]
pub(in crate::bench) enum Kind {
    /// Nothing: the host's stack takes the packets.
    Stack,
    /// An XDP program that drops every packet.
    Drop,
    /// A program that captures.
    Capture(Capture),
}

/// A program that captures, and how it tells what it does.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Capture {
    /// The program and its arguments.
    pub(in crate::bench) line: Vec<OsString>,
    /// What it writes when it has begun.
    ready: &'static str,
    /// How long it may sleep while there are packets in its buffer.
    pub(in crate::bench) nap: Duration,
    /// The words that the count of captured packets stands beside.
    count: Count,
    /// The host's stack gets the packets, too.
    passes: bool,
}

#[derive(Clone, Copy, Debug)]
enum Count {
    Before(&'static str),
    After(&'static str),
}

impl Capture {
    /// True when what it wrote says that it has begun.
    pub(in crate::bench) fn has_begun(&self, text: &str) -> bool {
        text.contains(self.ready)
    }

    /// The packets that it says it captured.
    pub(in crate::bench) fn captured(&self, text: &str) -> Option<u64> {
        match self.count {
            Count::Before(words) => number(text[..text.find(words)?].split_whitespace().last()?),
            Count::After(words) => {
                number(text[text.find(words)? + words.len()..].split_whitespace().next()?)
            }
        }
    }

    /// The command line, as one would type it.
    pub(in crate::bench) fn text(&self) -> String {
        let words: Vec<_> = self.line.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }
}

/// A number, its digits perhaps grouped by commas.
fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

/// All there are, in the order of the table.
pub(in crate::bench) fn all() -> Vec<Subject> {
    let mut subjects = vec![
        Subject { name: FLOOR.into(), kind: Kind::Drop },
        Subject { name: STACK.into(), kind: Kind::Stack },
    ];
    const NOWHERE: &str = "/dev/null";
    let ours = OURS.iter().map(|(name, flags, passes)| ours(name, flags, *passes, BUFFER, NOWHERE));
    subjects.extend(ours);
    let peers = [tcpdump(BUFFER, NOWHERE), dumpcap(NOWHERE), netsniff(NOWHERE)];
    subjects.extend(peers.into_iter().flatten());
    subjects
}

/// Names of those that others are compared with.
pub(in crate::bench) const FLOOR: &str = "XDP_DROP";
pub(in crate::bench) const STACK: &str = "no capture";
pub(in crate::bench) const RING: &str = "linerate ring";
pub(in crate::bench) const TCPDUMP: &str = "tcpdump";

/// Name, flags, and whether the host's stack gets the packets.
const OURS: &[(&str, &[&str], bool)] = &[
    ("linerate tap-xdp exclusive", &["--backend", "tap-xdp", "--exclusive", "--force"], false),
    (
        "linerate tap-xdp exclusive sampled",
        &["--backend", "tap-xdp", "--exclusive", "--force", "--timestamps", "sampled"],
        false,
    ),
    (
        "linerate tap-xdp exclusive tsc",
        &["--backend", "tap-xdp", "--exclusive", "--force", "--timestamps", "tsc"],
        false,
    ),
    ("linerate tap-xdp", &["--backend", "tap-xdp"], true),
    ("linerate tap-xdp sampled", &["--backend", "tap-xdp", "--timestamps", "sampled"], true),
    ("linerate tap", &["--backend", "tap"], true),
    ("linerate tap sampled", &["--backend", "tap", "--timestamps", "sampled"], true),
    ("linerate xdp", &["--backend", "xdp", "--force"], false),
    (RING, &["--backend", "ring"], true),
    ("linerate socket", &["--backend", "socket"], true),
];

/// Ourselves, with a buffer of `buffer` MiB, writing to `file`.
pub(in crate::bench) fn ours(
    name: &str,
    flags: &[&str],
    passes: bool,
    buffer: u64,
    file: &str,
) -> Subject {
    let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
    let buffer = format!("{buffer}M");
    let mut line = vec![program.into_os_string()];
    line.extend(["capture", "-i", INTERFACE, "-B", &buffer, "-w", file].map(Into::into));
    line.extend(flags.iter().map(Into::into));
    let capture = Capture {
        line,
        ready: "listening on",
        nap: Duration::from_millis(200),
        count: Count::Before(" packets captured"),
        passes,
    };
    Subject { name: name.into(), kind: Kind::Capture(capture) }
}

/// The installed libpcap by a reader that does nothing else (`linerate libpcap`); `None` where there is none.
pub(in crate::bench) fn libpcap(name: &str, buffer: u64, file: &str) -> Option<Subject> {
    Libpcap::load().ok()?;
    let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
    let buffer = format!("{buffer}M");
    let mut line = vec![program.into_os_string()];
    line.extend(["libpcap", "-i", INTERFACE, "-B", &buffer, "-w", file].map(Into::into));
    let capture = Capture {
        line,
        ready: "listening on",
        nap: Duration::from_millis(300),
        count: Count::Before(" packets captured"),
        passes: true,
    };
    Some(Subject { name: name.into(), kind: Kind::Capture(capture) })
}

/// With a buffer of `buffer` MiB.
pub(in crate::bench) fn tcpdump(buffer: u64, file: &str) -> Option<Subject> {
    tcpdump_with(buffer, &[], file)
}

/// The same with further flags.
pub(in crate::bench) fn tcpdump_with(buffer: u64, flags: &[&str], file: &str) -> Option<Subject> {
    let buffer = (buffer << 10).to_string();
    let mut arguments =
        vec!["tcpdump", "-i", INTERFACE, "-n", "-B", &buffer, "-Z", "root", "-w", file];
    arguments.extend(flags);
    peer(&arguments, "listening on", Duration::from_millis(1200), " packets captured")
}

pub(in crate::bench) fn dumpcap(file: &str) -> Option<Subject> {
    let buffer = BUFFER.to_string();
    let arguments = ["dumpcap", "-q", "-i", INTERFACE, "-B", &buffer, "-w", file];
    let subject = peer(&arguments, "File: ", Duration::from_millis(600), "")?;
    Some(counted(subject, Count::After("Packets captured: ")))
}

pub(in crate::bench) fn netsniff(file: &str) -> Option<Subject> {
    let buffer = format!("{BUFFER}MiB");
    // -A and -Q: it leaves the machine's settings alone.
    let arguments = ["netsniff-ng", "-i", INTERFACE, "-o", file, "-s", "-A", "-Q", "-S", &buffer];
    peer(&arguments, "Running!", Duration::from_millis(600), "packets passed filter")
}

fn counted(mut subject: Subject, count: Count) -> Subject {
    if let Kind::Capture(capture) = &mut subject.kind {
        capture.count = count;
    }
    subject
}

/// A program that others wrote, named with its version; `None` where it is not installed.
fn peer(line: &[&str], ready: &'static str, nap: Duration, count: &'static str) -> Option<Subject> {
    let name = format!("{} {}", line[0], version(line[0])?);
    let line = line.iter().map(Into::into).collect();
    let capture = Capture { line, ready, nap, count: Count::Before(count), passes: true };
    Some(Subject { name, kind: Kind::Capture(capture) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(count: Count) -> Capture {
        let Subject { kind: Kind::Capture(capture), .. } = ours("us", &[], true, BUFFER, "f")
        else {
            unreachable!("ours capture");
        };
        Capture { count, ..capture }
    }

    #[test]
    fn counts_are_found_in_what_the_programs_say() {
        let tcpdump = "12 packets captured\n13 packets received by filter\n";
        let linerate = "linerate: listening on wire0\n1,234,567 packets captured\n";
        let netsniff = "\n        99  packets incoming (0 unread on exit)\n        \
                        99  packets passed filter\n";
        let dumpcap = "Packets captured: 77\nPackets received/dropped on interface";
        let before = capture(Count::Before(" packets captured"));
        assert_eq!(before.captured(tcpdump), Some(12));
        assert_eq!(before.captured(linerate), Some(1_234_567));
        assert_eq!(before.captured("no such thing"), None);
        let passed = capture(Count::Before("packets passed filter"));
        assert_eq!(passed.captured(netsniff), Some(99));
        assert_eq!(capture(Count::After("Packets captured: ")).captured(dumpcap), Some(77));
    }
}
