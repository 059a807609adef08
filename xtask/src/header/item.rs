//! What is read of the code: its form is that of rustfmt, and anything else is an error.

use anyhow::{Context, Result};

/// A function that the library exports.
#[derive(Debug, PartialEq)]
pub(super) struct Function {
    pub(super) name: String,
    /// What it does.
    pub(super) note: String,
    /// Names and types.
    pub(super) arguments: Vec<(String, String)>,
    pub(super) result: String,
}

/// A struct, or another name of a type.
#[derive(Debug, PartialEq)]
pub(super) struct Type {
    /// Its name in C: what its note begins with.
    pub(super) c_name: String,
    /// What it is.
    pub(super) note: String,
    /// Notes, names and types; of another name none.
    pub(super) fields: Vec<(String, String, String)>,
    /// Its name here.
    pub(super) name: String,
    /// What it is another name of.
    pub(super) alias: Option<String>,
}

/// A number with a name.
#[derive(Debug, PartialEq)]
pub(super) struct Constant {
    pub(super) c_name: String,
    pub(super) value: String,
}

/// What `entry!` defines: `fn name(arguments) -> result, fault => {`.
///
/// # Errors
/// When a function is not of that form.
pub(super) fn functions(code: &str) -> Result<Vec<Function>> {
    let mut found = Vec::new();
    for block in code.split("\nentry! {\n").skip(1) {
        let block = block.split("\n}\n").next().unwrap_or(block);
        for (at, _) in block.match_indices("\n    fn ").chain(begins_with_function(block)) {
            found.push(function(&block[..at], block[at..].trim_start())?);
        }
    }
    Ok(found)
}

/// A block without a note before its first function.
fn begins_with_function(block: &str) -> Option<(usize, &str)> {
    block.starts_with("    fn ").then_some((0, ""))
}

fn function(before: &str, text: &str) -> Result<Function> {
    let parse = || {
        let (name, rest) = text.strip_prefix("fn ")?.split_once('(')?;
        let (arguments, rest) = rest.split_once(") -> ")?;
        let (head, _) = rest.split_once(" => ")?;
        let (result, _) = head.split_once(", ")?;
        let one = |argument: &str| {
            let (name, kind) = argument.trim().split_once(": ")?;
            Some((name.trim_start_matches('_').to_owned(), kind.to_owned()))
        };
        let arguments = arguments.split(',').map(str::trim).filter(|one| !one.is_empty());
        Some(Function {
            name: name.into(),
            note: note(before),
            arguments: arguments.map(one).collect::<Option<_>>()?,
            result: result.into(),
        })
    };
    parse().with_context(|| {
        format!("not of the form of `entry!`: {}", text.lines().next().unwrap_or(""))
    })
}

/// The note at the end of a text, in one line.
fn note(text: &str) -> String {
    let lines: Vec<_> =
        text.lines().rev().take_while(|line| line.trim().starts_with("///")).collect();
    let lines = lines.iter().rev().map(|line| line.trim().trim_start_matches("///").trim());
    lines.collect::<Vec<_>>().join(" ")
}

/// The text between the first two backquotes of a note, and what follows.
fn c_name(note: &str) -> Option<(&str, &str)> {
    note.strip_prefix('`')?.split_once('`')
}

/// Public structs and other names whose notes begin with a name in C.
///
/// # Errors
/// When a field is not of the form `pub name: Type,`.
pub(super) fn types(code: &str) -> Result<Vec<Type>> {
    let mut found = Vec::new();
    let lines: Vec<_> = code.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub struct ").or(line.strip_prefix("pub type ")) else {
            continue;
        };
        let before = lines[..at].iter().rev().skip_while(|line| line.starts_with("#["));
        let before: Vec<_> = before.take_while(|line| line.starts_with("///")).copied().collect();
        let before: Vec<_> = before.into_iter().rev().collect();
        let note = note(&before.join("\n"));
        let Some((c_name, what)) = c_name(&note) else { continue };
        let (name, alias) = match rest.split_once(" = ") {
            Some((name, alias)) => (name, Some(alias.trim_end_matches(';').to_owned())),
            None => (rest.trim_end_matches(" {"), None),
        };
        let body = lines[at + 1..].iter().take_while(|line| **line != "}");
        let body = if alias.is_some() { Vec::new() } else { body.copied().collect() };
        found.push(Type {
            c_name: c_name.into(),
            note: what.trim_start_matches([',', ':', '.', ' ']).into(),
            fields: fields(&body).with_context(|| format!("struct {name}"))?,
            name: name.into(),
            alias,
        });
    }
    Ok(found)
}

fn fields(body: &[&str]) -> Result<Vec<(String, String, String)>> {
    let mut found = Vec::new();
    for (at, line) in body.iter().enumerate() {
        let line = line.trim();
        if line.starts_with("///") {
            continue;
        }
        let parts =
            line.strip_prefix("pub ").and_then(|line| line.trim_end_matches(',').split_once(": "));
        let (name, kind) = parts.with_context(|| format!("not a public field: {line}"))?;
        found.push((note(&body[..at].join("\n")), name.into(), kind.into()));
    }
    Ok(found)
}

/// Constants whose notes begin with a name in C.
pub(super) fn constants(code: &str) -> Vec<Constant> {
    let lines: Vec<_> = code.lines().collect();
    let one = |(at, line): (usize, &&str)| {
        let (_, value) = line.strip_prefix("pub const ")?.split_once(" = ")?;
        let note = note(&lines[..at].join("\n"));
        let (c_name, _) = c_name(&note)?;
        let value = value.trim_end_matches(';').replace('_', "");
        Some(Constant { c_name: c_name.into(), value })
    };
    lines.iter().enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_notes() {
        let code = "\nentry! {\n    /// Does\n    /// it.\n    fn a(x: *mut u8, _y: c_int) -> c_int, ERROR => {\n        let f = 1;\n    }\n\n    /// More.\n    fn b(\n        x: u32\n    ) -> (), () => {\n    }\n}\n";
        let found = functions(code).unwrap();
        assert_eq!((&*found[0].name, &*found[0].note), ("a", "Does it."));
        assert_eq!(found[0].arguments[1], ("y".into(), "c_int".into()));
        assert_eq!((&*found[1].note, &*found[1].result), ("More.", "()"));
        assert_eq!(found[1].arguments, [("x".into(), "u32".into())]);
        functions("\nentry! {\n    fn c() {\n    }\n}\n").unwrap_err();
    }

    #[test]
    fn structs_and_numbers_are_found_by_their_names_in_c() {
        let code = "/// `struct s`: one.\n#[repr(C)]\npub struct S {\n    /// How many.\n    pub n: u32,\n}\n\n/// `t`.\npub type T = c_int;\n\n/// Ours.\npub struct U {\n    n: u32,\n}\n\n/// `N`: a number.\npub const M: u32 = 0xffff_ffff;\n/// None.\npub const O: u32 = 1;\n";
        let found = types(code).unwrap();
        assert_eq!((&*found[0].c_name, &*found[0].note, found.len()), ("struct s", "one.", 2));
        assert_eq!(found[0].fields, [("How many.".into(), "n".into(), "u32".into())]);
        assert_eq!(found[1].alias.as_deref(), Some("c_int"));
        assert_eq!(constants(code), [Constant { c_name: "N".into(), value: "0xffffffff".into() }]);
        types("/// `struct s`.\npub struct S {\n    n: u32,\n}\n").unwrap_err();
    }
}
