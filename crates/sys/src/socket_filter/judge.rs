use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use linerate_base::{Error, Result};

use super::{SockFilter, attach_classic, attach_extended};

/// The kernel's own verdict on single packets, for tests: what would a filter do with these bytes?
///
/// A pair of UNIX datagram sockets with the filter on the receiving one: the kernel runs it over
/// the message within the call that sends it. The filter's offset 0 is the message's first byte,
/// whatever link type the program was made for, and it needs no privilege for classic programs.
///
/// It cannot show everything: the length on the wire is the length of the message, the packet
/// comes from no interface (asking for its index ends a classic filter with the accumulator as its
/// verdict), its type is 0 (to this host), its EtherType is 0 and it has no VLAN tag beside its bytes. Loads relative to the network header are
/// not defined here.
#[derive(Debug)]
pub struct Judge {
    sender: UnixDatagram,
    receiver: UnixDatagram,
    received: Vec<u8>,
}

/// A message that the filter lets in whole must fit, and so must the largest IP packet.
const LARGEST: usize = 1 << 16;

impl Judge {
    /// A judge that asks a classic filter.
    ///
    /// # Errors
    /// When the kernel refuses the program.
    pub fn classic(program: &[SockFilter]) -> Result<Self> {
        let judge = Self::without_filter()?;
        attach_classic(judge.receiver.as_fd(), program)?;
        Ok(judge)
    }

    /// A judge that asks an extended filter, loaded as a socket filter.
    ///
    /// # Errors
    /// When `program` is of another type.
    pub fn extended(program: BorrowedFd<'_>) -> Result<Self> {
        let judge = Self::without_filter()?;
        attach_extended(judge.receiver.as_fd(), program)?;
        Ok(judge)
    }

    fn without_filter() -> Result<Self> {
        Self::open().map_err(|e| Error::system("open a pair of sockets", e))
    }

    fn open() -> io::Result<Self> {
        let (sender, receiver) = UnixDatagram::pair()?;
        receiver.set_nonblocking(true)?;
        Ok(Self { sender, receiver, received: vec![0; LARGEST] })
    }

    /// How many bytes of `packet` the filter keeps, at most all of them; `None` when it turns the
    /// packet away. (Of an empty packet it keeps none even when it lets it in.)
    ///
    /// # Errors
    /// When `packet` is too large for a message: some 64 KiB pass.
    ///
    /// # Panics
    /// If what the socket got is not the start of `packet`.
    pub fn verdict(&mut self, packet: &[u8]) -> Result<Option<usize>> {
        let asked = || format!("send {} bytes through a filter", packet.len());
        self.sender.send(packet).map_err(|e| Error::system(asked(), e))?;
        match self.receiver.recv(&mut self.received) {
            Ok(kept) => {
                assert_eq!(self.received[..kept], packet[..kept], "another packet's bytes");
                Ok(Some(kept))
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(Error::system(asked(), e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_filters() {
        // Keep as many bytes as the second byte says: ldb [1]; ret a.
        let program = [
            SockFilter { code: 0x30, k: 1, ..SockFilter::default() },
            SockFilter { code: 0x16, ..SockFilter::default() },
        ];
        let mut judge = Judge::classic(&program).expect("a filter");
        let mut verdict = |packet: &[u8]| judge.verdict(packet).expect("a verdict");
        assert_eq!(verdict(&[7, 3, 8, 9, 10]), Some(3));
        assert_eq!(verdict(&[7, 200, 8, 9, 10]), Some(5));
        assert_eq!(verdict(&[7, 0]), None);
        assert_eq!(verdict(&[7]), None, "a load past the end");
        assert_eq!(verdict(&[]), None);
        assert_eq!(verdict(&[9; 1 << 16]), Some(9));
    }
}
