//! For those whose fingers know tcpdump: where its flags belong here.

use std::env;

use clap::error::ErrorKind;

use crate::output;

/// Shows the parser's error, or the help that was asked for, with a word on where a flag of tcpdump's
/// belongs, and ends the process with the status that goes with it.
pub(crate) fn exit(error: &clap::Error) -> ! {
    // A terminal that is gone does not change the status.
    let _ = error.print();
    if error.kind() == ErrorKind::UnknownArgument {
        let words: Vec<_> = env::args_os().skip(1).take(2).collect();
        let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
        if let Some(hint) = hint(&words) {
            output::tell(hint);
        }
    }
    std::process::exit(error.exit_code())
}

fn hint(words: &[&str]) -> Option<&'static str> {
    match words {
        [flag, ..] if flag.starts_with("-r") => Some("a savefile is read by `linerate read FILE`"),
        [flag, ..] if flag.starts_with("-D") => Some("`linerate interfaces` lists the interfaces"),
        [flag, ..] if flag.starts_with("-d") => Some("`linerate filter` shows a filter's program"),
        [flag, ..] if flag.starts_with('-') => Some("a live capture is `linerate capture -i IF`"),
        ["capture", flag] if flag.starts_with("-r") => {
            Some("a savefile is read by `linerate read FILE`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn flags_of_tcpdump_are_shown_their_place() {
        assert!(hint(&["-r", "x.pcap"]).unwrap().contains("linerate read"));
        assert!(hint(&["-i", "lo"]).unwrap().contains("linerate capture"));
        assert!(hint(&["capture", "-r"]).unwrap().contains("linerate read"));
        assert_eq!(hint(&["capture", "--nonsense"]), None);
    }
}
