//! The installed libpcap, or what `LD_LIBRARY_PATH` has in its place, loaded at run time: the peer that tests and benches
//! compare with.
//!
//! Nothing of linerate needs it to work: [`Libpcap::load`] finds it or says what to install.
//! libpcap counts link types as it does in savefiles here, raw IP (101) included, though its own
//! functions take another number for that.
//! Sources: `pcap(3PCAP)`, `pcap/pcap.h` and `pcap/bpf.h` of libpcap 1.10.

mod compile;
mod handle;
mod program;
mod savefile;
mod saving;
mod send;
mod symbols;

use std::ffi::CStr;
use std::net::Ipv4Addr;

use linerate_base::Result;

pub use compile::Interface;
pub use program::Program;
pub use saving::Saving;
pub use send::SendQueue;
use symbols::Symbols;

/// A loaded libpcap. It stays loaded to the end of the process; copies share it.
#[derive(Clone, Copy, Debug)]
pub struct Libpcap {
    symbols: Symbols,
}

/// What a filter is compiled for.
#[derive(Clone, Copy, Debug)]
pub struct CompileFor {
    /// What the first byte of a packet means: a number as in savefiles.
    pub link_type: u16,
    /// What the program returns for packets that it keeps, in bytes. libpcap refuses 0.
    pub snaplen: u32,
    /// Whether libpcap's optimiser runs.
    pub optimise: bool,
    /// The mask of the local network, which `ip broadcast` needs.
    pub netmask: Option<Ipv4Addr>,
}

impl Libpcap {
    /// Loads the installed libpcap.
    ///
    /// # Errors
    /// When none is installed, or one without the functions used here.
    pub fn load() -> Result<Self> {
        Ok(Self { symbols: Symbols::load()? })
    }

    /// What it says of itself: `libpcap version 1.10.3 (with TPACKET_V3)`.
    pub fn version(&self) -> String {
        // SAFETY: pcap_lib_version(3PCAP) takes nothing and returns a string that stays valid.
        let version = unsafe { CStr::from_ptr((self.symbols.pcap_lib_version)()) };
        version.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::socket_filter::SockFilter;

    const ETHERNET: CompileFor =
        CompileFor { link_type: 1, snaplen: 1000, optimise: true, netmask: None };

    /// Where libpcap is missing, the tests here say so and pass, in CI they fail.
    fn libpcap() -> Option<Libpcap> {
        let loaded = Libpcap::load();
        if let Err(error) = &loaded {
            assert!(std::env::var_os("CI").is_none(), "{error}");
            // Straight to standard error, past the test harness.
            let _ = writeln!(std::io::stderr(), "SKIPPED {error}");
        }
        loaded.ok()
    }

    #[test]
    fn it_compiles_and_runs_filters() {
        let Some(libpcap) = libpcap() else { return };
        assert!(libpcap.version().starts_with("libpcap version 1."));
        let program = libpcap.compile("ether[0] = 7", &ETHERNET).expect("compiled");
        assert_eq!(program.instructions().len(), 4);
        assert_eq!(program.instructions()[2], SockFilter { code: 6, jt: 0, jf: 0, k: 1000 });
        assert_eq!(program.listing().lines().next(), Some("(000) ldb      [0]"));
        assert_eq!([program.verdict(&[7], 1), program.verdict(&[8], 1)], [1000, 0]);
        assert_eq!(program.verdict(&[], 60), 0);
    }

    #[test]
    fn its_words_on_a_wrong_filter_come_through() {
        let Some(libpcap) = libpcap() else { return };
        let error = libpcap.compile("tcp prot 80", &ETHERNET).expect_err("no such word");
        assert!(error.answered().contains("syntax error"), "{error}");
        libpcap.compile("ip broadcast", &ETHERNET).expect_err("no netmask");
        let netmask = Some(Ipv4Addr::new(255, 255, 255, 0));
        let program = libpcap.compile("ip broadcast", &CompileFor { netmask, ..ETHERNET });
        assert!(program.expect("compiled").listing().contains("jset     #0xff "));
    }

    #[test]
    fn raw_ip_goes_by_its_savefile_number() {
        let Some(libpcap) = libpcap() else { return };
        let raw = CompileFor { link_type: 101, ..ETHERNET };
        let program = libpcap.compile("ip", &raw).expect("compiled");
        assert_eq!([program.verdict(&[0x45], 1), program.verdict(&[0x60], 1)], [1000, 0]);
    }

    #[test]
    fn savefiles_have_a_language_of_their_own() {
        let Some(libpcap) = libpcap() else { return };
        libpcap.compile("inbound", &ETHERNET).expect("asks the kernel");
        libpcap.compile_for_savefile("inbound", &ETHERNET).expect_err("nobody to ask");
        let program = libpcap.compile_for_savefile("tcp", &ETHERNET).expect("compiled");
        assert_eq!(program.verdict(&[0; 60], 60), 0);
    }

    #[test]
    fn an_interface_tells_its_vlan_tags() {
        let Some(libpcap) = libpcap() else { return };
        libpcap.open_interface("no such interface", 1000).map(drop).expect_err("not there");
        let Ok(loopback) = libpcap.open_interface("lo", 1000) else {
            assert_ne!(crate::process::effective_user(), 0, "root may open it");
            return;
        };
        let program = loopback.compile("vlan 7", &ETHERNET).expect("compiled");
        assert!(program.listing().contains("[vlanp]"), "{}", program.listing());
    }

    #[test]
    fn it_captures_to_a_savefile() {
        let Some(libpcap) = libpcap() else { return };
        let file = tempfile::NamedTempFile::new().expect("a file");
        libpcap.save("no such interface", 1 << 20, file.path()).map(drop).expect_err("not there");
        let Ok(mut saving) = libpcap.save("lo", 1 << 20, file.path()) else {
            assert_ne!(crate::process::effective_user(), 0, "root may open it");
            return;
        };
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut taken = 0;
        while taken < 5 {
            socket.send_to(b"packet", socket.local_addr().unwrap()).expect("sent");
            taken += saving.take().expect("captured");
        }
        drop(saving);
        assert_eq!(libpcap.count(file.path(), None).expect("counted"), taken);
    }

    #[test]
    fn only_checked_programs_run() {
        let Some(libpcap) = libpcap() else { return };
        let scratch = SockFilter { code: 0x60, k: 16, ..SockFilter::default() };
        let end = SockFilter { code: 0x16, ..SockFilter::default() };
        libpcap.program(vec![]).expect_err("empty");
        libpcap.program(vec![scratch, end]).expect_err("no such scratch word");
        assert_eq!(libpcap.program(vec![end]).expect("valid").verdict(&[1], 1), 0);
    }

    #[test]
    fn it_counts_the_packets_of_a_savefile() {
        let Some(libpcap) = libpcap() else { return };
        let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 100, 1];
        let record = |first: u32| [0, 0, 4, 4, first];
        let words = header.into_iter().chain([7, 8, 7].into_iter().flat_map(record));
        let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&bytes).expect("written");
        assert_eq!(libpcap.count(file.path(), None).expect("counted"), 3);
        let sevens = libpcap.compile("ether[0] + ether[3] = 7", &ETHERNET).expect("compiled");
        assert_eq!(libpcap.count(file.path(), Some(&sevens)).expect("counted"), 2);
        libpcap.count("/".as_ref(), None).expect_err("a folder");
    }
}
