//! The kernel's description of its own types and functions (BTF), as far as calling them needs it.
//!
//! Source: `Documentation/bpf/btf.rst` and `linux/btf.h` (Linux 6.18).

use std::fs;

use linerate_base::{Error, ErrorKind, Result};

/// Where the kernel shows it (`CONFIG_DEBUG_INFO_BTF`).
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
/// Bytes of `struct btf_header` and of `struct btf_type`.
const HEADER: usize = 24;
const TYPE: usize = 12;
/// `BTF_KIND_FUNC`.
const FUNCTION: u32 = 12;

/// Descriptions of types, numbered from 1.
#[derive(Clone, Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    types: Section,
    strings: Section,
}

/// A part of the bytes, which is within them.
#[derive(Clone, Copy, Debug)]
struct Section {
    start: usize,
    end: usize,
}

impl Btf {
    /// Those of the running kernel.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the kernel was built without; [`ErrorKind::Malformed`] when it is
    /// not understood.
    pub fn of_kernel() -> Result<Self> {
        let bytes = fs::read(KERNEL).map_err(|e| {
            Error::system(format!("read {KERNEL}"), e)
                .as_kind(ErrorKind::Unsupported)
                .advise("the kernel was built without descriptions of its types")
        })?;
        Self::new(bytes).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, format!("read {KERNEL}"), "it is not understood")
        })
    }

    /// `None` when the bytes are none, or sections reach past their end.
    fn new(bytes: Vec<u8>) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let magic = u16::from_ne_bytes([header[0], header[1]]);
        if magic != MAGIC || header[2] != VERSION {
            return None;
        }
        let section = |at: usize| {
            let start = word(&bytes, 4)?.checked_add(word(&bytes, at)?)?;
            let end = start.checked_add(word(&bytes, at + 4)?)?;
            let (start, end) = (start as usize, end as usize);
            (end <= bytes.len()).then_some(Section { start, end })
        };
        let (types, strings) = (section(8)?, section(16)?);
        Some(Self { bytes, types, strings })
    }

    /// The number of the function of this name, as an instruction that calls it has it.
    pub fn function(&self, name: &str) -> Option<u32> {
        let types = &self.bytes[self.types.start..self.types.end];
        let (mut at, mut id) = (0, 1);
        while at + TYPE <= types.len() {
            let (name_offset, info) = (word(types, at)?, word(types, at + 4)?);
            let (kind, count) = (info >> 24 & 0x1f, info & 0xffff);
            if kind == FUNCTION && self.has_name(name_offset, name) {
                return Some(id);
            }
            at += TYPE + data_size(kind, count)?;
            id += 1;
        }
        None
    }

    fn has_name(&self, offset: u32, name: &str) -> bool {
        let strings = &self.bytes[self.strings.start..self.strings.end];
        let string = strings.get(offset as usize..).unwrap_or_default();
        string.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// How many bytes follow a type; `None` for a kind that is newer than this reader.
fn data_size(kind: u32, count: u32) -> Option<usize> {
    let count = count as usize;
    Some(match kind {
        // pointer, forward, typedef, volatile, const, restrict, function, float, type tag
        2 | 7..=12 | 16 | 18 => 0,
        // integer, variable, declaration tag
        1 | 14 | 17 => 4,
        // array
        3 => 12,
        // enumeration, prototype
        6 | 13 => count * 8,
        // structure, union, data section, enumeration of 64 bits
        4 | 5 | 15 | 19 => count * 12,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A header with these sections, types first.
    fn with_header(types: &[u8], strings: &[u8]) -> Vec<u8> {
        let (type_length, string_length) = (types.len() as u32, strings.len() as u32);
        let lengths = [HEADER as u32, 0, type_length, type_length, string_length];
        let lengths: Vec<u8> = lengths.iter().flat_map(|word| word.to_ne_bytes()).collect();
        [&MAGIC.to_ne_bytes()[..], &[VERSION, 0], &lengths, types, strings].concat()
    }

    fn described(kind: u32, count: u32, name: u32, data: usize) -> Vec<u8> {
        let head = [name, kind << 24 | count, 0].map(u32::to_ne_bytes).concat();
        [head, vec![0; data]].concat()
    }

    #[test]
    fn functions_are_found_behind_types_of_every_kind() {
        let others = [
            described(1, 0, 1, 4),
            described(3, 0, 0, 12),
            described(4, 2, 1, 24),
            described(6, 3, 1, 24),
            described(13, 1, 0, 8),
            described(19, 1, 1, 12),
        ];
        let functions = [described(FUNCTION, 0, 1, 0), described(FUNCTION, 0, 5, 0)];
        let types = [others.concat(), functions.concat()].concat();
        let btf = Btf::new(with_header(&types, b"\0one\0two\0")).unwrap();
        assert_eq!((btf.function("one"), btf.function("two")), (Some(7), Some(8)));
        assert_eq!((btf.function("on"), btf.function("twos")), (None, None));
    }

    #[test]
    fn what_is_no_description_is_none() {
        assert!(Btf::new(Vec::new()).is_none());
        assert!(Btf::new(vec![0; 100]).is_none());
        let mut cut = with_header(&[0; 12], b"\0x\0");
        cut.pop();
        assert!(Btf::new(cut).is_none());
    }

    #[test]
    fn the_kernel_knows_its_functions() {
        match Btf::of_kernel() {
            Ok(btf) => {
                assert!(btf.function("dev_queue_xmit_nit").is_some());
                assert_eq!(btf.function("no such function"), None);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(types in vec(any::<u8>(), 0..200), strings in vec(any::<u8>(), 0..20)) {
            let whole = with_header(&types, &strings);
            let found = Btf::new(whole.clone()).and_then(|btf| btf.function("a"));
            prop_assert!(found.is_none_or(|id| id > 0));
            let mut damaged = whole;
            damaged.truncate(types.len());
            let _ = Btf::new(damaged).and_then(|btf| btf.function("a"));
        }

        #[test]
        fn no_header_makes_it_panic(header in vec(any::<u8>(), 0..60)) {
            let bytes = [&MAGIC.to_ne_bytes()[..], &[VERSION], &header].concat();
            let _ = Btf::new(bytes).and_then(|btf| btf.function("a"));
        }
    }
}
