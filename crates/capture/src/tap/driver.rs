//! What a driver tells XDP programs of a packet beside its bytes.

use linerate_base::Result;
use linerate_sys::btf::Btf;
use linerate_sys::ethtool::{self, Offload};
use linerate_sys::netlink::xdp_features;

use crate::live::watch::Link;

/// Functions of the kernel that ask the driver, by their numbers in the kernel's description of itself
/// (Documentation/networking/xdp-rx-metadata.rst, Linux 6.18). Only programs in the driver may call
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Driver {
    /// `int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *, __be16 *protocol, u16 *tci)`, where the
    /// driver takes tags off.
    pub(crate) vlan_tag: Option<u32>,
    /// `int bpf_xdp_metadata_rx_timestamp(const struct xdp_md *, u64 *nanoseconds)`, where it is asked
    /// for.
    pub(crate) timestamp: Option<u32>,
}

impl Driver {
    /// The functions that the driver of `link` answers.
    ///
    /// # Errors
    /// When the kernel does not tell what the driver can do, or how its functions are numbered.
    pub(crate) fn of(link: &Link, stamps: bool) -> Result<Self> {
        let Some(features) = xdp_features(link.index)? else { return Ok(Self::default()) };
        let strips = ethtool::offload(&link.name, Offload::ReceiveVlan)?;
        let (vlan_tag, timestamp) = (features.vlan_tag() && strips, features.timestamp() && stamps);
        if !vlan_tag && !timestamp {
            return Ok(Self::default());
        }
        let kernel = Btf::of_kernel()?;
        let number = |wanted: bool, name| wanted.then(|| kernel.function(name)).flatten();
        Ok(Self {
            vlan_tag: number(vlan_tag, "bpf_xdp_metadata_rx_vlan_tag"),
            timestamp: number(timestamp, "bpf_xdp_metadata_rx_timestamp"),
        })
    }

    /// True when a program calls one of them, and so is for this driver only.
    pub(crate) fn is_asked(self) -> bool {
        self != Self::default()
    }
}
