//! The kernel's description of its own types and functions (BTF), as far as calling the functions and reading
//! the structures needs it.
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
/// `BTF_KIND_PTR`, `BTF_KIND_STRUCT`, `BTF_KIND_UNION`, `BTF_KIND_ENUM`, `BTF_KIND_FUNC`.
const POINTER: u32 = 2;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;
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
    pub(crate) fn new(bytes: Vec<u8>) -> Option<Self> {
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
        let mut described = (1..).zip(self.described());
        described.find_map(|(id, d)| (d.kind == FUNCTION && self.is(d.name, name)).then_some(id))
    }

    /// Where `member` lies in the structure, in bytes; one of a part without a name counts as the whole's.
    pub fn offset(&self, structure: &str, member: &str) -> Option<u32> {
        let all: Vec<_> = self.described().collect();
        let named = |d: &&Described| d.kind == STRUCTURE && self.is(d.name, structure);
        all.iter().filter(named).find_map(|d| self.member(&all, d, member, DEEPEST)).map(|b| b / 8)
    }

    /// The names of the enumeration's values, in its order.
    pub fn enumeration(&self, name: &str) -> Vec<(String, u32)> {
        let named = |d: &Described| d.kind == ENUMERATION && self.is(d.name, name);
        let Some(found) = self.described().find(named) else { return Vec::new() };
        let value = |n| Some((found.word(self, 8 * n)?, found.word(self, 8 * n + 4)?));
        let values = (0..found.count as usize).map_while(value);
        values.map(|(name, value)| (self.text(name), value)).collect()
    }

    /// Bits from the beginning of `of` to its member.
    fn member(&self, all: &[Described], of: &Described, name: &str, depth: u32) -> Option<u32> {
        (0..of.count as usize).find_map(|n| {
            let [called, kind, offset] = [0, 4, 8].map(|at| of.word(self, 12 * n + at));
            // With bit fields among the members the upper bits are a field's width.
            let offset = offset? & if of.has_bit_fields { 0xff_ffff } else { u32::MAX };
            match called? {
                0 if depth > 0 => {
                    let part = all.get((kind? as usize).checked_sub(1)?)?;
                    let is_whole = part.kind == STRUCTURE || part.kind == UNION;
                    let inner = is_whole.then(|| self.member(all, part, name, depth - 1));
                    inner.flatten()?.checked_add(offset)
                }
                called => self.is(called, name).then_some(offset),
            }
        })
    }

    /// All types in order, as far as they are understood.
    fn described(&self) -> impl Iterator<Item = Described> + '_ {
        let mut at = self.types.start;
        std::iter::from_fn(move || {
            let (name, info) = (word(&self.bytes, at)?, word(&self.bytes, at + 4)?);
            let (kind, count) = (info >> 24 & 0x1f, info & 0xffff);
            let data = at + TYPE;
            at = data + data_size(kind, count)?;
            let has_bit_fields = info >> 31 != 0;
            (at <= self.types.end).then_some(Described { name, kind, count, has_bit_fields, data })
        })
    }

    fn is(&self, offset: u32, name: &str) -> bool {
        let string = self.string(offset);
        string.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The string that begins so many bytes behind the first one.
    pub(crate) fn text(&self, offset: u32) -> String {
        let name = self.string(offset).split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    fn string(&self, offset: u32) -> &[u8] {
        let strings = &self.bytes[self.strings.start..self.strings.end];
        strings.get(offset as usize..).unwrap_or_default()
    }
}

/// A description with these strings, each of which ends in a zero, and the first of which is empty; and with a single type, a
/// pointer to nothing in particular, as the kernel takes none without (`btf_parse_type_sec` in kernel/bpf/btf.c, Linux 6.18).
pub(crate) fn with_strings(strings: &[u8]) -> Vec<u8> {
    let types = [0, POINTER << 24, 0].map(u32::to_ne_bytes);
    let [types_length, strings_length] = [TYPE, strings.len()].map(|length| length as u32);
    let words =
        [HEADER as u32, 0, types_length, types_length, strings_length].map(u32::to_ne_bytes);
    let head = [&MAGIC.to_ne_bytes()[..], &[VERSION, 0], words.as_flattened()].concat();
    [&head, types.as_flattened(), strings].concat()
}

/// How deep parts without a name are looked into.
const DEEPEST: u32 = 8;

/// One type: `struct btf_type`, and where what belongs to it begins.
#[derive(Clone, Copy, Debug)]
struct Described {
    name: u32,
    kind: u32,
    count: u32,
    has_bit_fields: bool,
    data: usize,
}

impl Described {
    fn word(&self, btf: &Btf, at: usize) -> Option<u32> {
        word(&btf.bytes[..btf.types.end], self.data + at)
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
    fn strings_are_read_back() {
        let btf = Btf::new(with_strings(b"\0one\0two\0")).unwrap();
        assert_eq!([0, 1, 5, 99].map(|at| btf.text(at)), ["", "one", "two", ""]);
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
    fn members_are_found_in_parts_without_a_name() {
        let member =
            |name: u32, kind: u32, bits: u32| [name, kind, bits].map(u32::to_ne_bytes).concat();
        let whole = |kind: u32, name: u32, count: u32| described(kind, count, name, 0);
        let types = [
            whole(UNION, 0, 1),
            member(5, 3, 64),
            whole(STRUCTURE, 1, 2),
            member(0, 1, 128),
            member(1, 3, 0),
            whole(ENUMERATION, 1, 1),
            [5u32, 42].map(u32::to_ne_bytes).concat(),
        ];
        let btf = Btf::new(with_header(&types.concat(), b"\0one\0two\0")).unwrap();
        assert_eq!((btf.offset("one", "two"), btf.offset("one", "one")), (Some(24), Some(0)));
        assert_eq!((btf.offset("one", "none"), btf.offset("two", "one")), (None, None));
        assert_eq!(btf.enumeration("one"), [("two".to_owned(), 42)]);
        assert_eq!(btf.enumeration("two"), []);
    }

    #[test]
    fn the_kernel_knows_its_functions_and_structures() {
        match Btf::of_kernel() {
            Ok(btf) => {
                assert!(btf.offset("sk_buff", "dev").is_some_and(|at| at > 0));
                assert_eq!(btf.offset("sk_buff", "next"), Some(0));
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
            let found = Btf::new(whole.clone()).and_then(|btf| {
                let _ = (btf.offset("a", "b"), btf.enumeration("a"));
                btf.function("a")
            });
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
