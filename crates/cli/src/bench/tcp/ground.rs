//! Two hosts on a wire: `a` with the client, on the first core, and `b` with the servers, on the last.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use linerate::base::LinkType;
use linerate::capture::{self, Backend, Directions, Interrupt, Owned, Prefix};
use linerate::lab::{Child, Host, Lab, Offload};
use linerate::sys::ethtool::set_offload;
use linerate::sys::netlink;
use linerate::tcp::mirror::{Answer, Behaviour, Ending, Mirror};
use linerate::transmit::sink;
use tempfile::TempDir;

use super::exchange::{self, ANSWER, Exchange, NETWORK, NETWORK_BITS, Server};
use crate::bench::wire;
use crate::commands::mirror::Reflector;

/// The addresses that are our client's: so many, that to one server there are ports enough.
pub(super) const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 64);
pub(super) const OWN_BITS: u8 = 27;

/// What the crowds of crawls are in: the network, and as many more addresses as make so many bits.
pub(super) const CROWD_BITS: u8 = 11;

/// Frames that can wait for the device.
const SLOTS: usize = 4_096;
const LONGEST: usize = 1_514;
/// A server listens within this time.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Ground {
    lab: Lab,
    pub(super) client_core: usize,
    server_core: usize,
}

impl Ground {
    pub(super) fn new() -> Result<Self> {
        let (client_core, server_core) = wire::cores()?;
        let ground = Self { lab: wire::pair(1)?, client_core, server_core };
        let (a, b) = (ground.client(), ground.server());
        let (to_b, to_a) = (b.ipv4().into(), a.ipv4().into());
        a.run(|| netlink::add_route(a.interface_index(), NETWORK.into(), CROWD_BITS, Some(to_b)))?;
        b.run(|| netlink::add_route(b.interface_index(), OWN.into(), OWN_BITS, Some(to_a)))?;
        // What who opens many connections sets: all ports, and no memory of those that have ended.
        set(a, "net/ipv4/ip_local_port_range", "1024 65535")?;
        set(a, "net/ipv4/tcp_max_tw_buckets", "0")?;
        set(b, "net/ipv4/tcp_max_tw_buckets", "0")?;
        set(b, "net/core/somaxconn", "65535")?;
        set(b, "net/ipv4/tcp_max_syn_backlog", "65535")?;
        Ok(ground)
    }

    pub(super) fn client(&self) -> &Host {
        self.lab.host("a")
    }

    pub(super) fn server(&self) -> &Host {
        self.lab.host("b")
    }

    /// The hardware address to which the client sends.
    pub(super) fn next_hop(&self) -> [u8; 6] {
        self.server().mac()
    }

