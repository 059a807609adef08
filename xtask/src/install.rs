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
    use linerate_lab::need;
    use tempfile::TempDir;

    use super::*;

    /// What the libraries and headers of the tests are installed below, twice, as over an older installation; `None`
    /// where they are not built.
    fn installed() -> Option<TempDir> {
        let built = std::env::current_exe().unwrap().with_file_name("libpcap.so");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(INCLUDE);
        let prefix = TempDir::new().unwrap();
        need::built(&built, "cargo test --workspace builds it").then(|| {
            install(&built, &include, prefix.path()).unwrap();
            install(&built, &include, prefix.path()).unwrap();
            prefix
        })
    }

    /// What a command prints that ends well.
    fn printed(command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn what_is_installed_has_all_its_names() {
        let Some(prefix) = installed() else { return };
        let library = prefix.path().join("lib");
        for link in LINKS {
            assert_eq!(fs::read_link(library.join(link)).unwrap(), Path::new(NAME));
        }
        assert!(!library.join(NAME).is_symlink());
        if need::program("readelf", "binutils") {
            let dynamic = printed(Command::new("readelf").arg("-d").arg(library.join(NAME)));
            assert!(dynamic.contains(&format!("Library soname: [{NAME}]")), "{dynamic}");
        }
    }

    #[test]
    fn programs_in_c_and_cpp_are_built_with_it_by_pkg_config() {
        let tools = [("gcc", "gcc"), ("g++", "g++"), ("pkg-config", "pkg-config")];
        let Some(prefix) = installed() else { return };
        if !tools.iter().all(|(program, package)| need::program(program, package)) {
            return;
        }
        let library = prefix.path().join("lib");
        let pkg_config = |flags: &[&str]| {
            let mut command = Command::new("pkg-config");
            let folder = library.join("pkgconfig");
            printed(command.args(flags).arg("libpcap").env("PKG_CONFIG_LIBDIR", folder))
        };
        assert_eq!(pkg_config(&["--modversion"]).trim(), VERSION);
        let flags = pkg_config(&["--cflags", "--libs"]);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/install/program.c");
        let program = prefix.path().join("program");
        for (compiler, language) in [("gcc", "c"), ("g++", "c++")] {
            let mut command = Command::new(compiler);
            command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", language]);
            command.arg(&source).args(["-x", "none", "-o"]).arg(&program);
            printed(command.args(flags.split_whitespace()));
            let said = printed(Command::new(&program).env("LD_LIBRARY_PATH", &library));
            let expected =
                format!("libpcap version {VERSION} (linerate {})", env!("CARGO_PKG_VERSION"));
            assert_eq!(said.lines().collect::<Vec<_>>(), [&expected, "40 bytes of a queue", "1"]);
        }
    }
}
