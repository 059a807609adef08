use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use linerate_base::{Error, ErrorKind};

/// The addresses that begin with the same bits: `10.0.0.0/8`, `fd00::/64`, or a single one, `10.0.0.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The addresses of which `length` bits are those of `address`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when addresses have fewer bits, and when `address` has bits set behind
    /// these: it is then not clear what is meant.
    pub fn new(address: IpAddr, length: u8) -> Result<Self, Error> {
        let refuse = |answered: String| {
            let asked = format!("take {address}/{length} for a prefix");
            Err(Error::new(ErrorKind::Invalid, asked, answered))
        };
        let most = bits(address);
        if length > most {
            return refuse(format!("such addresses have {most} bits"));
        }
        let first = cut(address, length);
        if first != address {
            return refuse(format!("it begins at {first}"))
                .map_err(|e| e.advise(format!("write {first}/{length}, or {address} alone")));
        }
        Ok(Self { address, length })
    }

    /// Its first address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Number of leading bits that its addresses have in common.
    pub fn length(self) -> u8 {
        self.length
    }

    /// True for an address that begins with its bits.
    pub fn contains(self, address: IpAddr) -> bool {
        bits(address) == bits(self.address) && cut(address, self.length) == self.address
    }
}

impl From<IpAddr> for Prefix {
    /// That address alone.
    fn from(address: IpAddr) -> Self {
        Self { address, length: bits(address) }
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with all bits but the first `length` set to 0.
fn cut(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == bits(self.address) {
            return self.address.fmt(f);
        }
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || {
            let asked = format!("take {text:?} for addresses");
            Error::new(ErrorKind::Invalid, asked, "it is neither an address nor a prefix")
                .advise("write as in 10.0.0.1, 10.0.0.0/8 or fd00::/64")
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| refuse())?;
        match length {
            Some(length) => Self::new(address, length.parse().map_err(|_| refuse())?),
            None => Ok(address.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn prefixes_are_read_and_written_the_same() {
        for text in ["10.0.0.0/8", "10.1.2.3", "0.0.0.0/0", "fd00::/64", "::/0", "fd00::1"] {
            assert_eq!(prefix(text).to_string(), text);
        }
        assert_eq!(prefix("10.1.2.3/32"), IpAddr::from([10, 1, 2, 3]).into());
    }

    #[test]
    fn what_is_none_is_refused_with_a_word_on_what_is_meant() {
        for text in ["", "10.0.0", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/33", "::/129", "::/-1"] {
            assert_eq!(text.parse::<Prefix>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
        let error = "10.0.0.5/24".parse::<Prefix>().unwrap_err();
        assert_eq!(error.advice(), Some("write 10.0.0.0/24, or 10.0.0.5 alone"));
    }

    #[test]
    fn a_prefix_contains_the_addresses_of_its_own_family_that_begin_with_it() {
        let contains = |text: &str, address: &str| prefix(text).contains(address.parse().unwrap());
        assert!(contains("10.0.0.0/8", "10.255.0.1") && !contains("10.0.0.0/8", "11.0.0.0"));
        assert!(contains("0.0.0.0/0", "1.2.3.4") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd00::/64", "fd00::ffff") && !contains("fd00::/64", "fd00:0:0:1::"));
        assert!(contains("::1", "::1") && !contains("::1", "::2"));
    }
}
