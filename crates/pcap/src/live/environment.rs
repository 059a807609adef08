//! What the environment asks of captures, where programs have no flag for it.

use std::env;
use std::str::FromStr;

use linerate::base::Error;
use linerate::capture::Config;

/// Which back end to take and no other.
const BACKEND: &str = "LINERATE_BACKEND";
/// How many MiB of memory packets have to wait in, whatever the program asks for.
const BUFFER: &str = "LINERATE_BUFFER";
/// Who stamps packets.
const TIMESTAMPS: &str = "LINERATE_TIMESTAMPS";
/// Whether to keep packets from the host.
const EXCLUSIVE: &str = "LINERATE_EXCLUSIVE";

/// Flags of the command that advice names, and what stands for them here.
const FLAGS: [(&str, &str); 4] = [
    ("--force", "LINERATE_EXCLUSIVE=force"),
    ("--backend ", "LINERATE_BACKEND="),
    ("--buffer", BUFFER),
    ("--timestamps", TIMESTAMPS),
];

/// An error whose advice is for those who have no flags.
pub(super) fn words(error: &Error) -> String {
    FLAGS.iter().fold(error.to_string(), |text, (flag, variable)| text.replace(flag, variable))
}

/// Does as the environment asks.
///
/// # Errors
/// The variable and what is wrong with it.
pub(super) fn apply(config: &mut Config) -> Result<(), String> {
    follow(config, |name| env::var(name).ok())
}

fn follow(config: &mut Config, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let asked = |name| variable(name).filter(|text| !text.is_empty()).map(|text| (name, text));
    if let Some(asked) = asked(BACKEND) {
        config.backend = Some(read(asked)?);
    }
    if let Some(asked) = asked(BUFFER) {
        let mebibytes: u32 = read(asked)?;
        config.buffer = u64::from(mebibytes) << 20;
    }
    if let Some(asked) = asked(TIMESTAMPS) {
        config.timestamps = read(asked)?;
    }
    if let Some((name, text)) = asked(EXCLUSIVE) {
        config.exclusive = true;
        config.force = match text.as_str() {
            "yes" => false,
            "force" => true,
            _ => return Err(format!("{name}: it is `yes` or `force`, not {text:?}")),
        };
    }
    Ok(())
}

fn read<T: FromStr<Err: std::fmt::Display>>((name, text): (&str, String)) -> Result<T, String> {
    text.parse().map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use linerate::base::{ErrorKind, TimestampSource};
    use linerate::capture::{Backend, Interrupt};

    use super::*;

    fn following(variables: &[(&str, &str)]) -> Result<Config, String> {
        let mut config = Config::new("eth0", Interrupt::new().unwrap());
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name);
        follow(&mut config, |name| value(name).map(|(_, text)| (*text).to_owned()))?;
        Ok(config)
    }

    #[test]
    fn the_environment_is_followed() {
        let config = following(&[
            (BACKEND, "tap-xdp"),
            (BUFFER, "7"),
            (TIMESTAMPS, "sampled"),
            (EXCLUSIVE, "force"),
        ]);
        let config = config.unwrap();
        assert_eq!((config.backend, config.buffer), (Some(Backend::TapXdp), 7 << 20));
        assert_eq!(config.timestamps, TimestampSource::Sampled);
        assert!(config.exclusive && config.force);
        assert!(!following(&[(EXCLUSIVE, "yes")]).unwrap().force);
        let unasked = following(&[(BACKEND, ""), (EXCLUSIVE, "")]).unwrap();
        assert!(unasked.backend.is_none() && !unasked.exclusive);
    }

    #[test]
    fn advice_names_variables() {
        let error = |advice| Error::new(ErrorKind::Busy, "capture", "no").advise(advice);
        assert_eq!(words(&error("lower --buffer")), "capture: no (lower LINERATE_BUFFER)");
        let text = words(&error("ask for --backend xdp, --force does it"));
        assert!(text.ends_with("(ask for LINERATE_BACKEND=xdp, LINERATE_EXCLUSIVE=force does it)"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [(BACKEND, "rocket"), (BUFFER, "-1"), (TIMESTAMPS, "sun"), (EXCLUSIVE, "1")];
        for (name, text) in cases {
            assert!(following(&[(name, text)]).unwrap_err().starts_with(name));
        }
    }
}
