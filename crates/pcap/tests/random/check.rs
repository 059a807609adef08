//! What must hold of any bytes as a savefile and any filter, by the C functions. `fuzz/` has a target of it.

use std::ffi::{CString, c_int};
use std::ptr;

use pcap::abi::{BpfProgram, ERRBUF_SIZE, NETMASK_UNKNOWN, PacketHeader};
use pcap::filter::compile::{pcap_compile, pcap_freecode};
use pcap::filter::pcap_setfilter;
use pcap::filter::run::pcap_offline_filter;
use pcap::handle::{Handle, pcap_close};
use pcap::packets::pcap_next_ex;
use pcap::savefile::open::pcap_fopen_offline;

/// Compressed bytes may stand for very many packets; more than this teach nothing new.
const ENOUGH: usize = 10_000;

/// Parts of filters, with a number in the place of each `#`. They name no host, which would be looked up.
const PARTS: [&str; 8] = [
    "ip",
    "not tcp port #",
    "len > #",
    "link[#:2] & 0xff < #",
    "vlan # and ip6",
    "udp[#] = 7",
    "not ether proto #",
    "icmp or arp",
];

/// The filter that some bytes stand for.
pub(crate) fn filter(bytes: [u8; 4]) -> String {
    let [first, second, joined, number] = bytes;
    let part = |byte: u8| {
        let part = PARTS[usize::from(byte) % PARTS.len()];
        part.replace('#', &(usize::from(number) + usize::from(byte) * 3).to_string())
    };
    let word = if joined % 2 == 0 { "and" } else { "or" };
    format!("{} {word} {}", part(first), part(second))
}

/// The packets that a filter which is set keeps are those that it keeps of all, and reading ends in the same way.
pub(crate) fn check(filter: [u8; 4], bytes: &[u8]) {
    let text = self::filter(filter);
    let (Some(all), Some(chosen)) = (Open::new(bytes), Open::new(bytes)) else { return };
    let Some(program) = Compiled::new(&all, &text) else { return };
    let expected = all.read(|header, data| {
        // SAFETY: program, header and packet are valid, as they were just given out.
        unsafe { pcap_offline_filter(&raw const program.0, header, data) != 0 }
    });
    let Some(mut own) = Compiled::new(&chosen, &text) else { panic!("it was compiled before") };
    // SAFETY: handle and program are open.
    assert_eq!(unsafe { pcap_setfilter(chosen.handle, &raw mut own.0) }, 0, "{text}");
    let found = chosen.read(|_, _| true);
    if expected.0 < ENOUGH && found.0 < ENOUGH {
        assert_eq!(found, expected, "{text}");
    }
}

/// A savefile in memory, which outlives the handle.
struct Open {
    handle: *mut Handle,
    _bytes: Vec<u8>,
}

impl Open {
    /// `None` for what is no savefile.
    fn new(bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes.to_vec();
        let mut error = [0; ERRBUF_SIZE];
        // SAFETY: the bytes stay where they are as long as the stream is open, and the buffer has this size. Where no
        // handle takes the stream, it is closed here.
        let handle = unsafe {
            let file = libc::fmemopen(bytes.as_mut_ptr().cast(), bytes.len(), c"rb".as_ptr());
            if file.is_null() {
                return None;
            }
            let handle = pcap_fopen_offline(file, error.as_mut_ptr());
            if handle.is_null() {
                assert!(error[0] != 0, "a reason is given");
                libc::fclose(file);
            }
            handle
        };
        (!handle.is_null()).then_some(Self { handle, _bytes: bytes })
    }

    /// Reads packets and counts those that are kept; also the status at the end.
    fn read(
        &self,
        mut is_kept: impl FnMut(*const PacketHeader, *const u8) -> bool,
    ) -> (usize, c_int) {
        let mut kept = 0;
        for _ in 0..ENOUGH {
            let (mut header, mut data) = (ptr::null_mut(), ptr::null());
            // SAFETY: the handle is open and both places may be written to.
            match unsafe { pcap_next_ex(self.handle, &raw mut header, &raw mut data) } {
                1 => kept += usize::from(is_kept(header, data)),
                status => return (kept, status),
            }
        }
        (ENOUGH, 1)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the handle is open and nobody uses it after this.
        unsafe { pcap_close(self.handle) }
    }
}

struct Compiled(BpfProgram);

impl Compiled {
    /// `None` for a filter that the file's link type does not have.
    fn new(on: &Open, text: &str) -> Option<Self> {
        let mut program = BpfProgram { bf_len: 0, bf_insns: ptr::null_mut() };
        let text = CString::new(text).expect("no NUL");
        // SAFETY: the handle is open, the text a C string and the program may be written to.
        let status =
            unsafe { pcap_compile(on.handle, &raw mut program, text.as_ptr(), 1, NETMASK_UNKNOWN) };
        (status == 0).then_some(Self(program))
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: the program was compiled and nobody uses it after this.
        unsafe { pcap_freecode(&raw mut self.0) }
    }
}
