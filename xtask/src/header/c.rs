//! Items in C.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};

use super::item::{Constant, Function, Type};

/// What the header consists of.
pub(super) struct Parts<'a> {
    pub(super) types: &'a [Type],
    pub(super) constants: &'a [Constant],
    pub(super) added: &'a [Type],
    pub(super) added_constants: &'a [Constant],
    pub(super) link_types: &'a BTreeMap<u32, String>,
    pub(super) functions: &'a [Function],
}

/// Types that are not defined in the crate. An instruction is `struct sock_filter` of the kernel, by another name.
const KNOWN: &[(&str, &str)] = &[
    ("()", "void"),
    ("Dumper", "pcap_dumper_t"),
    ("FILE", "FILE"),
    ("Handle", "pcap_t"),
    ("Instruction", "struct bpf_insn"),
    ("Options", "pcap_options"),
    ("Option<Handler>", "pcap_handler"),
    ("c_char", "char"),
    ("c_int", "int"),
    ("c_long", "long"),
    ("c_uint", "u_int"),
    ("c_void", "void"),
    ("i64", "int64_t"),
    ("libc::FILE", "FILE"),
    ("libc::addrinfo", "struct addrinfo"),
    ("libc::sockaddr", "struct sockaddr"),
    ("libc::timeval", "struct timeval"),
    ("u16", "u_short"),
    ("u32", "bpf_u_int32"),
    ("u8", "u_char"),
    ("usize", "size_t"),
];

const BEGINNING: &str = "\
/* libpcap's functions as linerate has them: made from its code by `cargo xtask header`. */

#ifndef LINERATE_PCAP_H
#define LINERATE_PCAP_H

#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <linux/filter.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

/// So that the compiler compares what follows with libpcap's own header where that was included before.
const TYPES: &str = "\
#ifndef lib_pcap_pcap_h
#define lib_pcap_pcap_h

typedef int bpf_int32;
typedef u_int bpf_u_int32;
typedef struct pcap pcap_t;
typedef struct pcap_dumper pcap_dumper_t;
typedef struct pcap_if pcap_if_t;
typedef struct pcap_addr pcap_addr_t;

struct bpf_insn {
\tu_short code;
\tu_char jt;
\tu_char jf;
\tbpf_u_int32 k;
};

";

/// What no header of libpcap 1.10 has.
const ADDED: &str = "\
#endif

/* What WinPcap and libpcap 1.11 have beside libpcap 1.10. */
typedef struct pcap_options pcap_options;
typedef struct pcap_send_queue pcap_send_queue;
";

const END: &str = "\
#ifdef __cplusplus
}
#endif

#endif
";

/// The header.
///
/// # Errors
/// When a type has no name in C.
pub(super) fn header(parts: &Parts<'_>) -> Result<String> {
    let names = Names { types: parts.types, added: parts.added };
    let mut text = String::from(BEGINNING);
    text += TYPES;
    for constant in parts.constants {
        writeln!(text, "#define {} {}", constant.c_name, constant.value)?;
    }
    text += "\n";
    parts.types.iter().try_for_each(|t| names.define(&mut text, t))?;
    text += ADDED;
    for constant in parts.added_constants {
        writeln!(text, "#define {} {}", constant.c_name, constant.value)?;
    }
    text += "\n";
    parts.added.iter().try_for_each(|t| names.define(&mut text, t))?;
    for (number, name) in parts.link_types {
        writeln!(text, "#define DLT_{name} {number}")?;
    }
    text += "\n";
    for function in parts.functions {
        text += &names.declare(function).with_context(|| function.name.clone())?;
    }
    text += END;
    Ok(text)
}

/// A note without the marks of rustdoc, as a sentence.
fn comment(note: &str) -> String {
    let plain = note.replace(['`', '[', ']'], "");
    let mut letters = plain.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

struct Names<'a> {
    types: &'a [Type],
    added: &'a [Type],
}

