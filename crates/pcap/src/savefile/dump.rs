//! Savefiles to write. A `pcap_dumper_t *` is the stream itself, which old programs rely on.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_long};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::FILE;
use linerate::base::LinkType;

use super::header::{self, SIZE};
use super::stream::{self, Owned};
use crate::abi::{Dumper, ERROR, PacketHeader};
use crate::entry::{entry, uncancelled};
use crate::handle::{self, Handle, Inner};
use crate::names::datalink::dlt;
use crate::pointer;

/// The header of a file for the handle's packets.
fn header_for(inner: &Inner, name: &str) -> Result<[u8; SIZE], String> {
    if inner.link_type == LinkType(u16::MAX) {
        let number = dlt(inner.link_type);
        return Err(format!("{name}: link-layer type {number} isn't supported in savefiles"));
    }
    let extension = inner.savefile().map_or(0, |savefile| savefile.header.link_extension);
    Ok(header::written(inner.link_type, extension, inner.snapshot, inner.precision))
}

/// Writes to a stream; false where it does not take all.
///
/// # Safety
/// The stream is open.
unsafe fn write(file: *mut FILE, bytes: &[u8]) -> bool {
    // SAFETY: the stream is open and so many bytes are there.
    unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), file) == bytes.len() }
}

/// Begins a savefile in an open stream.
///
/// # Safety
/// The stream is open.
unsafe fn begin(inner: &Inner, file: *mut FILE, name: &str) -> Result<(), String> {
    let header = header_for(inner, name)?;
    // SAFETY: the contract is the same.
    match unsafe { write(file, &header) } {
        true => Ok(()),
        false => Err(format!("Can't write to {name}: {}", stream::last_error())),
    }
}

/// Opens a file and begins a savefile in it; `-` is standard output.
fn create(inner: &Inner, name: Option<&str>, mode: &CStr) -> Result<*mut FILE, String> {
    let name = name.ok_or("A null pointer was supplied as the file name")?;
    if name == "-" {
        let file = stream::standard_output();
        // SAFETY: standard output is open, or refuses.
        unsafe { begin(inner, file, "standard output") }?;
        return Ok(file);
    }
    let file = Owned(stream::open(name, mode)?);
    // SAFETY: the stream is open.
    unsafe { begin(inner, file.0, name) }?;
    let open = file.0;
    // The caller closes it.
    std::mem::forget(file);
    Ok(open)
}

/// Opens a savefile to go on after its last packet; one that is not there, or empty, is begun.
fn resume(inner: &Inner, name: Option<&str>) -> Result<*mut FILE, String> {
    let Some(name) = name.filter(|name| *name != "-") else {
        return create(inner, name, c"wb");
    };
    let file = Owned(stream::open(name, c"ab+")?);
    let (header, mut found) = (header_for(inner, name)?, [0; SIZE]);
    // SAFETY: the stream is open and the buffer has this size. What is read comes from the beginning, what is written
    // goes to the end.
    let read = unsafe {
        libc::rewind(file.0);
        libc::fread(found.as_mut_ptr().cast(), 1, SIZE, file.0)
    };
    match read {
        // SAFETY: the stream is open.
        0 => unsafe { begin(inner, file.0, name) }?,
        SIZE => {
            if let Some(text) = header::mismatch(&found, &header) {
                return Err(format!("{name}: {text}, cannot append to file"));
            }
        }
        read => {
            return Err(format!(
                "{name}: truncated dump file; tried to read {SIZE} file header bytes, only got {read}"
            ));
        }
    }
    let open = file.0;
    // SAFETY: the stream is open. Between reading and writing a stream wants to be placed.
    if unsafe { libc::fseek(open, 0, libc::SEEK_END) } != 0 {
        return Err(format!("{name}: {}", stream::last_error()));
    }
    // The caller closes it.
    std::mem::forget(file);
    Ok(open)
}

