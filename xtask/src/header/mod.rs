//! libpcap's header, made from the code of crate `pcap`: `cargo xtask header` writes it, and `cargo xtask check` says where
//! it is old.
//!
//! - [`item`]: what is read of the code: notes, structs, constants, functions
//! - [`c`]: the same in C
//! - [`link_types`]: the numbers of link types

mod c;
mod item;
mod link_types;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Metadata;

/// Where the headers are, and where the code that it is made from.
pub(crate) const INCLUDE: &str = "crates/pcap/include";
const CODE: &str = "crates/pcap/src";

/// The header itself, and the names under which programs include parts of libpcap's.
const HEADER: &str = "pcap/pcap.h";
const OTHERS: [&str; 6] =
    ["pcap.h", "pcap-bpf.h", "pcap-namedb.h", "pcap/bpf.h", "pcap/dlt.h", "pcap/namedb.h"];

/// Structs and constants: those of libpcap, and those that WinPcap and libpcap 1.11 have beside them.
const TYPES: [&str; 2] = ["abi.rs", "names/ether.rs"];
const ADDED: &str = "abi/added.rs";

/// Writes the header and those that lead to it.
///
/// # Errors
/// When the code has something that is not understood; when a file cannot be written.
pub(crate) fn write(metadata: &Metadata) -> Result<()> {
    let root = metadata.workspace_root.as_std_path();
    for (path, text) in files(root)? {
        let parent = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(parent)?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Fails where the header is not what the code says.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    for (path, text) in files(metadata.workspace_root.as_std_path())? {
        let found = fs::read_to_string(&path).unwrap_or_default();
        ensure!(found == text, "{} is old: `cargo xtask header` writes it", path.display());
    }
    Ok(())
}

fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let include = root.join(INCLUDE);
    let lead = |name: &str| (include.join(name), format!("#include <{HEADER}>\n"));
    let mut files: Vec<_> = OTHERS.into_iter().map(lead).collect();
    files.push((include.join(HEADER), header(root)?));
    Ok(files)
}

fn header(root: &Path) -> Result<String> {
    let code = root.join(CODE);
    let types = TYPES.iter().map(|name| read(&code.join(name)));
    let types = types.collect::<Result<Vec<_>>>()?.concat();
    let mut functions = Vec::new();
    for path in sources(&code)? {
        let text = read(&path)?;
        functions.extend(item::functions(&text).with_context(|| path.display().to_string())?);
    }
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    let link_types = link_types::all(root)?;
    let added = read(&code.join(ADDED))?;
    c::header(&c::Parts {
        types: &item::types(&types)?,
        constants: &item::constants(&types),
        added: &item::types(&added)?,
        added_constants: &item::constants(&added),
        link_types: &link_types,
        functions: &functions,
    })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

/// All source files below a folder, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
