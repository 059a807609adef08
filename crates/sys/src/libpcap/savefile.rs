use std::path::Path;
use std::ptr;

use linerate_base::{Error, ErrorKind, Result};

use super::handle::Handle;
use super::{Libpcap, Program};

impl Libpcap {
    /// Reads a savefile to its end, packet by packet, and counts those that `filter` keeps.
    ///
    /// # Errors
    /// libpcap's own words on what is wrong with the file.
    pub fn count(&self, path: &Path, filter: Option<&Program>) -> Result<u64> {
        let failed = |answer| Error::new(ErrorKind::Io, format!("read {}", path.display()), answer);
        let file = Handle::offline(*self, path).map_err(failed)?;
        if let Some(filter) = filter {
            file.set_filter(filter).map_err(failed)?;
        }
        file.count().map_err(failed)
    }
}

impl Handle {
    fn set_filter(&self, filter: &Program) -> std::result::Result<(), String> {
        let mut raw = filter.raw();
        // SAFETY: the file is open; libpcap copies the program, which is valid during the call.
        let status = unsafe { (self.symbols.pcap_setfilter)(self.pointer, &raw mut raw) };
        if status == 0 { Ok(()) } else { Err(self.error()) }
    }

    fn count(&self) -> std::result::Result<u64, String> {
        let (mut header, mut data) = (ptr::null(), ptr::null());
        for count in 0.. {
            // SAFETY: the file is open; libpcap writes two pointers, which are not followed.
            match unsafe {
                (self.symbols.pcap_next_ex)(self.pointer, &raw mut header, &raw mut data)
            } {
                1 => {}
                -2 => return Ok(count),
                _ => return Err(self.error()),
            }
        }
        unreachable!("no file has 2^64 packets")
    }
}
