//! A zone, and who is responsible for it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use linerate_base::Timestamp;

use crate::message::{Record, Told};
use crate::name::Name;

/// A zone as the zone above it tells of it.
#[derive(Debug)]
pub struct Zone {
    pub(super) name: Name,
    pub(super) servers: Vec<NameServer>,
    /// For so long it may be kept.
    pub(super) until: Timestamp,
    /// Delegations between the root and it.
    depth: u8,
    /// Who told of it: the zone above, and its server.
    above: Option<(Arc<Zone>, SocketAddr)>,
}

/// A server that is responsible for a zone.
#[derive(Debug)]
pub(super) struct NameServer {
    pub(super) name: Name,
    /// Its addresses, where the zone above told them.
    pub(super) glue: Vec<SocketAddr>,
}

/// The port of servers (RFC 1035 4.2).
const PORT: u16 = 53;
/// Servers of a zone, and addresses of a server, that are looked at.
const MOST: usize = 16;
/// What a zone may be kept for at most.
const MOST_KEPT: Duration = Duration::from_secs(86_400);

impl Zone {
    /// The root, with servers at these addresses.
    pub(super) fn root(servers: Vec<SocketAddr>) -> Self {
        let servers = vec![NameServer { name: Name::root(), glue: servers }];
        Self {
            name: Name::root(),
            servers,
            until: Timestamp::from_nanos(i64::MAX),
            depth: 0,
            above: None,
        }
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Delegations between the root and it.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// The zones on the way from the root, each with the server of it that told of the next one.
    pub fn way(&self) -> Vec<(&Name, SocketAddr)> {
        let (mut way, mut zone) = (Vec::new(), self);
        while let Some((above, server)) = &zone.above {
            way.push((&above.name, *server));
            zone = above;
        }
        way.reverse();
        way
    }

    /// What a referral says that `server` of the zone `above` sends, as the way to `name`. `None` where it leads elsewhere, or
    /// nowhere: only what lies below the zone is believed, of its servers and of their addresses (RFC 5452 6).
    pub(super) fn referred(
        above: &Arc<Zone>,
        server: SocketAddr,
        name: &Name,
        [_, authority, additional]: &[Vec<Record<'_>>; 3],
        now: Timestamp,
    ) -> Option<Self> {
        let is_cut =
            |cut: &Name| name.is_within(cut) && cut.is_within(&above.name) && *cut != above.name;
        let mut cut: Option<(Name, u32)> = None;
        let mut servers: Vec<NameServer> = Vec::new();
        for record in authority {
            let (Told::NameServer(name), owner) = (record.told(), record.known_owner()) else {
                continue;
            };
            let (known, _) = cut.get_or_insert_with(|| (owner.clone(), record.ttl()));
            if *known == owner && servers.len() < MOST {
                servers.push(NameServer { name, glue: Vec::new() });
            }
        }
        let (cut, ttl) = cut.filter(|(cut, _)| is_cut(cut))?;
        for record in additional {
            let (Told::Address(address), owner) = (record.told(), record.known_owner()) else {
                continue;
            };
            let server = servers.iter_mut().find(|server| server.name == owner);
            // RFC 9471 2: glue of the zone itself and of its siblings; whatever else is told here is somebody else's to tell.
            let server = server.filter(|server| server.glue.len() < MOST);
            if let Some(server) = server.filter(|_| owner.is_within(&above.name)) {
                server.glue.push((address, PORT).into());
            }
        }
        Some(Self {
            name: cut,
            servers,
            until: now + kept(ttl),
            depth: above.depth + 1,
            above: Some((above.clone(), server)),
        })
    }
}

/// How long a record of this time to live is kept.
pub(super) fn kept(ttl: u32) -> Duration {
    Duration::from_secs(ttl.into()).min(MOST_KEPT)
}

/// Where servers at this address listen.
pub(super) fn server(address: IpAddr) -> SocketAddr {
    (address, PORT).into()
}
