//! Addresses that nothing is sent to.

use std::net::IpAddr;

use linerate_base::{Error, ErrorKind, Result};

use crate::space::{Span, merged};

/// Addresses that nothing is sent to, as a file lists them: a prefix, an address or a range to a line, with
/// comments from `#` on, as ZMap and masscan have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocklist {
    ipv4: Vec<Span>,
    ipv6: Vec<Span>,
}

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    address: u128,
    length: u32,
    /// Bits of an address: 32 of IPv4, 128 of IPv6.
    pub(crate) width: u32,
}

impl Prefix {
    /// All of them.
    pub(crate) fn span(&self) -> Span {
        Span::prefix(self.address, self.length, self.width)
    }
}

impl Blocklist {
    /// Reads the list from `text`; `name` is that of its file.
    ///
    /// # Errors
    /// With the number of the first line that is none of the above. A list that is understood in part
    /// protects nobody.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let mut list = Self::default();
        for (number, line) in text.lines().enumerate() {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if !entry.is_empty() && list.add(entry).is_none() {
                let asked = format!("read the blocklist {name}");
                let answer = format!("line {}: `{entry}` is no address", number + 1);
                let advice = "a line is a prefix, an address or a range: 10.0.0.0/8";
                return Err(Error::new(ErrorKind::Malformed, asked, answer).advise(advice));
            }
        }
        list.ipv4 = merged(list.ipv4);
        list.ipv6 = merged(list.ipv6);
        Ok(list)
    }

    fn add(&mut self, entry: &str) -> Option<()> {
        let (span, is_ipv6) = addresses(entry)?;
        let list = if is_ipv6 { &mut self.ipv6 } else { &mut self.ipv4 };
        list.push(span);
        Some(())
    }

    /// True when nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.ipv4.is_empty() && self.ipv6.is_empty()
    }

    /// True when an address is on it.
    pub fn has(&self, address: IpAddr) -> bool {
        self.contains(number(address), if address.is_ipv6() { 128 } else { 32 })
    }

    /// True when an address, `width` bits wide, is on it.
    pub(crate) fn contains(&self, address: u128, width: u32) -> bool {
        let spans = if width == 128 { &self.ipv6 } else { &self.ipv4 };
        let after = spans.partition_point(|span| span.first <= address);
        after > 0 && address <= spans[after - 1].last
    }

    /// True when this address is on it.
    pub fn blocks(&self, address: IpAddr) -> bool {
        self.contains(number(address), if address.is_ipv6() { 128 } else { 32 })
    }

    /// The IPv4 addresses on it, in order.
    pub fn ipv4(&self) -> &[Span] {
        &self.ipv4
    }

    /// The IPv6 addresses on it, in order.
    pub fn ipv6(&self) -> &[Span] {
        &self.ipv6
    }
}

/// The addresses that `text` stands for, `10.0.0.0/8`, `10.0.0.1` or `10.0.0.1-10.0.0.9`, and whether
/// they are of IPv6.
pub fn addresses(text: &str) -> Option<(Span, bool)> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        return match (first, last) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => {
                Some((Span::new(number(first), number(last))?, first.is_ipv6()))
            }
            _ => None,
        };
    }
    prefix(text).map(|prefix| (prefix.span(), prefix.width == 128))
}

/// The prefix that `text` stands for, `10.0.0.0/8`; an address is one of itself.
pub(crate) fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.trim().parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.trim().parse().ok()?;
    let width = if address.is_ipv6() { 128 } else { 32 };
    let length = length.unwrap_or(width);
    (length <= width).then(|| Prefix { address: number(address), length, width })
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_addresses_ranges_and_comments_are_read() {
        let text =
            "# reserved\n10.0.0.0/8 # private\n\n1.2.3.4\n5.0.0.1 - 5.0.0.3\n2001:db8::/32\n";
        let list = Blocklist::parse(text, "f").unwrap();
        let spans: Vec<_> = list.ipv4().iter().map(|s| (s.first, s.last)).collect();
        assert_eq!(
            spans,
            [(0x0102_0304, 0x0102_0304), (0x0500_0001, 0x0500_0003), (0x0a00_0000, 0x0aff_ffff)]
        );
        assert_eq!(list.ipv6().len(), 1);
    }

    #[test]
    fn what_is_on_it_is_found_whatever_overlaps() {
        let text = "10.0.0.0/8\n9.0.0.0-10.0.0.7\n10.1.0.0/16\n2001:db8::/32\n";
        let list = Blocklist::parse(text, "f").unwrap();
        let found = |address: &str| list.has(address.parse().unwrap());
        for blocked in ["9.0.0.0", "10.0.0.8", "10.255.255.255", "2001:db8:ffff::1"] {
            assert!(found(blocked), "{blocked}");
        }
        for free in ["8.255.255.255", "11.0.0.0", "2001:db9::", "::a00:1"] {
            assert!(!found(free), "{free}");
        }
        assert!(!list.is_empty() && Blocklist::default().is_empty());
    }

    #[test]
    fn a_bad_line_is_named() {
        for bad in ["10.0.0.0/33", "10.0.0", "10.0.0.9-10.0.0.1", "1.1.1.1-::1", "example.com"] {
            let error = Blocklist::parse(&format!("\n{bad}\n"), "f").unwrap_err();
            assert!(error.to_string().contains("line 2"), "{error}");
        }
    }
}
