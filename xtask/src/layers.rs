//! Imports point downward only.

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, Package};

/// What each crate may import, beside libraries from outside. A crate that is not listed here may
/// not exist: whoever adds one says where it stands.
const ALLOWED: &[(&str, &[&str])] = &[
    ("linerate-base", &[]),
    ("linerate-sys", &["base"]),
    ("linerate-wire", &["base"]),
    ("linerate-savefile", &["base"]),
    ("linerate-bpf", &["base"]),
    ("linerate-filter", &["base", "bpf"]),
    ("linerate-exec", &["base", "bpf", "filter", "sys"]),
    ("linerate-lab", &["base", "bpf", "sys"]),
    ("linerate-capture", &["base", "bpf", "savefile", "sys"]),
    ("linerate-transmit", &["base", "bpf", "savefile", "sys"]),
    ("linerate-profile", &["base", "bpf", "sys"]),
    ("linerate-tcp", &["base"]),
    ("linerate-scan", &["base", "tcp", "transmit"]),
    ("linerate-dns", &["base", "tcp"]),
    (
        "linerate",
        &[
            "base", "wire", "savefile", "bpf", "filter", "sys", "exec", "lab", "capture",
            "transmit", "profile", "tcp", "scan", "dns",
        ],
    ),
    ("linerate-cli", &["linerate"]),
    ("linerate-pcap", &["linerate"]),
    ("xtask", &[]),
];

/// The crates that may contain `unsafe`: the boundary to the kernel, and that to C programs.
const UNSAFE: [&str; 2] = ["linerate-sys", "linerate-pcap"];

/// The crate of which one file may, and the file.
const UNSAFE_FILE: (&str, &str) = ("linerate-exec", "src/kernels.rs");

/// Fails on an import that is not in the table. Tests may import anything below the facade:
/// they compare a layer with the kernel and with other programs.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    let packages = metadata.workspace_packages();
    let wrong: Vec<_> = packages.iter().flat_map(|p| forbidden(p)).collect();
    ensure!(wrong.is_empty(), "forbidden imports: {}", wrong.join(", "));
    for package in packages {
        allowed(package)?;
    }
    Ok(())
}

fn allowed(package: &Package) -> Result<&'static [&'static str]> {
    ALLOWED
        .iter()
        .find(|(name, _)| *name == package.name.as_str())
        .map(|(_, allowed)| *allowed)
        .with_context(|| format!("{} has no place in xtask/src/layers.rs", package.name))
}

fn forbidden(package: &Package) -> Vec<String> {
    let allowed = allowed(package).unwrap_or_default();
    let is_allowed =
        |name: &str| allowed.iter().any(|a| name == format!("linerate-{a}") || name == *a);
    let internal = package.dependencies.iter().filter(|d| d.name.starts_with("linerate"));
    internal
        .filter(|d| d.kind != DependencyKind::Development && !is_allowed(&d.name))
        .map(|d| format!("{} -> {}", package.name, d.name))
        .collect()
}

/// Fails where a crate does not take the workspace's lints, which forbid unsafe code.
pub(crate) fn check_lints(metadata: &Metadata) -> Result<()> {
    for package in metadata.workspace_packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path)?;
        match package.name.as_str() {
            name if UNSAFE.contains(&name) => {}
            name if name == UNSAFE_FILE.0 => check_unsafe_file(package, &manifest)?,
            _ if manifest.contains("[lints]\nworkspace = true") => {}
            _ => bail!("{} does not say `[lints] workspace = true`", package.manifest_path),
        }
    }
    Ok(())
}

/// Fails where the lint against unsafe code is not on, or another file than the one that may turns it off.
fn check_unsafe_file(package: &Package, manifest: &str) -> Result<()> {
    let on = manifest.contains("unsafe_code = \"deny\"");
    ensure!(on, "{} does not say `unsafe_code = \"deny\"`", package.manifest_path);
    let root = package.manifest_path.parent().context("a manifest is in a folder")?;
    let mut folders = vec![root.to_path_buf().into_std_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_code = path.extension().is_some_and(|extension| extension == "rs");
            if !is_code || path.ends_with(UNSAFE_FILE.1) {
                continue;
            }
            let turns_off = std::fs::read_to_string(&path)?.contains("unsafe_code");
            ensure!(!turns_off, "only {} may turn `unsafe_code` off: {path:?}", UNSAFE_FILE.1);
        }
    }
    Ok(())
}
