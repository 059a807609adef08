//! Our libpcap, under the names by which programs ask for one.

use std::env;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use linerate::base::{Error, ErrorKind, Result};
use tempfile::TempDir;

/// Which file it is, whatever else is there.
const LIBRARY: &str = "LINERATE_LIBPCAP";

/// What it is called after a build, and where it is beside the folder of an installed `linerate`.
const NAME: &str = "libpcap.so";
const INSTALLED: &str = "../lib/linerate/libpcap.so";

/// What programs ask for: those of Debian, those of others, and who looks for it at run time.
const NAMES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];

const ASKED: &str = "find linerate's libpcap";

/// The library's file.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none.
pub(crate) fn find() -> Result<PathBuf> {
    let named = env::var_os(LIBRARY).filter(|name| !name.is_empty());
    let places = match named {
        Some(name) => vec![PathBuf::from(name)],
        None => beside(&env::current_exe().map_err(|e| Error::system(ASKED, e))?),
    };
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        let answered = format!("it is not at {}", places.join(" nor at "));
        Error::new(ErrorKind::NotFound, ASKED, answered).advise(format!(
            "`cargo build --release -p linerate-pcap` makes it; {LIBRARY}=FILE names another place"
        ))
    })
}

/// Where it is looked for.
fn beside(linerate: &Path) -> Vec<PathBuf> {
    let folder = linerate.parent().unwrap_or(Path::new("/"));
    [NAME, INSTALLED].map(|name| folder.join(name)).to_vec()
}

/// A folder with links to the library by all names, which goes when it is dropped. Whoever the program runs as may look
/// into it.
///
/// # Errors
/// When the system does not make it.
pub(crate) fn linked(library: &Path) -> Result<TempDir> {
    let make = || {
        let all = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().prefix("linerate-").permissions(all).tempdir()?;
        NAMES.iter().try_for_each(|name| symlink(library, folder.path().join(name)))?;
        Ok(folder)
    };
    make().map_err(|e| Error::system("make a folder for linerate's libpcap", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_and_an_installation_are_looked_at() {
        let places = beside(Path::new("/opt/bin/linerate"));
        let expected = ["/opt/bin/libpcap.so", "/opt/bin/../lib/linerate/libpcap.so"];
        assert_eq!(places, expected.map(PathBuf::from));
    }

    #[test]
    fn each_name_leads_to_the_library() {
        let folder = linked(Path::new("/dev/null")).unwrap();
        for name in NAMES {
            assert_eq!(folder.path().join(name).canonicalize().unwrap(), Path::new("/dev/null"));
        }
    }
}
