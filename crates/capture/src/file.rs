//! The `file` back end: a savefile, or one that comes through standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use linerate_base::{Error, Result};
use linerate_savefile::Reader;

/// A savefile as a source of packets.
pub type FileSource = Reader<Box<dyn Read + Send>>;

/// Opens the savefile at `path`, of any format and compression that is known; `-` is standard input.
///
/// # Errors
/// When it cannot be opened, or does not begin as a savefile does.
pub fn open_file(path: &Path) -> Result<FileSource> {
    let input: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(open(path)?),
    };
    Reader::new(input).map_err(|error| error.within(&path.display().to_string()))
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::system(format!("read {}", path.display()), e))
}

#[cfg(test)]
mod tests {
    use linerate_base::ErrorKind;

    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = open_file(Path::new("/no/such/file")).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().starts_with("read /no/such/file: "), "{error}");
    }
}
