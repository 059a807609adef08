//! Options of TCP.

use serde::{Serialize, Serializer};

use super::Octets;
use crate::data::Data;

/// The options of a TCP header, decoded as they are iterated over.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions<'a> {
    data: Data<'a>,
}

/// An option of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TcpOption<'a> {
    /// The end of the list.
    End,
    /// Padding between options.
    Nop,
    /// The maximum segment size (RFC 9293 3.7.1).
    Mss {
        /// In bytes.
        value: u16,
    },
    /// The window scale (RFC 7323 2).
    WindowScale {
        /// The window field is to be shifted left by as many bits.
        shift: u8,
    },
    /// Selective acknowledgements are understood (RFC 2018 2).
    SackPermitted,
    /// Selective acknowledgements (RFC 2018 3).
    Sack {
        /// The blocks.
        blocks: SackBlocks<'a>,
    },
    /// Timestamps (RFC 7323 3).
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The receiver's clock, echoed.
        echo: u32,
    },
    /// Any other option.
    Other {
        /// Its number (IANA's TCP option kinds).
        number: u8,
        /// Its data.
        data: Octets<'a>,
    },
    /// The capture ends within the options.
    Truncated,
    /// A length that does not fit the option or the header; nothing after it can be read.
    Bad {
        /// The option's number.
        number: u8,
    },
}

/// Blocks of received data, each from the first sequence number to the one after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlocks<'a>(&'a [u8]);

impl SackBlocks<'_> {
    /// The blocks, as they were on the wire.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.0.chunks_exact(8).map(|block| {
            let (left, right) = block.split_at(4);
            let number = |bytes: &[u8]| bytes.iter().fold(0, |n, &b| n << 8 | u32::from(b));
            (number(left), number(right))
        })
    }
}

impl Serialize for SackBlocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'a> TcpOptions<'a> {
    pub(super) fn new(data: Data<'a>) -> Self {
        Self { data }
    }

    /// True when there is no option.
    pub fn is_empty(&self) -> bool {
        self.data.length() == 0
    }

    /// The options in order, up to the end of the list or to one that cannot be read.
    pub fn iter(&self) -> impl Iterator<Item = TcpOption<'a>> + use<'a> {
        let mut rest = self.data;
        std::iter::from_fn(move || {
            if rest.length() == 0 {
                return None;
            }
            let (option, length) = next_option(rest).unwrap_or((TcpOption::Truncated, 0));
            let last = matches!(option, TcpOption::End | TcpOption::Bad { .. }) || length == 0;
            rest = if last { Data::default() } else { rest.skip(length) };
            Some(option)
        })
    }
}

impl Serialize for TcpOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The first option and the bytes it takes, or `None` when it was cut off.
fn next_option(options: Data<'_>) -> Option<(TcpOption<'_>, usize)> {
    let number = options.u8(0)?;
    match number {
        0 => return Some((TcpOption::End, 1)),
        1 => return Some((TcpOption::Nop, 1)),
        _ => {}
    }
    let bad = Some((TcpOption::Bad { number }, 0));
    if options.length() < 2 {
        return bad;
    }
    let length = usize::from(options.u8(1)?);
    if length < 2 || length > options.length() {
        return bad;
    }
    let bytes = options.bytes().get(2..length)?;
    Some((decode(number, bytes), length))
}

fn decode(number: u8, bytes: &[u8]) -> TcpOption<'_> {
    let data = Data::new(bytes, bytes.len());
    let fixed = match (number, bytes.len()) {
        (2, 2) => data.u16(0).map(|value| TcpOption::Mss { value }),
        (3, 1) => data.u8(0).map(|shift| TcpOption::WindowScale { shift }),
        (4, 0) => Some(TcpOption::SackPermitted),
        (5, length) if length % 8 == 0 => Some(TcpOption::Sack { blocks: SackBlocks(bytes) }),
        (8, 8) => timestamps(data),
        (2..=5 | 8, _) => None,
        _ => Some(TcpOption::Other { number, data: Octets(bytes) }),
    };
    fixed.unwrap_or(TcpOption::Bad { number })
}

fn timestamps(data: Data<'_>) -> Option<TcpOption<'_>> {
    Some(TcpOption::Timestamps { value: data.u32(0)?, echo: data.u32(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(bytes: &[u8]) -> Vec<TcpOption<'_>> {
        TcpOptions::new(Data::new(bytes, bytes.len())).iter().collect()
    }

    #[test]
    fn the_options_of_a_usual_syn() {
        let bytes = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(
            options(&bytes),
            [
                TcpOption::Mss { value: 1460 },
                TcpOption::SackPermitted,
                TcpOption::Timestamps { value: 1, echo: 0 },
                TcpOption::Nop,
                TcpOption::WindowScale { shift: 7 },
            ]
        );
    }

    #[test]
    fn a_length_that_does_not_fit_ends_the_list() {
        assert_eq!(options(&[2, 3, 1, 1]), [TcpOption::Bad { number: 2 }]);
        assert_eq!(options(&[1, 8, 40, 0]), [TcpOption::Nop, TcpOption::Bad { number: 8 }]);
        assert_eq!(options(&[254, 1]), [TcpOption::Bad { number: 254 }]);
        assert_eq!(options(&[254]), [TcpOption::Bad { number: 254 }]);
    }

    #[test]
    fn nothing_is_read_after_the_end_of_the_list() {
        assert_eq!(options(&[0, 2, 4]), [TcpOption::End]);
    }
}
