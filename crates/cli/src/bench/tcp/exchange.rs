//! What happens on each connection.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Who serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// Ours, which keeps nothing.
    Mirror,
    Nginx,
}

/// How the client ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Rst,
    Fin,
}

/// One way to use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) server: Server,
    /// A request is sent, and answered; else the connection is only opened and ended.
    pub(super) asks: bool,
    pub(super) ending: Ending,
    /// How many addresses the connections go to, in turn.
    destinations: u32,
}

/// What is asked, and answered by the mirror; nginx's answer is about as long.
pub(super) const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: linerate\r\nConnection: close\r\n\r\n";
pub(super) const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: mirror\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";

/// What is behind the server's host: 10.64.0.0, and so many bits.
pub(super) const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);
pub(super) const NETWORK_BITS: u8 = 16;

impl Exchange {
    /// What is measured; `quick`ly, the two that tell most.
    pub(super) fn all(quick: bool) -> Vec<Self> {
        let mut all = Vec::new();
        for server in [Server::Mirror, Server::Nginx] {
            for (asks, ending) in [
                (true, Ending::Rst),
                (true, Ending::Fin),
                (false, Ending::Rst),
                (false, Ending::Fin),
            ] {
                for destinations in [1 << NETWORK_BITS, 1] {
                    all.push(Self { server, asks, ending, destinations });
                }
            }
        }
        // Who only opens connections does not ask how quick a web server is.
        all.retain(|case| case.server == Server::Mirror || case.asks);
        all.retain(|case| {
            !quick || (case.asks && case.ending == Ending::Rst && case.destinations > 1)
        });
        all
    }

    /// Its name in the table.
    pub(super) fn name(&self) -> String {
        let server = match self.server {
            Server::Mirror => "mirror",
            Server::Nginx => "nginx",
        };
        let asks = if self.asks { "request, " } else { "" };
        let ending = match self.ending {
            Ending::Rst => "RST",
            Ending::Fin => "FIN",
        };
        let hosts = if self.destinations == 1 {
            "1 host".into()
        } else {
            format!("{} hosts", self.destinations)
        };
        format!("{server}, {asks}{ending}, {hosts}")
    }

    /// To whom the connection of this number goes.
    pub(super) fn destination(&self, number: u64) -> SocketAddrV4 {
        let host = (number % u64::from(self.destinations)) as u32;
        SocketAddrV4::new(Ipv4Addr::from_bits(NETWORK.to_bits() + host), 80)
    }

    /// How many connections before this one went to the same address.
    pub(super) fn turn(&self, number: u64) -> u64 {
        number / u64::from(self.destinations)
    }
}
