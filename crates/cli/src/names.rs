//! Names for numbers in printed packets, as far as they are known without asking anybody: a question
//! to a name server about what is captured would make more packets to capture.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use linerate::sys::interface;
use linerate::wire::{Names, Transport};

use crate::resolver::Table;

/// The names that this machine knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    services: HashMap<(Transport, u16), String>,
    /// Interfaces by index, as far as they were asked for; `None` where a number is not of this
    /// machine.
    interfaces: Option<RefCell<HashMap<u32, Option<String>>>>,
}

impl Known {
    /// The names of services, if `services`, and of this machine's interfaces, if the packets come by
    /// now: in a savefile the numbers may be of another machine, or of another day.
    pub(crate) fn new(services: bool, live: bool) -> Self {
        Self {
            services: if services { load_services(&Table::default()) } else { HashMap::new() },
            interfaces: live.then(RefCell::default),
        }
    }
}

fn load_services(table: &Table) -> HashMap<(Transport, u16), String> {
    let lines = table.lines("/etc/services");
    let entries = lines.filter_map(|mut words| {
        let (name, value) = (words.next()?, words.next()?);
        let (port, transport) = value.split_once('/')?;
        let transport = match transport {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            _ => return None,
        };
        Some(((transport, port.parse().ok()?), name.to_owned()))
    });
    entries.collect()
}

impl Names for Known {
    fn port(&self, transport: Transport, port: u16) -> Option<Cow<'_, str>> {
        self.services.get(&(transport, port)).map(|name| Cow::Borrowed(name.as_str()))
    }

    fn interface(&self, index: u32) -> Option<Cow<'_, str>> {
        let mut known = self.interfaces.as_ref()?.borrow_mut();
        let look_up = || interface::by_index(index).ok().map(|interface| interface.name);
        known.entry(index).or_insert_with(look_up).clone().map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_names_only_while_they_are_there() {
        assert_eq!(Known::new(false, true).interface(1).as_deref(), Some("lo"));
        assert_eq!(Known::new(false, true).interface(u32::MAX >> 1), None);
        assert_eq!(Known::new(false, false).interface(1), None);
    }

    #[test]
    fn services_have_names_only_when_asked_for() {
        assert_eq!(Known::new(false, false).port(Transport::Tcp, 80), None);
    }
}
