//! The numbers of link types (`DLT_`): named in crate `base` and in `names/rest.rs`, other than in savefiles where
//! `names/datalink.rs` says so.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};

use super::{CODE, read};

/// Link types that have no `DLT_` name.
const NAMELESS: [&str; 2] = ["AX25", "HDLC"];

/// Names by numbers.
///
/// # Errors
/// When a table is not where it was.
pub(super) fn all(root: &Path) -> Result<BTreeMap<u32, String>> {
    let base = read(&root.join("crates/base/src/link.rs"))?;
    let rest = read(&root.join(CODE).join("names/rest.rs"))?;
    let datalink = read(&root.join(CODE).join("names/datalink.rs"))?;
    tables(&base, &rest, &datalink).context("the tables of link types are not where they were")
}

fn tables(base: &str, rest: &str, datalink: &str) -> Option<BTreeMap<u32, String>> {
    let (_, different) = datalink.split_once("const DIFFERENT")?;
    let different = different.split("];").next()?.lines().filter_map(|line| {
        let (number, name) = line.trim().strip_prefix('(')?.split_once(", LinkType::")?;
        Some((name.trim_end_matches("),"), number.parse::<u32>().ok()?))
    });
    let different: HashMap<_, _> = different.collect();
    let (_, named) = base.split_once("\nlink_types! {\n")?;
    let mut found = BTreeMap::new();
    for line in named.split("\n}").next()?.lines() {
        let (constant, rest) = line.trim().split_once(" = ")?;
        let mut parts = rest.split(", ");
        let number = parts.next()?.parse().ok()?;
        let name = parts.next()?.trim_matches('"');
        if !NAMELESS.contains(&constant) {
            found.insert(*different.get(constant).unwrap_or(&number), name.to_owned());
        }
    }
    for entry in rest.split("LinkType(").skip(1) {
        let (number, rest) = entry.split_once(')')?;
        found.insert(number.parse().ok()?, rest.split('"').nth(1)?.to_owned());
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_libpcaps() {
        let base = "\nlink_types! {\n    ETHERNET = 1, \"EN10MB\", \"Ethernet\";\n    RAW = 101, \"RAW\", \"Raw IP\";\n    HDLC = 112, \"HDLC\", \"x\";\n}\n";
        let rest = "[(\n    LinkType(170),\n    \"GPF_T\", \"GPF-T\"),\n]";
        let datalink = "const DIFFERENT: x = &[\n    (12, LinkType::RAW),\n];";
        let found = tables(base, rest, datalink).unwrap();
        let found: Vec<_> = found.iter().map(|(number, name)| (*number, name.as_str())).collect();
        assert_eq!(found, [(1, "EN10MB"), (12, "RAW"), (170, "GPF_T")]);
        assert!(tables("", rest, datalink).is_none());
    }
}
