//! A savefile so large that threads read it ahead.

use std::ffi::{CString, c_int};
use std::io::Write;
use std::ptr;

use pcap::abi::{BpfProgram, ERRBUF_SIZE, ERROR_BREAK, NETMASK_UNKNOWN};
use pcap::filter::compile::{pcap_compile, pcap_freecode};
use pcap::filter::pcap_setfilter;
use pcap::handle::{Handle, pcap_close};
use pcap::packets::pcap_next_ex;
use pcap::savefile::open::pcap_open_offline;

/// Packets of the file: more than 32 MiB.
const COUNT: u32 = 500_000;

/// A pcap file of numbered packets, the end of the last one cut off.
fn savefile() -> tempfile::NamedTempFile {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_ne_bytes).collect();
    for number in 0..COUNT {
        bytes.extend([1, 2, 60, 60].into_iter().flat_map(u32::to_ne_bytes));
        let mut frame = [0; 60];
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        bytes.extend(frame);
    }
    bytes.pop();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&bytes).expect("written");
    file
}

fn filter(handle: *mut Handle, text: &str) {
    let mut program = BpfProgram { bf_len: 0, bf_insns: ptr::null_mut() };
    let text = CString::new(text).expect("no NUL");
    // SAFETY: the handle is open, the text a C string and the program may be written to.
    unsafe {
        let program = &raw mut program;
        assert_eq!(pcap_compile(handle, program, text.as_ptr(), 1, NETMASK_UNKNOWN), 0);
        assert_eq!(pcap_setfilter(handle, program), 0);
        pcap_freecode(program);
    }
}

/// The numbers of so many packets at the most, and the status of what came behind them.
fn numbers(handle: *mut Handle, most: usize) -> (Vec<u32>, c_int) {
    let mut found = Vec::new();
    while found.len() < most {
        let (mut header, mut data) = (ptr::null_mut(), ptr::null());
        // SAFETY: the handle is open; a packet has 60 bytes.
        unsafe {
            match pcap_next_ex(handle, &raw mut header, &raw mut data) {
                1 => found.push(u32::from_be_bytes(data.add(14).cast::<[u8; 4]>().read())),
                status => return (found, status),
            }
        }
    }
    (found, 1)
}

#[test]
fn a_filter_may_change_in_the_middle() {
    let file = savefile();
    let path = CString::new(file.path().to_str().expect("text")).expect("no NUL");
    let mut error = [0; ERRBUF_SIZE];
    // SAFETY: the path is a C string and the buffer has the size.
    let handle = unsafe { pcap_open_offline(path.as_ptr(), error.as_mut_ptr()) };
    assert!(!handle.is_null());
    filter(handle, "link[17] & 1 = 1");
    let odd: Vec<_> = (1..COUNT).step_by(2).take(123_457).collect();
    assert!(numbers(handle, odd.len()) == (odd.clone(), 1));
    let last = odd[odd.len() - 1];
    filter(handle, "link[17] & 3 = 0");
    let fourths: Vec<_> = (last + 1..COUNT - 1).filter(|number| number % 4 == 0).collect();
    assert!(numbers(handle, 10) == (fourths[..10].to_vec(), 1));
    // The file is cut: that is an error, once.
    assert!(numbers(handle, usize::MAX) == (fourths[10..].to_vec(), -1));
    assert!(numbers(handle, 1) == (vec![], ERROR_BREAK));
    // SAFETY: the handle is open.
    unsafe { pcap_close(handle) };
}

#[test]
fn all_packets_come_in_order_and_the_cut_is_told() {
    let file = savefile();
    let path = CString::new(file.path().to_str().expect("text")).expect("no NUL");
    // SAFETY: the path is a C string.
    let handle = unsafe { pcap_open_offline(path.as_ptr(), ptr::null_mut()) };
    assert!(numbers(handle, usize::MAX) == ((0..COUNT - 1).collect(), -1));
    // SAFETY: the handle is open.
    unsafe { pcap_close(handle) };
}
