//! The interface that frames leave by: whether it is there, which frames it takes, and what is wrong where it does not.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface::{self, Interface, Observer};

/// An interface that sends. It is looked at in the network namespace in which it was found, whatever thread looks.
#[derive(Debug)]
pub(crate) struct Link {
    name: String,
    index: u32,
    observer: Observer,
}

/// Bytes of an Ethernet header: no frame is shorter.
pub(crate) const HEADER: usize = 14;

/// A VLAN tag's EtherType, and the bytes that a tag has; it counts in no MTU (IEEE 802.1Q, G.2.2).
const TAG: ([u8; 2], usize) = ([0x81, 0x00], 4);

impl Link {
    /// The interface called `name` in the calling thread's namespace, and how it is, if it can send.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Down`] when it is down or has no carrier.
    pub(crate) fn find(name: &str) -> Result<(Self, Interface)> {
        let found = interface::by_name(name)?;
        let link = Self {
            name: name.to_owned(),
            index: found.index,
            observer: Observer::of(found.index)?,
        };
        let refuse = |answered| Error::new(ErrorKind::Down, link.asked(), answered);
        if !found.is_up {
            return Err(refuse("the interface is down")
                .advise(format!("`ip link set dev {name} up` brings it up")));
        }
        if !found.is_running {
            return Err(refuse("the wire has no carrier")
                .advise("plug the cable in, or bring the other end up"));
        }
        Ok((link, found))
    }

    /// The name that it was found by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// By which the kernel knows it.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// What was asked, in errors.
    pub(crate) fn asked(&self) -> String {
        asked(&self.name)
    }

    /// How it is now.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] when it is not there any more, [`ErrorKind::Down`] when it is down or has no carrier: then the
    /// kernel takes frames and forgets them.
    pub(crate) fn check(&self) -> Result<Interface> {
        let found = self.look()?;
        if found.is_running {
            return Ok(found);
        }
        let answered =
            if found.is_up { "the wire lost its carrier" } else { "the interface went down" };
        Err(Error::new(ErrorKind::Down, self.asked(), answered)
            .advise("frames sent meanwhile may be lost"))
    }

    /// The same, without a carrier as well.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] when it is not there any more.
    pub(crate) fn look(&self) -> Result<Interface> {
        self.observer.look().map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.gone(),
            _ => error,
        })
    }

    /// That an interface with this MTU sends a frame.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the frame is too long, or has no whole header.
    pub(crate) fn fits(&self, frame: &[u8], mtu: u32) -> Result<()> {
        if frame.len() < HEADER {
            let answered = format!("a frame of {} bytes has no Ethernet header", frame.len());
            return Err(Error::new(ErrorKind::Invalid, self.asked(), answered));
        }
        let tag = if frame[12..].starts_with(&TAG.0) { TAG.1 } else { 0 };
        if frame.len() <= mtu as usize + HEADER + tag { Ok(()) } else { Err(self.too_long(mtu)) }
    }

    /// The first of the frames that an interface with this MTU does not send, and why.
    pub(crate) fn misfit<'a>(
        &self,
        frames: impl Iterator<Item = &'a [u8]>,
        mtu: u32,
    ) -> Option<(usize, Error)> {
        let fault = |(place, frame)| Some((place, self.fits(frame, mtu).err()?));
        frames.enumerate().find_map(fault)
    }

    /// A frame is longer than an interface with this MTU sends.
    pub(crate) fn too_long(&self, mtu: u32) -> Error {
        let answered = format!("a frame is longer than the MTU of {mtu} bytes allows");
        Error::new(ErrorKind::Invalid, self.asked(), answered)
            .advise("send smaller packets, or raise the MTU with `ip link set mtu`")
    }

    /// It is not there any more.
    pub(crate) fn gone(&self) -> Error {
        let answered = "the interface was deleted, or moved to another namespace";
        Error::new(ErrorKind::Gone, self.asked(), answered).advise(
            "make it anew and send again; \
             an end of a veth pair goes when the other end or its namespace does",
        )
    }
}

/// What was asked of the interface called `name`, in errors.
pub(crate) fn asked(name: &str) -> String {
    format!("send on {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = Link::find("no-such-link").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.asked().contains("no-such-link"), "{error}");
    }

    #[test]
    fn frames_that_no_device_sends_are_told_apart() {
        let observer = Observer::of(1).unwrap();
        let link = Link { name: "x".into(), index: 1, observer };
        let tagged = [&[0; 12][..], &[0x81, 0], &[0; 1504]].concat();
        for fitting in [&tagged[..], &[0; 1514], &[0; 14]] {
            link.fits(fitting, 1500).unwrap();
        }
        let said = |frame: &[u8]| link.fits(frame, 1500).unwrap_err().to_string();
        assert!(said(&[0; 1515]).contains("longer than the MTU of 1500 bytes"));
        assert!(said(&[0; 13]).contains("13 bytes has no Ethernet header"));
        let frames = [&[0; 60][..], &[0; 1515], &[]];
        assert_eq!(link.misfit(frames.into_iter(), 1500).unwrap().0, 1);
    }
}
