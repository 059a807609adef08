//! What holds for one interface.

use linerate_base::{LinkType, Result};
use linerate_sys::ethtool;
use linerate_sys::interface::Interface;
use linerate_sys::netlink::{XdpFeatures, xdp_features};

use super::Support;
use crate::Capturable;
use crate::card::NO_CLOCK;
use crate::tap::setup::{obstacle, own_address};
use crate::xsk::plan::frame_size;

/// An interface, or all of them, and what its driver does with XDP.
#[derive(Debug)]
pub(super) struct Place<'a> {
    interface: Option<&'a Interface>,
    link_type: LinkType,
    features: Result<Option<XdpFeatures>>,
}

const MANY: &str = "it takes one interface at a time";

impl<'a> Place<'a> {
    pub(super) fn of(capturable: &'a Capturable) -> Self {
        let interface = capturable.interface.as_ref();
        let features = interface.map_or(Ok(None), |interface| xdp_features(interface.index));
        Self { interface, link_type: capturable.link_types[0], features }
    }

    pub(super) fn takes_taps(&self) -> Support {
        match self.interface.and_then(obstacle) {
            Some(reason) => Support::No(reason.into()),
            None => self.one(),
        }
    }

    /// An interface has one XDP program at a time, whoever attached it.
    pub(super) fn is_free_for_xdp(&self) -> Support {
        let ethernet = self.link_type == LinkType::ETHERNET;
        let ethernet = Support::when(ethernet, "it takes Ethernet only");
        let attached = match self.interface.and_then(|interface| interface.xdp_program) {
            Some(id) => Support::No(format!("another XDP program is attached, with id {id}")),
            None => Support::Yes,
        };
        self.one().and(&ethernet).and(&attached)
    }

    /// AF_XDP's frames hold the longest packets.
    pub(super) fn fits_in_frames(&self) -> Support {
        let size = |interface: &Interface| frame_size(interface.mtu);
        self.interface.map_or(Support::Yes, |interface| Support::of(size(interface)))
    }

    /// The host does without its packets.
    pub(super) fn can_be_spared(&self) -> Support {
        match self.interface.and_then(own_address) {
            Some(ip) => Support::No(format!("the host has the address {ip} there")),
            None => Support::Yes,
        }
    }

    pub(super) fn native_xdp(&self) -> Support {
        self.feature(XdpFeatures::runs_programs, "the driver runs no XDP programs")
    }

    pub(super) fn zero_copy(&self) -> Support {
        self.feature(XdpFeatures::zero_copy, "the driver shares no memory with AF_XDP")
    }

    pub(super) fn hardware_timestamps(&self) -> Support {
        let told =
            self.feature(XdpFeatures::timestamp, "the driver tells programs no time of receipt");
        let Some(interface) = self.interface else { return told };
        match ethtool::stamps_receipt(&interface.name) {
            Ok(has) => told.and(&Support::when(has, NO_CLOCK)),
            Err(error) => told.and(&Support::Unknown(error.to_string())),
        }
    }

    pub(super) fn checksum_offload(&self) -> Support {
        self.feature(XdpFeatures::fills_checksums, "the driver completes none for AF_XDP")
    }

    pub(super) fn launch_times(&self) -> Support {
        self.feature(XdpFeatures::launches_on_time, "the driver takes none from AF_XDP")
    }

    fn one(&self) -> Support {
        Support::when(self.interface.is_some(), MANY)
    }

    fn feature(&self, has: fn(XdpFeatures) -> bool, missing: &str) -> Support {
        match &self.features {
            _ if self.interface.is_none() => Support::No(MANY.into()),
            Ok(Some(features)) => Support::when(has(*features), missing),
            Ok(None) => Support::Unknown("kernels before Linux 6.3 do not tell".into()),
            Err(error) => Support::Unknown(error.to_string()),
        }
    }
}
