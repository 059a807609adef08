//! What the name of a savefile says of it.

/// What follows the last dot of `name`, in lower case.
pub(super) fn ending(name: &str) -> Option<String> {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

/// `name` without the ending of a compression that is written here.
pub(super) fn uncompressed(name: &str) -> &str {
    match (ending(name).as_deref(), name.rsplit_once('.')) {
        (Some("gz" | "zst"), Some((plain, _))) => plain,
        _ => name,
    }
}
