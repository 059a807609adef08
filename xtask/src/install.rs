//! `cargo xtask install-pcap`: our libpcap, its header and its pkg-config file below a prefix.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::Metadata;

use crate::header::INCLUDE;

/// The library's own name, by which programs that are linked with it ask for it, and its other ones.
const NAME: &str = "libpcap.so.0.8";
const LINKS: [&str; 2] = ["libpcap.so.1", "libpcap.so"];

/// The version of libpcap whose functions these are, as `pcap_lib_version` has it.
const VERSION: &str = "1.10.3";

/// Builds the library and installs it.
///
/// # Errors
/// When it cannot be built, or a file cannot be written.
pub(crate) fn run(metadata: &Metadata, prefix: &str) -> Result<()> {
    let prefix = std::path::absolute(prefix)?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--package", "linerate-pcap"]);
    ensure!(cargo.status()?.success(), "the library could not be built");
    let built = metadata.target_directory.join("release/libpcap.so");
    let include = metadata.workspace_root.join(INCLUDE);
    install(built.as_std_path(), include.as_std_path(), &prefix)?;
    let library = prefix.join("lib");
    println!("installed {}", library.join(NAME).display());
    println!("programs find it once ldconfig knows {} before the system's", library.display());
    Ok(())
}

fn install(built: &Path, include: &Path, prefix: &Path) -> Result<()> {
    let library = prefix.join("lib");
    let package = library.join("pkgconfig/libpcap.pc");
    copy(built, &library.join(NAME))?;
    for link in LINKS {
        let link = library.join(link);
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link).with_context(|| link.display().to_string())?;
        }
        symlink(NAME, &link).with_context(|| link.display().to_string())?;
    }
    for header in headers(include)? {
        let place = prefix.join("include").join(header.strip_prefix(include)?);
        copy(&header, &place)?;
    }
    parent(&package)?;
    fs::write(&package, description(prefix)).with_context(|| package.display().to_string())
}

/// Puts a copy in the place of what is there: who has the old file open keeps it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    parent(to)?;
    let new = to.with_extension("new");
    let copied = fs::copy(from, &new).and_then(|_| fs::rename(&new, to));
    copied.with_context(|| format!("copy {} to {}", from.display(), to.display()))
}

fn parent(of: &Path) -> Result<()> {
    let parent = of.parent().context("a file is in a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))
}

/// The headers in a folder and those below it.
fn headers(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(headers(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

/// What pkg-config(1) is told.
fn description(prefix: &Path) -> String {
    format!(
        "prefix={}\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include\n\n\
         Name: libpcap\n\
         Description: libpcap's functions on linerate's engines\n\
         Version: {VERSION}\n\
         Libs: -L${{libdir}} -lpcap\n\
         Cflags: -I${{includedir}}\n",
        prefix.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_found_by_its_names() {
        let folder = std::env::temp_dir().join(format!("linerate-install-{}", std::process::id()));
        let (include, prefix) = (folder.join("include"), folder.join("prefix"));
        fs::create_dir_all(include.join("pcap")).unwrap();
        for (name, text) in [("include/pcap.h", "a"), ("include/pcap/pcap.h", "b"), ("built", "c")]
        {
            fs::write(folder.join(name), text).unwrap();
        }
        // Once more in the place of what is there.
        for _ in 0..2 {
            install(&folder.join("built"), &include, &prefix).unwrap();
        }
        let found =
            ["lib/libpcap.so", "lib/libpcap.so.1", "lib/libpcap.so.0.8", "include/pcap/pcap.h"]
                .map(|name| fs::read_to_string(prefix.join(name)).unwrap());
        assert_eq!(found, ["c", "c", "c", "b"]);
        let package = fs::read_to_string(prefix.join("lib/pkgconfig/libpcap.pc")).unwrap();
        assert!(package.starts_with(&format!("prefix={}\n", prefix.display())), "{package}");
        fs::remove_dir_all(folder).unwrap();
    }
}
