//! Names and numbers, as this machine's files and name servers have them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};
use std::sync::OnceLock;

use linerate::filter::{Hermetic, Resolver, Transport};

/// Asks the system: its name servers for hosts, its files in `/etc` for the rest. Where a file has
/// no answer, as in a container without one, the commonest services and protocols are known all
/// the same.
#[derive(Debug, Default)]
pub(crate) struct System {
    networks: Table,
    services: Table,
    protocols: Table,
    ethers: Table,
}

/// A file of names, read when first needed; one that is not there has no names.
#[derive(Debug, Default)]
pub(crate) struct Table(OnceLock<String>);

impl Table {
    /// The words of each line of `path`, comments left out.
    pub(crate) fn lines(&self, path: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        let text = self.0.get_or_init(|| fs::read_to_string(path).unwrap_or_default());
        text.lines().map(|line| line.split('#').next().unwrap_or_default().split_whitespace())
    }

    /// The value on the line `NAME VALUE ALIAS...` that has `name` as a name or alias.
    fn value_of(&self, path: &str, name: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
        self.lines(path).find_map(|mut words| {
            let (first, value) = (words.next()?, words.next().filter(|value| fits(value))?);
            (first == name || words.any(|alias| alias == name)).then_some(value)
        })
    }
}

/// The system's names, read once.
pub(crate) static SYSTEM: System = System {
    networks: Table(OnceLock::new()),
    services: Table(OnceLock::new()),
    protocols: Table(OnceLock::new()),
    ethers: Table(OnceLock::new()),
};

impl Resolver for System {
    fn hosts(&self, name: &str) -> Vec<IpAddr> {
        let found = (name, 0).to_socket_addrs();
        let mut addresses: Vec<_> = found.into_iter().flatten().map(|a| a.ip()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    fn network(&self, name: &str) -> Option<u32> {
        network(self.networks.value_of("/etc/networks", name, |_| true)?)
    }

    fn service(&self, name: &str, transport: Transport) -> Option<u16> {
        let suffix = match transport {
            Transport::Tcp => "/tcp",
            Transport::Udp => "/udp",
        };
        self.services
            .value_of("/etc/services", name, |value| value.ends_with(suffix))
            .and_then(|value| value.strip_suffix(suffix)?.parse().ok())
            .or_else(|| Hermetic.service(name, transport))
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.protocols
            .value_of("/etc/protocols", name, |_| true)
            .and_then(|value| value.parse().ok())
            .or_else(|| Hermetic.protocol(name))
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        self.ethers.lines("/etc/ethers").find_map(|mut words| {
            let address = words.next()?;
            (words.next() == Some(name)).then(|| mac(address)).flatten()
        })
    }
}

/// `127.0.0.0`, or with the zeros left out, `127`.
fn network(text: &str) -> Option<u32> {
    let mut octets = [0; 4];
    for (i, part) in text.split('.').enumerate() {
        *octets.get_mut(i)? = part.parse().ok()?;
    }
    Some(Ipv4Addr::from(octets).into())
}

fn mac(text: &str) -> Option<[u8; 6]> {
    let parts: Option<Vec<_>> = text.split(':').map(|p| u8::from_str_radix(p, 16).ok()).collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        let table = Table::default();
        table.0.set(text.into()).unwrap();
        table
    }

    #[test]
    fn tables_know_names_and_aliases_and_skip_comments() {
        let services = table("# services\nhttp 80/tcp www # web\nhttp 80/udp\ndomain 53/udp\n");
        let system = System { services, ..System::default() };
        assert_eq!(system.service("www", Transport::Tcp), Some(80));
        assert_eq!(system.service("www", Transport::Udp), None);
        assert_eq!(system.service("domain", Transport::Udp), Some(53));
        assert_eq!(system.service("web", Transport::Tcp), None);
    }

    #[test]
    fn what_no_file_knows_may_still_be_common() {
        let system = System { services: table(""), protocols: table(""), ..System::default() };
        assert_eq!(system.service("https", Transport::Tcp), Some(443));
        assert_eq!(system.protocol("tcp"), Some(6));
        assert_eq!(system.protocol("nonsense"), None);
    }

    #[test]
    fn networks_and_ethers_are_read() {
        let system = System {
            networks: table("loopback 127.0.0.0\nlab 10 test\n"),
            ethers: table("02:00:00:00:00:0a gateway\nbad other\n"),
            ..System::default()
        };
        assert_eq!(system.network("loopback"), Some(0x7f00_0000));
        assert_eq!(system.network("test"), Some(0x0a00_0000));
        assert_eq!(system.ethernet("gateway"), Some([2, 0, 0, 0, 0, 10]));
        assert_eq!(system.ethernet("other"), None);
    }
}
