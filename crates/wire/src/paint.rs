//! Colour: strings that switch a style on, one for each kind of word in a line.

/// What is written before a word of each kind, and after any of them.
///
/// All are empty by default, which is how colour is off. Fill them with terminal escape
/// sequences (anstyle's `Style::render` gives them) to switch it on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    /// Before a hardware, network or host address.
    pub address: String,
    /// Before a port.
    pub port: String,
    /// Before the name of a protocol.
    pub protocol: String,
    /// Before the flags of a TCP segment.
    pub flags: String,
    /// Before a mark that something is wrong or cut off.
    pub error: String,
    /// After each of them.
    pub reset: String,
}

/// A kind of word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Address,
    Port,
    Protocol,
    Flags,
    Error,
}

impl Paint {
    pub(crate) fn style(&self, kind: Kind) -> &str {
        match kind {
            Kind::Address => &self.address,
            Kind::Port => &self.port,
            Kind::Protocol => &self.protocol,
            Kind::Flags => &self.flags,
            Kind::Error => &self.error,
        }
    }
}
