//! The kernel's symbols.

use std::fs;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::bpf::compiled_parts;

/// Where the kernel lists them.
const LIST: &str = "/proc/kallsyms";

/// Addresses of the kernel's code and their names, those of modules and of BPF programs included.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    /// By address.
    symbols: Vec<Symbol>,
    /// The end of what was built into the kernel.
    end: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol {
    address: u64,
    name: Box<str>,
}

/// What the programs of a tap are called (`capture/src/tap`).
pub(crate) const TAP: &str = "linerate_tap";

/// The list has no sizes. Behind the kernel's own code, a function is not taken to be longer than this.
const LONGEST: u64 = 64 << 10;

impl KernelSymbols {
    /// Those of the running kernel, as it is now: programs that are loaded later are not among them.
    ///
    /// # Errors
    /// [`ErrorKind::Permission`] where the kernel hides addresses from this process.
    pub fn read() -> Result<Self> {
        let asked = || format!("read the kernel's symbols from {LIST}");
        let text = fs::read_to_string(LIST).map_err(|e| Error::system(asked(), e))?;
        let symbols = Self::parse(&text).ok_or_else(|| {
            Error::new(ErrorKind::Permission, asked(), "their addresses are hidden")
                .advise("`sysctl kernel.kptr_restrict=0`, or CAP_SYSLOG, shows them")
        })?;
        // Without CAP_SYS_ADMIN a tap's program is one piece.
        let parts = compiled_parts(TAP).unwrap_or_default().into_iter();
        Ok(symbols.and(parts.map(|part| Symbol { address: part.address, name: part.name.into() })))
    }

    /// With these, which come before others at the same address.
    fn and(mut self, more: impl IntoIterator<Item = Symbol>) -> Self {
        self.symbols.extend(more);
        self.symbols.sort_by_key(|symbol| symbol.address);
        self
    }

    /// `None` when all addresses are hidden, or there is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut symbols: Vec<_> = text.lines().filter_map(symbol).collect();
        symbols.sort_by_key(|symbol| symbol.address);
        let end = symbols.iter().find(|symbol| &*symbol.name == "_etext");
        let end = end.map_or(u64::MAX, |symbol| symbol.address);
        (!symbols.is_empty()).then_some(Self { symbols, end })
    }

    /// The function in which `address` lies; `None` for code without a name, such as a compiled filter.
    pub fn name(&self, address: u64) -> Option<&str> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let found = &self.symbols[after.checked_sub(1)?];
        let is_close = address - found.address < LONGEST;
        let is_named = address < self.end || found.address > self.end && is_close;
        is_named.then_some(&*found.name)
    }
}

/// A line is an address, a letter for the kind, a name, and for modules `[MODULE]`. Of data there are symbols
/// too; they lie elsewhere.
fn symbol(line: &str) -> Option<Symbol> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    // A compiler's copy for a special case, or a part that is rarely run, belongs to its function.
    let name = words.next()?.split('.').next()?;
    (is_code && address != 0).then(|| Symbol { address, name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOME: &str = "\
0000000000000010 A percpu
ffffffff81000000 T _stext
ffffffff81000100 t tpacket_rcv
ffffffff81000400 t run_filter.isra.0
ffffffff81001000 T _etext
ffffffffc0000000 t veth_poll\t[veth]
ffffffffc0200000 t bpf_prog_6deef7357e7b4530_linerate_tap\t[bpf]
";

    #[test]
    fn addresses_are_named_and_code_without_a_name_is_not() {
        let symbols = KernelSymbols::parse(SOME).unwrap();
        let name = |address| symbols.name(address);
        assert_eq!(name(0xffff_ffff_8100_0123), Some("tpacket_rcv"));
        assert_eq!(name(0xffff_ffff_8100_0fff), Some("run_filter"));
        assert_eq!(name(0xffff_ffff_8100_2000), None);
        assert_eq!(name(0xffff_ffff_c000_0fff), Some("veth_poll"));
        assert_eq!(name(0xffff_ffff_c010_0000), None);
        assert!(name(0xffff_ffff_c020_0010).unwrap().ends_with("_linerate_tap"));
        assert_eq!(name(0x1000), None);
    }

    #[test]
    fn parts_of_a_program_are_named() {
        let part =
            |at: u64, name: &str| Symbol { address: 0xffff_ffff_c020_0000 + at, name: name.into() };
        let parts = [
            part(0, "linerate_tap"),
            part(0x40, "linerate_tap_filter"),
            part(0x90, "linerate_tap"),
        ];
        let symbols = KernelSymbols::parse(SOME).unwrap().and(parts);
        let names =
            [0, 0x3f, 0x40, 0x8f, 0x90].map(|at| symbols.name(0xffff_ffff_c020_0000 + at).unwrap());
        let (whole, filter) = ("linerate_tap", "linerate_tap_filter");
        assert_eq!(names, [whole, whole, filter, filter, whole]);
    }

    #[test]
    fn hidden_addresses_are_none() {
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n").is_none());
        assert!(KernelSymbols::parse("").is_none());
    }

    proptest! {
        #[test]
        fn no_list_makes_it_panic(text in "([0-9a-f]{0,17} [tTdA]? ?[a-z.]{0,3}\n?){0,9}", address: u64) {
            let _ = KernelSymbols::parse(&text).map(|symbols| symbols.name(address).map(str::len));
        }
    }
}
