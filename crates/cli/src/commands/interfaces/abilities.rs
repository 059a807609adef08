//! What an interface can do for a capture, for people and for programs.

use linerate::capture::{Backend, Probe, Support};
use serde_json::{Map, Value, json};

/// Lines for people: a name and what is to be said.
pub(super) fn lines(probe: &Probe, is_one: bool) -> Vec<(&'static str, String)> {
    let usable = |support: &Support| !matches!(support, Support::No(_));
    let names: Vec<_> = probe
        .backends
        .iter()
        .filter(|(_, support)| usable(support))
        .map(|(backend, _)| backend.name())
        .collect();
    let names = if names.is_empty() { "none".into() } else { names.join(", ") };
    let mut lines = vec![("back ends", names)];
    for (backend, support) in &probe.backends {
        if let Support::No(reason) | Support::Unknown(reason) = support {
            lines.push(("", format!("{}{backend}: {reason}", word(support))));
        }
    }
    let default = probe.chosen.map(|backend| format!("{backend} ({})", probe.reason));
    lines.push(("by default", default.unwrap_or("none".into())));
    if is_one {
        lines.push(("exclusive", answer(&probe.exclusive)));
        lines.push(("native XDP", answer(&probe.native_xdp)));
        lines.push(("zero copy", answer(&probe.zero_copy)));
        lines.push(("clock", answer(&probe.hardware_timestamps)));
        lines.push(("checksums", answer(&probe.checksum_offload)));
        lines.push(("launch time", answer(&probe.launch_times)));
    }
    lines
}

fn word(support: &Support) -> &'static str {
    match support {
        Support::Yes => "yes",
        Support::No(_) => "not ",
        Support::Unknown(_) => "perhaps ",
    }
}

fn answer(support: &Support) -> String {
    match support {
        Support::Yes => "yes".into(),
        Support::No(reason) => format!("no: {reason}"),
        Support::Unknown(reason) => format!("not known: {reason}"),
    }
}

/// Fields for programs.
pub(super) fn fields(probe: &Probe) -> Map<String, Value> {
    let backends: Map<_, _> = probe
        .backends
        .iter()
        .map(|(backend, support)| (backend.name().to_owned(), value(support)))
        .collect();
    let default = json!({ "backend": probe.chosen.map(Backend::name), "reason": probe.reason });
    let fields = [
        ("backends", backends.into()),
        ("default", default),
        ("exclusive", value(&probe.exclusive)),
        ("native_xdp", value(&probe.native_xdp)),
        ("zero_copy", value(&probe.zero_copy)),
        ("hardware_timestamps", value(&probe.hardware_timestamps)),
        ("checksum_offload", value(&probe.checksum_offload)),
        ("launch_times", value(&probe.launch_times)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn value(support: &Support) -> Value {
    match support {
        Support::Yes => json!({ "support": "yes" }),
        Support::No(reason) => json!({ "support": "no", "reason": reason }),
        Support::Unknown(reason) => json!({ "support": "unknown", "reason": reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_what_can_be_used_and_why_the_rest_cannot() {
        let no = || Support::No("too old".into());
        let probe = Probe {
            backends: vec![
                (Backend::Tap, no()),
                (Backend::TapXdp, Support::Unknown("dark".into())),
                (Backend::Ring, Support::Yes),
            ],
            native_xdp: Support::Yes,
            zero_copy: no(),
            exclusive: no(),
            hardware_timestamps: Support::Unknown("dark".into()),
            checksum_offload: Support::Yes,
            launch_times: no(),
            chosen: Some(Backend::Ring),
            reason: "tap: too old".into(),
        };
        let said: Vec<_> =
            lines(&probe, true).iter().map(|(name, text)| format!("{name}|{text}")).collect();
        assert_eq!(
            said,
            [
                "back ends|tap-xdp, ring",
                "|not tap: too old",
                "|perhaps tap-xdp: dark",
                "by default|ring (tap: too old)",
                "exclusive|no: too old",
                "native XDP|yes",
                "zero copy|no: too old",
                "clock|not known: dark",
                "checksums|yes",
                "launch time|no: too old",
            ]
        );
        assert_eq!(lines(&probe, false).len(), 4);
        let fields = Value::from(fields(&probe));
        assert_eq!(fields["backends"]["tap"]["reason"], "too old");
        assert_eq!(fields["default"]["backend"], "ring");
    }
}