impl Names<'_> {
    /// A type's name, before that of what is of it.
    fn of(&self, kind: &str) -> Result<String> {
        for (mark, of_const) in [("*const ", true), ("*mut ", false)] {
            if let Some(target) = kind.strip_prefix(mark) {
                let target = self.of(target)?;
                // A constant pointer to pointers is one to constant pointers.
                let target = match (of_const, target.trim_end().ends_with('*')) {
                    (true, true) => format!("{target}const "),
                    (true, false) => format!("const {target}"),
                    (false, _) => target,
                };
                return Ok(format!("{target}*"));
            }
        }
        let own = self.types.iter().chain(self.added).find(|known| known.name == kind);
        let own = own.map(|known| known.c_name.as_str());
        let known = || KNOWN.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
        let name = own.or_else(known).with_context(|| format!("no name in C for {kind}"))?;
        Ok(format!("{name} "))
    }

    /// One that has a name: a member, an argument.
    fn named(&self, name: &str, kind: &str, whole: &str) -> Result<String> {
        if let Some((element, count)) =
            kind.strip_prefix('[').and_then(|k| k.strip_suffix(']')?.split_once("; "))
        {
            return Ok(format!("{}{name}[{count}]", self.of(element)?));
        }
        let kind = if kind == "*mut Self" { format!("*mut {whole}") } else { kind.to_owned() };
        Ok(format!("{}{name}", self.of(&kind)?))
    }

    fn define(&self, text: &mut String, of: &Type) -> Result<()> {
        if !of.note.is_empty() {
            writeln!(text, "/* {} */", comment(&of.note))?;
        }
        match &of.alias {
            Some(alias) if alias.contains("fn(") => {
                writeln!(text, "typedef {};\n", self.callback(&of.c_name, alias)?)?;
            }
            Some(alias) => writeln!(text, "typedef {}{};\n", self.of(alias)?, of.c_name)?,
            None => {
                writeln!(text, "{} {{", of.c_name)?;
                for (note, name, kind) in &of.fields {
                    let member = self.named(name, kind, &of.name)?;
                    writeln!(text, "\t{member}; /* {} */", comment(note))?;
                }
                text.push_str("};\n\n");
            }
        }
        Ok(())
    }

    /// A pointer to functions that return nothing.
    fn callback(&self, name: &str, alias: &str) -> Result<String> {
        let (_, arguments) = alias.split_once("fn(").context("a function")?;
        let arguments = arguments.trim_end_matches(')').split(", ").map(|kind| self.of(kind));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let arguments: Vec<_> = arguments.iter().map(|kind| kind.trim_end()).collect();
        Ok(format!("void (*{name})({})", arguments.join(", ")))
    }

    fn declare(&self, function: &Function) -> Result<String> {
        let arguments = function.arguments.iter().map(|(name, kind)| self.named(name, kind, ""));
        let arguments = arguments.collect::<Result<Vec<_>>>()?.join(", ");
        let arguments = if arguments.is_empty() { "void" } else { &arguments };
        let result = self.of(&function.result)?;
        let Function { name, note, .. } = function;
        Ok(format!("/* {} */\n{result}{name}({arguments});\n\n", comment(note)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, kind: &str) -> String {
        let whole = Type {
            c_name: "struct s".into(),
            note: String::new(),
            fields: Vec::new(),
            name: "S".into(),
            alias: None,
        };
        Names { types: &[whole], added: &[] }.named(name, kind, "S").unwrap()
    }

    #[test]
    fn pointers_are_as_in_c() {
        assert_eq!(named("a", "*const c_char"), "const char *a");
        assert_eq!(named("a", "*mut *const u8"), "const u_char **a");
        assert_eq!(named("a", "*mut Self"), "struct s *a");
        assert_eq!(named("a", "[u8; 6]"), "u_char a[6]");
        assert_eq!(named("a", "u32"), "bpf_u_int32 a");
    }
}
