//! A capture to a savefile, as a program has it that does nothing else.

use std::ffi::{CString, c_char, c_int};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result};

use super::Libpcap;
use super::handle::{ERROR_SIZE, Handle, message};
use super::symbols::{Dumper, SavingSymbols};
use crate::event;

/// How long the kernel keeps packets to itself, and how long a wait for some may take.
const PATIENCE: Duration = Duration::from_millis(100);

/// What tcpdump takes of a packet where nothing else is said, bytes.
const SNAPLEN: c_int = 262_144;

/// All packets of an interface on their way into a savefile. It belongs to one thread.
pub struct Saving {
    symbols: SavingSymbols,
    handle: Handle,
    file: *mut Dumper,
}

impl Libpcap {
    /// Begins to capture into a savefile, with a buffer of so many bytes. Whatever is saved is complete once this is dropped.
    ///
    /// # Errors
    /// When there is no such interface, without the privilege, or when the file cannot be written.
    pub fn save(&self, interface: &str, buffer: u64, file: &Path) -> Result<Saving> {
        let asked = || format!("capture on {interface} by libpcap into {}", file.display());
        let failed = |answer| Error::new(ErrorKind::Io, asked(), answer);
        let symbols = SavingSymbols::load()?;
        let handle = symbols.capture(*self, interface, buffer).map_err(failed)?;
        let file = symbols.dump(&handle, file).map_err(failed)?;
        Ok(Saving { symbols, handle, file })
    }
}

impl Saving {
    /// Saves what there is, or what comes within a tenth of a second; how many packets that were.
    ///
    /// # Errors
    /// libpcap's own words.
    pub fn take(&mut self) -> Result<u64> {
        let asked = "capture by libpcap";
        let (symbols, pointer) = (self.symbols, self.handle.pointer);
        // SAFETY: the handle is active; its descriptor is open as long as it is, which is longer than the wait.
        let fd = unsafe { BorrowedFd::borrow_raw((symbols.pcap_get_selectable_fd)(pointer)) };
        event::poll([fd], PATIENCE).map_err(|e| Error::system(asked, e))?;
        // SAFETY: the handle is active and the savefile open; pcap_dump(3PCAP) is made to be called so, with the savefile as
        // what it is told.
        let taken =
            unsafe { (symbols.pcap_dispatch)(pointer, -1, symbols.pcap_dump, self.file.cast()) };
        u64::try_from(taken).map_err(|_| Error::new(ErrorKind::Io, asked, self.handle.error()))
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        // SAFETY: the savefile is open and nobody uses it after this.
        unsafe { (self.symbols.pcap_dump_close)(self.file) }
    }
}

impl SavingSymbols {
    /// An interface that is being captured, promiscuous mode left alone; its functions do not wait for packets.
    fn capture(
        self,
        libpcap: Libpcap,
        interface: &str,
        buffer: u64,
    ) -> std::result::Result<Handle, String> {
        let name = CString::new(interface).map_err(|e| e.to_string())?;
        let buffer = c_int::try_from(buffer).map_err(|_| "its buffers have less than 2 GiB")?;
        let mut error = [0_u8; ERROR_SIZE];
        let told = error.as_mut_ptr().cast::<c_char>();
        // SAFETY: the name is a C string, the buffer for errors has the size that pcap(3PCAP) asks for.
        let pointer = unsafe { (self.pcap_create)(name.as_ptr(), told) };
        if pointer.is_null() {
            return Err(message(&error));
        }
        let handle = Handle { symbols: libpcap.symbols, pointer };
        // SAFETY: the handle is made and not active yet, which is when these may be called; they refuse only active ones.
        let status = unsafe {
            (self.pcap_set_snaplen)(pointer, SNAPLEN);
            (self.pcap_set_timeout)(pointer, PATIENCE.as_millis() as c_int);
            (self.pcap_set_buffer_size)(pointer, buffer);
            (self.pcap_activate)(pointer)
        };
        // Above 0 are warnings.
        if status < 0 {
            return Err(handle.error());
        }
        // SAFETY: the handle is active, the buffer for errors as above.
        let status = unsafe { (self.pcap_setnonblock)(pointer, 1, told) };
        if status == 0 { Ok(handle) } else { Err(message(&error)) }
    }

    fn dump(self, handle: &Handle, file: &Path) -> std::result::Result<*mut Dumper, String> {
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the handle is active, and the name a C string.
        let file = unsafe { (self.pcap_dump_open)(handle.pointer, name.as_ptr()) };
        if file.is_null() { Err(handle.error()) } else { Ok(file) }
    }
}
