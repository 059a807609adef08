//! Names of functions in processes.
//!
//! From the symbol tables of the files that a process has mapped (ELF's `.symtab`, else `.dynsym`), read when a name is
//! first asked for. A file without symbols, or one that cannot be read, gives its own name.

use std::collections::HashMap;
use std::fs;

use object::read::{Object, ObjectSegment, ObjectSymbol};

/// Functions of processes, by where these have mapped them.
#[derive(Debug, Default)]
pub struct UserSymbols {
    processes: HashMap<u32, Vec<Mapping>>,
    /// By the path at which this process reaches them.
    files: HashMap<String, FileSymbols>,
}

/// A file's piece in a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    /// Of the file, at the start.
    offset: u64,
    /// What the process calls it.
    path: String,
}

/// A file's functions.
#[derive(Debug, Default)]
struct FileSymbols {
    /// Where pieces of the file are to be in memory: offset in the file, size there, address.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size and name, by address.
    functions: Vec<(u64, u64, String)>,
}

impl UserSymbols {
    /// Notes what a process has mapped now. What was noted before stays where the process is gone.
    pub fn note(&mut self, process: u32) {
        if let Ok(text) = fs::read_to_string(format!("/proc/{process}/maps")) {
            self.processes.insert(process, text.lines().filter_map(mapping).collect());
        }
    }

    /// The function of a process at an address, or the file in which it lies; `None` outside of all.
    pub fn name(&mut self, process: u32, address: u64) -> Option<String> {
        let mappings = self.processes.get(&process)?;
        let mapping = mappings.iter().find(|m| (m.start..m.end).contains(&address))?;
        if !mapping.path.starts_with('/') {
            // `[vdso]`, or memory that programs are compiled to.
            return Some(mapping.path.clone()).filter(|path| !path.is_empty());
        }
        // As the process sees it, which may have another root.
        let file = format!("/proc/{process}/root{}", mapping.path);
        let read = || fs::read(&file).ok().and_then(|bytes| FileSymbols::parse(&bytes));
        let known = self.files.entry(file.clone()).or_insert_with(|| read().unwrap_or_default());
        let found = known.function(address - mapping.start + mapping.offset);
        found.map(str::to_owned).or_else(|| Some(mapping.path.rsplit('/').next()?.to_owned()))
    }
}

impl FileSymbols {
    /// `None` of what is no ELF file.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        });
        let mut functions: Vec<_> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.address() != 0)
            .filter_map(|symbol| {
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
                Some((symbol.address(), symbol.size(), name))
            })
            .collect();
        functions.sort_unstable();
        Some(Self { segments: segments.collect(), functions })
    }

    /// The function at an offset in the file.
    fn function(&self, offset: u64) -> Option<&str> {
        let within = |(start, size, _): &&(u64, u64, u64)| {
            offset.checked_sub(*start).is_some_and(|into| into < *size)
        };
        let (start, _, address) = self.segments.iter().find(within)?;
        let address = (offset - start).checked_add(*address)?;
        let after = self.functions.partition_point(|(at, ..)| *at <= address);
        let (at, size, name) = self.functions.get(after.checked_sub(1)?)?;
        // Functions in assembler may have no size.
        (*size == 0 || address - at < *size).then_some(name)
    }
}

/// A line of proc_pid_maps(5), where it maps code.
fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(word)
    };
    let (start, end) = word()?.split_once('-')?;
    let is_code = word()?.contains('x');
    let offset = u64::from_str_radix(word()?, 16).ok()?;
    let (_device, _inode) = (word()?, word()?);
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).ok());
    let mapping = Mapping { start: start?, end: end?, offset, path: rest.trim().to_owned() };
    (is_code && mapping.start < mapping.end).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[inline(never)]
    fn a_function_of_this_test() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn functions_of_this_process_have_their_names() {
        let own = std::process::id();
        let mut symbols = UserSymbols::default();
        assert_eq!(symbols.name(own, a_function_of_this_test as *const () as u64), None);
        symbols.note(own);
        symbols.note(u32::MAX);
        let name = symbols.name(own, a_function_of_this_test as *const () as u64).unwrap();
        assert!(name.ends_with("a_function_of_this_test"), "{name}");
        assert_eq!(symbols.name(own, 8), None);
    }

    #[test]
    fn lines_of_maps_are_read() {
        let line = "55d0-55e0 r-xp 00001000 fe:00 12345                      /usr/bin/a b";
        let expected =
            Mapping { start: 0x55d0, end: 0x55e0, offset: 0x1000, path: "/usr/bin/a b".into() };
        assert_eq!(mapping(line), Some(expected));
        assert_eq!(mapping("55d0-55e0 rw-p 00001000 fe:00 12345 /usr/bin/a"), None);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(line in "[0-9a-f -xrp/:]{0,60}", bytes: Vec<u8>, offset: u64) {
            let _ = mapping(&line);
            let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
            elf.extend(&bytes);
            for bytes in [&bytes, &elf] {
                let _ = FileSymbols::parse(bytes).map(|symbols| symbols.function(offset).is_some());
            }
        }
    }
}
