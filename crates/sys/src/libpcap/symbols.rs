//! The functions of libpcap that linerate calls, found by `dlopen` and `dlsym`.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};

use linerate_base::{Error, ErrorKind, Result};

use crate::socket_filter::SockFilter;

/// The names it goes by: upstream's and Debian's. Not `libpcap.so`, which is what our own library is called where
/// it was built, a folder in which tests look for libraries.
const NAMES: [&CStr; 2] = [c"libpcap.so.1", c"libpcap.so.0.8"];

/// `pcap_t`.
pub(super) enum PcapT {}

/// `struct bpf_program`.
#[repr(C)]
pub(super) struct RawProgram {
    pub(super) length: c_uint,
    pub(super) instructions: *mut SockFilter,
}

/// `struct pcap_pkthdr`.
#[repr(C)]
pub(super) struct PacketHeader {
    pub(super) time: libc::timeval,
    pub(super) captured: u32,
    pub(super) length: u32,
}

/// `pcap_dumper_t`.
pub(super) enum Dumper {}

/// `pcap_handler`.
pub(super) type Handler = unsafe extern "C" fn(*mut c_uchar, *const PacketHeader, *const c_uchar);

macro_rules! symbols {
    ($(#[$note:meta])* $table:ident: $($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(#[$note])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            pub(super) fn load() -> Result<Self> {
                let library = NAMES.into_iter().find_map(Library::open);
                Self::resolve(library.ok_or_else(|| missing("not installed"))?)
            }

            fn resolve(library: Library) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        let address = library.symbol(name)?;
                        // SAFETY: the address is that of libpcap's function of this name, whose
                        // prototype in pcap.h or bpf.h is the field's type.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

symbols! {
    /// One field per function, with its name and its prototype.
    Symbols:
    pcap_lib_version() -> *const c_char;
    pcap_open_dead(c_int, c_int) -> *mut PcapT;
    pcap_open_live(*const c_char, c_int, c_int, c_int, *mut c_char) -> *mut PcapT;
    pcap_open_offline(*const c_char, *mut c_char) -> *mut PcapT;
    pcap_fopen_offline(*mut libc::FILE, *mut c_char) -> *mut PcapT;
    pcap_close(*mut PcapT);
    pcap_geterr(*mut PcapT) -> *const c_char;
    pcap_compile(*mut PcapT, *mut RawProgram, *const c_char, c_int, u32) -> c_int;
    pcap_freecode(*mut RawProgram);
    pcap_setfilter(*mut PcapT, *mut RawProgram) -> c_int;
    pcap_next_ex(*mut PcapT, *mut *const PacketHeader, *mut *const c_uchar) -> c_int;
    pcap_offline_filter(*const RawProgram, *const PacketHeader, *const c_uchar) -> c_int;
    pcap_inject(*mut PcapT, *const c_void, usize) -> c_int;
    bpf_validate(*const SockFilter, c_int) -> c_int;
    bpf_image(*const SockFilter, c_int) -> *const c_char;
}

/// `struct pcap_send_queue` of WinPcap's `pcap.h`.
#[repr(C)]
pub(super) struct RawQueue {
    pub(super) room: c_uint,
    pub(super) length: c_uint,
    pub(super) buffer: *mut c_char,
}

symbols! {
    /// The same of what a capture into a savefile takes.
    SavingSymbols:
    pcap_create(*const c_char, *mut c_char) -> *mut PcapT;
    pcap_set_snaplen(*mut PcapT, c_int) -> c_int;
    pcap_set_timeout(*mut PcapT, c_int) -> c_int;
    pcap_set_buffer_size(*mut PcapT, c_int) -> c_int;
    pcap_activate(*mut PcapT) -> c_int;
    pcap_setnonblock(*mut PcapT, c_int, *mut c_char) -> c_int;
    pcap_get_selectable_fd(*mut PcapT) -> c_int;
    pcap_dispatch(*mut PcapT, c_int, Handler, *mut c_uchar) -> c_int;
    pcap_dump_open(*mut PcapT, *const c_char) -> *mut Dumper;
    pcap_dump(*mut c_uchar, *const PacketHeader, *const c_uchar);
    pcap_dump_close(*mut Dumper);
}

symbols! {
    /// The same of what WinPcap has added, and who follows it.
    QueueSymbols:
    pcap_sendqueue_alloc(c_uint) -> *mut RawQueue;
    pcap_sendqueue_destroy(*mut RawQueue);
    pcap_sendqueue_queue(*mut RawQueue, *const PacketHeader, *const c_uchar) -> c_int;
    pcap_sendqueue_transmit(*mut PcapT, *mut RawQueue, c_int) -> c_uint;
}

/// What `dlopen` gave. Never closed, since the functions found in it are copied freely.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

impl Library {
    fn open(name: &CStr) -> Option<Self> {
        // SAFETY: the name is a C string. Loading a library runs its initialisers; libpcap's do
        // nothing that concerns us.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// The address of a symbol, given its name with a final NUL.
    fn symbol(self, name: &str) -> Result<*mut c_void> {
        // SAFETY: the handle came from dlopen and is never closed; the name ends in NUL.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr().cast()) };
        if address.is_null() { Err(missing(&format!("it has no {name:?}"))) } else { Ok(address) }
    }
}

fn missing(answered: &str) -> Error {
    Error::new(ErrorKind::NotFound, "load libpcap", answered)
        .advise("install libpcap 1.x, on Debian `apt install libpcap0.8`")
}
