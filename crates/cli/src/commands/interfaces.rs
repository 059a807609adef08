//! `linerate interfaces`: what can be captured on.

mod abilities;

use std::fmt::Write as _;

use anyhow::Result;
use linerate::capture::{self, Capturable, Prober};
use linerate::sys::interface::Interface;
use serde_json::{Value, json};

use crate::args::InterfacesArgs;
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &InterfacesArgs) -> Result<Outcome> {
    let all = capture::interfaces()?;
    let text = if args.json {
        let prober = Prober::new();
        let values: Vec<_> = all.iter().map(|capturable| value(capturable, &prober)).collect();
        serde_json::to_string_pretty(&values)? + "\n"
    } else {
        listing(&all, args.verbose)
    };
    output::text(text)?;
    Ok(Outcome::Success)
}

/// `-L`: the link types that an interface has, the default first.
///
/// # Errors
/// When there is no such interface.
pub(crate) fn link_types(interface: &str) -> Result<Outcome> {
    let mut text = String::new();
    for link_type in capture::link_types(interface)? {
        let _ = writeln!(text, "{link_type} ({})", link_type.description().unwrap_or("unknown"));
    }
    output::text(text)?;
    Ok(Outcome::Success)
}

fn listing(all: &[Capturable], verbose: bool) -> String {
    let mut text = String::new();
    let prober = verbose.then(Prober::new);
    for (number, capturable) in (1..).zip(all) {
        let _ = writeln!(text, "{number}.{} {}", capturable.name, state(capturable));
        if let Some(prober) = &prober {
            text += &details(capturable, prober);
        }
    }
    text
}

fn state(capturable: &Capturable) -> String {
    let Some(interface) = &capturable.interface else {
        return "(all interfaces at once)".into();
    };
    let states = [
        (interface.is_up, "Up"),
        (interface.is_running, "Running"),
        (interface.is_loopback, "Loopback"),
    ];
    let names: Vec<_> = states.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    format!("[{}]", names.join(", "))
}

fn details(capturable: &Capturable, prober: &Prober) -> String {
    let types: Vec<_> = capturable.link_types.iter().map(ToString::to_string).collect();
    let mut lines = vec![("link types", types.join(", "))];
    lines.extend(capturable.interface.iter().flat_map(properties));
    lines.extend(abilities::lines(&prober.probe(capturable), capturable.interface.is_some()));
    let mut text = String::new();
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "    {name:<11} {value}");
    }
    text
}

fn properties(interface: &Interface) -> [(&'static str, String); 5] {
    let Interface { receive_queues, transmit_queues, .. } = interface;
    [
        ("address", hardware_address(interface)),
        ("addresses", addresses(interface).join(", ")),
        ("MTU", interface.mtu.to_string()),
        ("driver", interface.driver.clone().unwrap_or_default()),
        ("queues", format!("{receive_queues} receive, {transmit_queues} transmit")),
    ]
}

fn hardware_address(interface: &Interface) -> String {
    let octets: Vec<_> = interface.hardware_address.iter().map(|o| format!("{o:02x}")).collect();
    octets.join(":")
}

fn addresses(interface: &Interface) -> Vec<String> {
    interface.addresses.iter().map(|a| format!("{}/{}", a.ip, a.prefix)).collect()
}

fn value(capturable: &Capturable, prober: &Prober) -> Value {
    let types: Vec<_> = capturable.link_types.iter().map(ToString::to_string).collect();
    let mut value = json!({ "name": capturable.name, "link_types": types });
    if let Value::Object(fields) = &mut value {
        fields.extend(capturable.interface.iter().flat_map(known));
        fields.extend(abilities::fields(&prober.probe(capturable)));
    }
    value
}

fn known(interface: &Interface) -> serde_json::Map<String, Value> {
    let fields = [
        ("index", json!(interface.index)),
        ("up", json!(interface.is_up)),
        ("running", json!(interface.is_running)),
        ("loopback", json!(interface.is_loopback)),
        ("mtu", json!(interface.mtu)),
        ("hardware_address", json!(hardware_address(interface))),
        ("addresses", json!(addresses(interface))),
        ("driver", json!(interface.driver)),
        ("receive_queues", json!(interface.receive_queues)),
        ("transmit_queues", json!(interface.transmit_queues)),
        ("xdp_program", json!(interface.xdp_program)),
    ];
    fields.into_iter().map(|(name, value)| (name.into(), value)).collect()
}
