//! Programs that others wrote, each with the settings with which it is fastest.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use linerate::base::Sink as _;
use linerate::transmit::sink::FileSink;

use super::ground::{Device, Ground};
use super::packets::{Packets, Protocol, SIZE};
use crate::bench::peer::version;
use crate::output;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Trafgen,
    Tcpreplay,
    Masscan,
    Zmap,
}

/// Packets after which it ends in any case.
const MOST: u64 = 100_000_000;

/// Frames in tcpreplay's file: as many destinations as fit its memory and the processor's cache alike.
const FILE: u64 = 65_536;

impl Peer {
    pub(super) const ALL: [Self; 4] = [Self::Trafgen, Self::Tcpreplay, Self::Masscan, Self::Zmap];

    /// The program's name and the Debian package that has it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Trafgen => ("trafgen", "netsniff-ng"),
            Self::Tcpreplay => ("tcpreplay", "tcpreplay"),
            Self::Masscan => ("masscan", "masscan"),
            Self::Zmap => ("zmap", "zmap"),
        }
    }

    /// The name with the version; where it is not installed, says how to get it.
    pub(super) fn full_name(self) -> Option<String> {
        let (name, package) = self.names();
        let version = version(name);
        if version.is_none() {
            output::tell(format_args!("without {name}: `apt install {package}` installs it"));
        }
        Some(format!("{name} {}", version?))
    }

    /// True for packets that it can send.
    pub(super) fn can_send(self, packets: Packets, device: Device) -> bool {
        match self {
            Self::Trafgen | Self::Tcpreplay => true,
            Self::Masscan => {
                packets.unique && packets.protocol == Protocol::Syn && device == Device::Veth
            }
            Self::Zmap => packets.unique && device == Device::Veth,
        }
    }

    /// Its command line, as one would type it, sending from a core; what it reads is in `folder`.
    pub(super) fn line(
        self,
        core: usize,
        packets: Packets,
        device: Device,
        folder: &Path,
    ) -> String {
        let network = format!("{}/10", device.network());
        let interface = device.name();
        let file = folder.join(self.file());
        let file = file.display();
        match self {
            // --no-sock-mem and -Q: it leaves the machine's settings alone.
            Self::Trafgen => {
                format!("trafgen -i {file} -o {interface} -P 1 --no-sock-mem -Q -C -n {MOST}")
            }
            Self::Tcpreplay => format!(
                "tcpreplay --topspeed --preload-pcap --loop={} -i {interface} {file}",
                MOST / FILE
            ),
            Self::Masscan => format!(
                "masscan {network} -p80 -e {interface} --source-ip 10.0.0.1 --source-port 1024 \
                 --router-mac 02-00-00-00-00-02 --rate 100000000 --wait 0"
            ),
            Self::Zmap => {
                let module = match packets.protocol {
                    Protocol::Udp => format!("udp --probe-args=hex:{}", "00".repeat(SIZE - 42)),
                    Protocol::Syn => "tcp_synscan".into(),
                };
                format!(
                    "zmap {network} -M {module} -p 80 -s 1024 -i {interface} -S 10.0.0.1 \
                     -G 02:00:00:00:00:02 -B 100G -T 1 --cores={core} -c 1 -b {file} -o /dev/null -q \
                     --disable-syslog"
                )
            }
        }
    }

    /// What the file is called that it reads.
    fn file(self) -> &'static str {
        match self {
            Self::Trafgen => "trafgen.cfg",
            Self::Tcpreplay => "packets.pcap",
            Self::Masscan | Self::Zmap => "blocklist",
        }
    }

    /// Puts what it reads into `folder`.
    pub(super) fn prepare(
        self,
        ground: &Ground,
        packets: Packets,
        device: Device,
        folder: &Path,
    ) -> Result<()> {
        let file = folder.join(self.file());
        match self {
            Self::Trafgen => {
                let frame = &packets.frames(ground, device, 1)?[0];
                Ok(fs::write(&file, trafgen(frame, packets))?)
            }
            Self::Tcpreplay => write_file(ground, packets, device, &file),
            // Nothing is blocked: the one that zmap brings names all private networks.
            Self::Masscan | Self::Zmap => Ok(fs::write(&file, "")?),
        }
    }
}

/// trafgen's own language: the frame's bytes; of unique destinations three are random, for it counts no further than
/// a byte, and the checksums follow.
fn trafgen(frame: &[u8], packets: Packets) -> String {
    let mut bytes: Vec<_> = frame.iter().map(|byte| format!("{byte:#04x}")).collect();
    if packets.unique {
        let checksum = match packets.protocol {
            Protocol::Udp => (40, "csumudp(14, 34)"),
            Protocol::Syn => (50, "csumtcp(14, 34)"),
        };
        // What is replaced comes last first, as the rest then stays where it is.
        for (at, count, text) in
            [(checksum.0, 2, checksum.1), (31, 3, "drnd(3)"), (24, 2, "csumip(14, 33)")]
        {
            bytes.splice(at..at + count, [text.into()]);
        }
    }
    let mut text = String::from("{\n");
    for line in bytes.chunks(12) {
        let _ = writeln!(text, "  {},", line.join(", "));
    }
    text + "}\n"
}

fn write_file(ground: &Ground, packets: Packets, device: Device, path: &Path) -> Result<()> {
    let frames = packets.frames(ground, device, FILE)?;
    let mut file = FileSink::create(path, device.name(), 1, SIZE)?;
    for frame in frames {
        file.acquire(1)?.push(|slot| {
            slot[..frame.len()].copy_from_slice(&frame);
            frame.len()
        });
        file.submit()?;
    }
    Ok(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_unique_frames_trafgen_makes_destination_and_checksums() {
        let frame: Vec<u8> = (0..60).collect();
        let [one, unique] = [1, 3].map(|i| trafgen(&frame, Packets::ALL[i - 1]));
        assert_eq!(one.matches("0x").count(), 60);
        assert!(one.starts_with("{\n  0x00, 0x01,"), "{one}");
        assert_eq!(unique.matches("0x").count(), 60, "{unique}");
        let unique = trafgen(&frame, Packets::ALL[3]);
        assert_eq!(unique.matches("0x").count(), 60 - 2 - 3 - 2, "{unique}");
        let unique = unique.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unique.contains("0x17, csumip(14, 33), 0x1a,"), "{unique}");
        assert!(unique.contains("0x1e, drnd(3), 0x22,"), "{unique}");
        assert!(unique.contains("0x31, csumtcp(14, 34), 0x34,"), "{unique}");
    }
}
