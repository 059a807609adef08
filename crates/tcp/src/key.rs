//! Keyed MACs of connections: what is sent can be recognised in the answer, and nothing is kept meanwhile.

use std::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher13;

use crate::Seq;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Ours.
    pub local: SocketAddr,
    /// The other.
    pub remote: SocketAddr,
}

/// A secret of which MACs are made (SipHash-1-3: Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012).
/// Who does not know it cannot tell the MAC of one flow from those of any others.
#[derive(Clone, Copy, Debug)]
pub struct Key(SipHasher13);

/// The MAC of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub u64);

impl Key {
    /// The key of these bytes, which should be random and new for each run.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(&bytes))
    }

    /// The MAC of `flow`. Flows of IPv4 and of IPv6 give inputs of different lengths, and so are kept apart.
    pub fn mac(&self, flow: &Flow) -> Mac {
        let mut input = [0; 36];
        let mut length = 0;
        let mut add = |bytes: &[u8]| {
            input[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
        };
        for end in [flow.local, flow.remote] {
            match end.ip() {
                IpAddr::V4(address) => add(&address.octets()),
                IpAddr::V6(address) => add(&address.octets()),
            }
            add(&end.port().to_be_bytes());
        }
        self.of(&input[..length])
    }

    /// The MAC of any bytes: of what is no flow, such as a question.
    pub fn of(&self, bytes: &[u8]) -> Mac {
        Mac(self.0.hash(bytes))
    }
}

impl Mac {
    /// The initial sequence number that a connection of this flow has (RFC 6528 3, without the timer: a flow is
    /// used once in a run, and each run has a key of its own).
    pub fn isn(self) -> Seq {
        Seq(self.0 as u32)
    }

    /// Other bits of it, which no packet shows.
    pub fn hidden(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(local: &str, remote: &str) -> Flow {
        Flow { local: local.parse().unwrap(), remote: remote.parse().unwrap() }
    }

    #[test]
    fn it_is_siphash_1_3() {
        // Of the reference implementation's vectors for SipHash-1-3 with the key 00 01 .. 0f: no input.
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        assert_eq!(Key::new(key).0.hash(&[]), 0xabac_0158_050f_c4dc);
    }

    #[test]
    fn every_part_of_the_flow_and_the_key_matter() {
        let key = Key::new([7; 16]);
        let macs = [
            key.mac(&flow("10.0.0.1:1", "10.0.0.2:2")),
            key.mac(&flow("10.0.0.1:1", "10.0.0.2:3")),
            key.mac(&flow("10.0.0.1:2", "10.0.0.2:2")),
            key.mac(&flow("10.0.0.2:2", "10.0.0.1:1")),
            key.mac(&flow("[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:2")),
            Key::new([8; 16]).mac(&flow("10.0.0.1:1", "10.0.0.2:2")),
        ];
        for (index, mac) in macs.iter().enumerate() {
            assert!(!macs[index + 1..].contains(mac), "{index}");
        }
    }
}
