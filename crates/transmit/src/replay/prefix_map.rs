//! Addresses of one prefix, mapped to another.

use std::str::FromStr;

use crate::blocklist::{Prefix, prefix};
use crate::space::Span;

/// Gives the addresses of one prefix the beginning of another: `10.0.0.0/8=192.168.0.0/16`. The bits behind the
/// other one's length stay as they are, so that a longer one has fewer addresses to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixMap {
    from: Span,
    to: Span,
    width: u32,
}

impl PrefixMap {
    /// What becomes of an address `width` bits wide; `None` when it has another width, or is not of the prefix.
    pub(super) fn map(&self, address: u128, width: u32) -> Option<u128> {
        let is_of_it = (self.from.first..=self.from.last).contains(&address) && self.width == width;
        let host = self.to.first ^ self.to.last;
        is_of_it.then_some(self.to.first | (address & host))
    }
}

impl FromStr for PrefixMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let two = text.split_once('=').and_then(|(from, to)| Some((prefix(from)?, prefix(to)?)));
        let (from, to): (Prefix, Prefix) =
            two.ok_or_else(|| format!("expected 10.0.0.0/8=192.168.0.0/16 or so, found `{text}`"))?;
        match from.width == to.width {
            true => Ok(Self { from: from.span(), to: to.span(), width: from.width }),
            false => {
                Err(format!("`{text}`: no address of IPv4 becomes one of IPv6, nor the other way"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn mapped(map: &str, address: &str) -> Option<IpAddr> {
        let map: PrefixMap = map.parse().unwrap();
        match address.parse().unwrap() {
            IpAddr::V4(v4) => {
                map.map(v4.to_bits().into(), 32).map(|n| Ipv4Addr::from_bits(n as u32).into())
            }
            IpAddr::V6(v6) => map.map(v6.to_bits(), 128).map(|n| IpAddr::V6(n.into())),
        }
    }

    #[test]
    fn the_beginning_changes_and_the_end_stays() {
        for (map, from, to) in [
            ("10.0.0.0/8=192.168.0.0/16", "10.1.2.3", "192.168.2.3"),
            ("192.168.0.0/16=10.0.0.0/8", "192.168.2.3", "10.168.2.3"),
            ("10.0.0.1=10.0.0.2", "10.0.0.1", "10.0.0.2"),
            ("0.0.0.0/0=10.9.0.0/24", "1.2.3.4", "10.9.0.4"),
            ("2001:db8::/32=fd00:1::/32", "2001:db8:5::7", "fd00:1:5::7"),
            ("::/0=::/0", "2001:db8:5::7", "2001:db8:5::7"),
        ] {
            assert_eq!(mapped(map, from), Some(to.parse().unwrap()), "{map}");
        }
        assert_eq!(mapped("10.0.0.0/8=11.0.0.0/8", "12.0.0.1"), None);
        assert_eq!(mapped("0.0.0.0/0=11.0.0.0/8", "::1"), None);
    }

    #[test]
    fn what_is_no_map_is_said() {
        for bad in ["", "10.0.0.0/8", "10.0.0.0/33=10.0.0.0/8", "a=b", "10.0.0.1-10.0.0.2=1.1.1.1"]
        {
            assert!(bad.parse::<PrefixMap>().unwrap_err().contains("expected"), "{bad}");
        }
        assert!("10.0.0.0/8=::/8".parse::<PrefixMap>().unwrap_err().contains("IPv6"));
    }
}