/// Streams to which packets go as they are captured, by their addresses; of those that a program closes by itself until
/// another stream has the address.
static CAPTURES: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn captures() -> MutexGuard<'static, BTreeSet<usize>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the stream, or null, and the handle the reason.
fn answer(inner: &mut Inner, opened: Result<*mut FILE, String>) -> *mut FILE {
    match opened {
        Ok(file) => {
            if inner.is_live() {
                captures().insert(file.addr());
            } else {
                captures().remove(&file.addr());
            }
            file
        }
        Err(text) => {
            inner.fail(&text);
            ptr::null_mut()
        }
    }
}

/// A packet's record header; seconds are those of a savefile, until 2106.
fn record(header: &PacketHeader) -> [u8; 16] {
    let words = [header.ts.tv_sec as u32, header.ts.tv_usec as u32, header.caplen, header.len];
    let mut record = [0; 16];
    for (place, word) in record.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    record
}

entry! {
    /// Creates a savefile for a handle's packets, of `-` on standard output; null where that fails.
    fn pcap_dump_open(handle: *mut Handle, name: *const c_char) -> *mut Dumper, ptr::null_mut() => {
        let Some(inner) = handle::inner(handle) else { return ptr::null_mut() };
        let opened = create(inner, pointer::text(name), c"wb");
        answer(inner, opened)
    }

    /// Opens a savefile to add a handle's packets to it; null where that fails, or they would not fit there.
    fn pcap_dump_open_append(handle: *mut Handle, name: *const c_char) -> *mut Dumper, ptr::null_mut() => {
        let Some(inner) = handle::inner(handle) else { return ptr::null_mut() };
        let opened = resume(inner, pointer::text(name));
        answer(inner, opened)
    }

    /// Begins a savefile for a handle's packets in an open stream; null where that fails.
    fn pcap_dump_fopen(handle: *mut Handle, file: *mut FILE) -> *mut Dumper, ptr::null_mut() => {
        let Some(inner) = handle::inner(handle) else { return ptr::null_mut() };
        let opened = match file.is_null() {
            true => Err("no stream was given".into()),
            false => begin(inner, file, "stream").map(|()| file),
        };
        answer(inner, opened)
    }

    /// Writes a packet; a callback for `pcap_loop`. After an error nothing more is written; `pcap_dump_flush` and
    /// `ferror` tell of it.
    fn pcap_dump(dumper: *mut u8, packet: *const PacketHeader, data: *const u8) -> (), () => quick {
        let (file, Some(packet)) = (dumper.cast::<FILE>(), packet.as_ref()) else { return };
        if file.is_null() {
            return;
        }
        let (record, data) = (record(packet), pointer::values(data, packet.caplen as usize));
        if !stream::put(file, &record, data) {
            uncancelled(|| {
                if write(file, &record) && write(file, data) && captures().contains(&file.addr()) {
                    stream::hurry(file);
                }
            });
        }
    }

    /// Hands to the system what is in the stream's buffer; -1 where that fails, or a packet was not written.
    fn pcap_dump_flush(file: *mut Dumper) -> c_int, ERROR => {
        let failed = file.is_null() || libc::fflush(file) != 0 || libc::ferror(file) != 0;
        if failed { ERROR } else { 0 }
    }

    /// Where the next packet goes, in bytes from the beginning; -1 for a stream that cannot tell.
    fn pcap_dump_ftell(file: *mut Dumper) -> c_long, -1 => {
        if file.is_null() { -1 } else { libc::ftell(file) }
    }

    /// The same, for files of any size.
    fn pcap_dump_ftell64(file: *mut Dumper) -> i64, -1 => {
        if file.is_null() { -1 } else { libc::ftello(file) }
    }

    /// The stream itself.
    fn pcap_dump_file(file: *mut Dumper) -> *mut FILE, ptr::null_mut() => {
        file
    }

    /// Closes a savefile that was written.
    fn pcap_dump_close(file: *mut Dumper) -> (), () => {
        if !file.is_null() {
            captures().remove(&file.addr());
            libc::fclose(file);
        }
    }
}
