use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::symbols::{PcapT, Symbols};
use super::{CompileFor, Libpcap};

/// An open `pcap_t`, closed on drop. It belongs to one thread, as libpcap demands.
pub(super) struct Handle {
    pub(super) symbols: Symbols,
    pub(super) pointer: *mut PcapT,
}

/// Room for an error message, `PCAP_ERRBUF_SIZE`.
pub(super) const ERROR_SIZE: usize = 256;

impl Handle {
    /// A handle without a device, for compiling.
    pub(super) fn dead(libpcap: Libpcap, target: &CompileFor) -> Result<Self, String> {
        let (symbols, snaplen) = (libpcap.symbols, target.snaplen.cast_signed());
        // SAFETY: pcap_open_dead(3PCAP) takes two numbers and returns null or an open handle.
        let pointer = unsafe { (symbols.pcap_open_dead)(dlt(target.link_type), snaplen) };
        if pointer.is_null() { Err("no memory".into()) } else { Ok(Self { symbols, pointer }) }
    }

    /// An interface, opened for capturing with libpcap's defaults.
    pub(super) fn live(libpcap: Libpcap, interface: &str, snaplen: u32) -> Result<Self, String> {
        let symbols = libpcap.symbols;
        let name = CString::new(interface).map_err(|e| e.to_string())?;
        let snaplen = snaplen.cast_signed();
        let mut error = [0_u8; ERROR_SIZE];
        let buffer = error.as_mut_ptr().cast::<c_char>();
        // SAFETY: the name is a C string, the buffer has the size that pcap(3PCAP) asks for.
        let pointer = unsafe { (symbols.pcap_open_live)(name.as_ptr(), snaplen, 0, 0, buffer) };
        if pointer.is_null() { Err(message(&error)) } else { Ok(Self { symbols, pointer }) }
    }

    /// A savefile without packets, for compiling as for packets of one.
    pub(super) fn empty_savefile(libpcap: Libpcap, target: &CompileFor) -> Result<Self, String> {
        let symbols = libpcap.symbols;
        let mut header = savefile_header(target);
        let (bytes, size) = (header.as_mut_ptr().cast(), size_of_val(&header));
        // SAFETY: the buffer has this size. The stream outlives it, but nothing reads on.
        let stream = unsafe { libc::fmemopen(bytes, size, c"rb".as_ptr()) };
        if stream.is_null() {
            return Err("no memory".into());
        }
        let mut error = [0_u8; ERROR_SIZE];
        let buffer = error.as_mut_ptr().cast::<c_char>();
        // SAFETY: the stream is open, the buffer has the size that pcap(3PCAP) asks for.
        // The header is read now; a handle for compiling reads no packet.
        let pointer = unsafe { (symbols.pcap_fopen_offline)(stream, buffer) };
        if pointer.is_null() {
            // SAFETY: libpcap leaves the stream to the caller when it fails.
            unsafe { libc::fclose(stream) };
            return Err(message(&error));
        }
        Ok(Self { symbols, pointer })
    }

    /// A savefile.
    pub(super) fn offline(libpcap: Libpcap, path: &Path) -> Result<Self, String> {
        let symbols = libpcap.symbols;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        let mut error = [0_u8; ERROR_SIZE];
        let buffer = error.as_mut_ptr().cast::<c_char>();
        // SAFETY: the name is a C string, the buffer has the size that pcap(3PCAP) asks for.
        let pointer = unsafe { (symbols.pcap_open_offline)(name.as_ptr(), buffer) };
        if pointer.is_null() { Err(message(&error)) } else { Ok(Self { symbols, pointer }) }
    }

    /// What went wrong last.
    pub(super) fn error(&self) -> String {
        // SAFETY: the handle is open; the message stays valid until the handle's next call.
        let message = unsafe { CStr::from_ptr((self.symbols.pcap_geterr)(self.pointer)) };
        message.to_string_lossy().into_owned()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open and nobody uses it after this.
        unsafe { (self.symbols.pcap_close)(self.pointer) }
    }
}

/// The message in a buffer that libpcap wrote, which ends at its first NUL.
pub(super) fn message(buffer: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(buffer).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// A pcap file's header in this machine's byte order (draft-ietf-opsawg-pcap, 4).
fn savefile_header(target: &CompileFor) -> [u32; 6] {
    let version = if cfg!(target_endian = "little") { 0x0004_0002 } else { 0x0002_0004 };
    [0xa1b2_c3d4, version, 0, 0, target.snaplen, target.link_type.into()]
}

/// libpcap's own number, on Linux, for a link type of savefiles (`pcap/dlt.h`, libpcap 1.10).
fn dlt(link_type: u16) -> c_int {
    match link_type {
        100 => 11,
        101 => 12,
        102 => 15,
        103 => 16,
        106 => 19,
        other => other.into(),
    }
}
