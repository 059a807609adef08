//! What a driver does with XDP: the generic netlink family `netdev`.
//!
//! Source: `linux/netdev.h` (Linux 6.18); the family is there since 6.3, metadata since 6.8, launch times since 6.15.

use linerate_base::Result;

use super::exchange::exchange;
use super::generic::{GenericMessage, attribute, family};

const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NETDEV_A_DEV_XDP_RX_METADATA_FEATURES: u16 = 5;
const NETDEV_A_DEV_XSK_FEATURES: u16 = 6;

/// What an interface's driver does with XDP; all of it depends on how the interface is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFeatures {
    /// `enum netdev_xdp_act`.
    acts: u64,
    /// `enum netdev_xdp_rx_metadata`.
    metadata: u64,
    /// `enum netdev_xsk_flags`.
    sending: u64,
}

impl XdpFeatures {
    /// It runs programs that pass, drop and send back packets: native XDP.
    pub fn runs_programs(self) -> bool {
        self.acts & 1 != 0
    }

    /// Programs may redirect packets from it.
    pub fn redirects(self) -> bool {
        self.acts & 1 << 1 != 0
    }

    /// Packets may be redirected to it, and it sends them without an skb.
    pub fn transmits(self) -> bool {
        self.acts & 1 << 2 != 0
    }

    /// AF_XDP sockets share memory with it.
    pub fn zero_copy(self) -> bool {
        self.acts & 1 << 3 != 0
    }

    /// Programs see packets that lie in several buffers.
    pub fn fragments(self) -> bool {
        self.acts & 1 << 5 != 0
    }

    /// It sends redirected packets that lie in several buffers.
    pub fn transmits_fragments(self) -> bool {
        self.acts & 1 << 6 != 0
    }

    /// Programs may ask when the hardware received a packet.
    pub fn timestamp(self) -> bool {
        self.metadata & 1 != 0
    }

    /// Programs may ask for the hardware's hash of a packet.
    pub fn hash(self) -> bool {
        self.metadata & 1 << 1 != 0
    }

    /// Programs may ask for the VLAN tag that the hardware took off.
    pub fn vlan_tag(self) -> bool {
        self.metadata & 1 << 2 != 0
    }

    /// The hardware fills in checksums of frames that AF_XDP sends.
    pub fn fills_checksums(self) -> bool {
        self.sending & 1 << 1 != 0
    }

    /// The hardware keeps frames that AF_XDP sends until it is time for them.
    pub fn launches_on_time(self) -> bool {
        self.sending & 1 << 2 != 0
    }
}

/// What the interface with this index does with XDP; `None` when the kernel does not tell (before
/// Linux 6.3).
///
/// # Errors
/// When there is no such interface.
pub fn xdp_features(index: u32) -> Result<Option<XdpFeatures>> {
    let Some(family) = family("netdev")? else { return Ok(None) };
    let request = GenericMessage {
        family,
        command: NETDEV_CMD_DEV_GET,
        version: 1,
        attributes: attribute(NETDEV_A_DEV_IFINDEX, &index.to_ne_bytes()),
    };
    let answers = exchange(&format!("ask what link {index} does with XDP"), request, 0)?;
    Ok(answers.first().map(features))
}

fn features(answer: &GenericMessage) -> XdpFeatures {
    let number = |kind| {
        let value = answer.attribute(kind).and_then(|value| value.try_into().ok());
        value.map_or(0, u64::from_ne_bytes)
    };
    XdpFeatures {
        acts: number(NETDEV_A_DEV_XDP_FEATURES),
        metadata: number(NETDEV_A_DEV_XDP_RX_METADATA_FEATURES),
        sending: number(NETDEV_A_DEV_XSK_FEATURES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drivers_do_with_frames_to_send_is_read() {
        let answer = |bits: u64| GenericMessage {
            family: 0,
            command: NETDEV_CMD_DEV_GET,
            version: 1,
            attributes: attribute(NETDEV_A_DEV_XSK_FEATURES, &bits.to_ne_bytes()),
        };
        let [stamps, sums, launches] = [1, 2, 4].map(|bits| features(&answer(bits)));
        assert_eq!(stamps, XdpFeatures { sending: 1, ..XdpFeatures::default() });
        assert!(sums.fills_checksums() && !sums.launches_on_time());
        assert!(launches.launches_on_time() && !launches.fills_checksums());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        // The loopback interface has no XDP of its own.
        match xdp_features(1).unwrap() {
            Some(features) => assert_eq!(features, XdpFeatures::default()),
            None => return,
        }
        let error = xdp_features(u32::MAX >> 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{error}");
    }
}