    /// `linerate connect` on the client's host, on all cores, at so many SYNs a second: what is to be asked comes behind.
    pub(super) fn connect(&self, rate: &str) -> Command {
        let program = std::env::current_exe().unwrap_or_else(|_| "linerate".into());
        let mut command = self.client().command(program);
        command.args(["connect", "-i", self.client().interface(), "--own", &OWN.to_string()]);
        command.args(["--allow-reserved", "-r", rate]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Whether the server's host leaves checksums to cards.
    pub(super) fn leave_checksums(&self, on: bool) -> Result<()> {
        let b = self.server();
        Ok(b.run(|| set_offload(b.interface(), Offload::TransmitChecksum, on))?)
    }

    /// Has somebody serve all of the network, for as long as what is returned lives.
    pub(super) fn serve(&self, case: Exchange) -> Result<Serving> {
        match case.server {
            Server::Mirror => {
                let ending = match case.ending {
                    exchange::Ending::Rst => Ending::None,
                    exchange::Ending::Fin => Ending::Fin,
                };
                self.reflect(Answer::Bytes(ANSWER.to_vec()), ending)
            }
            Server::Nginx => self.nginx(),
        }
    }

    /// Has a mirror answer so for all of the crowd, at every port.
    pub(super) fn reflect(&self, answer: Answer, ending: Ending) -> Result<Serving> {
        let b = self.server();
        let mac = b.mac();
        let mirror = Mirror::new(Behaviour { mac, ports: vec![], answer, ending, one_of: 1 });
        let own = format!("{NETWORK}/{CROWD_BITS}").parse().map_err(|e| anyhow!("{e}"))?;
        let mut reflector = b.run(|| -> Result<_> {
            let capture = capture::open(&owning(b, own)?)?;
            Ok(Reflector::new(mirror, capture.source, open_sink(b)?))
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = b.spawn_on(self.server_core, move || -> Result<()> {
            while !stopped.load(Ordering::Relaxed) {
                reflector.turn(Duration::from_millis(10))?;
            }
            Ok(())
        });
        Ok(Serving::Mirror { stop, thread: Some(thread) })
    }

    fn nginx(&self) -> Result<Serving> {
        let folder = tempfile::tempdir().context("make a folder for nginx")?;
        let name = folder.path().display();
        let config = folder.path().join("nginx.conf");
        fs::write(&config, NGINX.replace("FOLDER", &name.to_string()))?;
        let b = self.server();
        let network = format!("{NETWORK}/{NETWORK_BITS}");
        let added = b.command("ip").args(["route", "add", "local", &network, "dev", "lo"]).status();
        // From the second time on it is there already.
        added.context("start ip")?;
        let mut command = b.command("nginx");
        command.arg("-c").arg(&config).arg("-e").arg(folder.path().join("errors"));
        let child = wire::start_on(&[self.server_core], command).context("start nginx")?;
        let began = Instant::now();
        let address = (IpAddr::from(NETWORK), 80);
        while self.client().run(|| TcpStream::connect(address)).is_err() {
            ensure!(began.elapsed() < PATIENCE, "nginx does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Serving::Nginx { _child: child, _folder: folder })
    }
}

/// One process, which writes no log.
const NGINX: &str = "\
daemon off; master_process off; pid FOLDER/pid; error_log FOLDER/errors crit;
worker_rlimit_nofile 65536;
events { worker_connections 60000; multi_accept on; }
http {
  access_log off; client_body_temp_path FOLDER/1; proxy_temp_path FOLDER/2; fastcgi_temp_path FOLDER/3;
  uwsgi_temp_path FOLDER/4; scgi_temp_path FOLDER/5;
  server { listen 80 backlog=65535; return 200 'hello\\n'; }
}
";

/// Who is serving.
pub(super) enum Serving {
    Mirror { stop: Arc<AtomicBool>, thread: Option<JoinHandle<Result<()>>> },
    Nginx { _child: Child, _folder: TempDir },
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Self::Mirror { stop, thread } = self {
            stop.store(true, Ordering::Relaxed);
            // Had it failed, nobody would have been answered.
            let _ = thread.take().map(JoinHandle::join);
        }
    }
}

/// Captures what is sent to a prefix, and keeps it from the host.
///
/// # Errors
/// Without the privilege.
pub(super) fn owning(host: &Host, own: Prefix) -> Result<capture::Config> {
    let mut config = capture::Config::new(host.interface(), Interrupt::new()?);
    config.backend = Some(Backend::Tap);
    config.link_type = Some(LinkType::ETHERNET);
    config.promiscuous = false;
    config.immediate = true;
    config.direction = Directions::In;
    config.owned = Some(Owned::new(&[own])?);
    Ok(config)
}

/// The way out of a host, of those that take no core of their own.
///
/// # Errors
/// As [`sink::open`].
pub(super) fn open_sink(host: &Host) -> Result<Box<dyn linerate::base::Sink + Send>> {
    let opened = sink::open(&sink::Config {
        interface: host.interface().to_owned(),
        backend: None,
        queue: 0,
        slots: SLOTS,
        longest: LONGEST,
        offloads: sink::Offloads::default(),
        mark: None,
        alike: None,
    })?;
    Ok(opened.sink)
}

fn set(host: &Host, name: &str, value: &str) -> Result<()> {
    let path = format!("/proc/sys/{name}");
    host.run(|| fs::write(&path, value)).with_context(|| format!("write {value} to {path}"))
}
