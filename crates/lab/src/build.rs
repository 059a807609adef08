//! From a plan to hosts on one wire.
//!
//! Two hosts are the ends of one veth pair. More are each on a veth pair of their own, whose
//! other ends are ports of a bridge in a further namespace, the hub. Each interface is made
//! inside the namespace where it stays; the namespace that the caller is in is never touched.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::netlink::{self, VethEnd};
use linerate_sys::netns::Namespace;
use linerate_sys::{ethtool, interface};

use crate::host::{Host, inside};
use crate::{Lab, Plan};

/// What every host's interface is called.
const WIRE: &str = "wire0";

/// Everything comes within milliseconds; this is for machines that are very busy.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn build(plan: &Plan) -> Result<Lab> {
    let namespaces = plan.hosts.iter().map(|_| Namespace::create()).collect::<Result<Vec<_>>>()?;
    let hub = connect(plan, &namespaces)?;
    let hosts = hosts(plan, namespaces)?;
    // Whether an end of a wire takes the other's XDP frames is settled when that one comes up.
    for host in &hosts {
        inside(&host.namespace, || switch_offloads(plan, host))?;
    }
    for host in &hosts {
        inside(&host.namespace, || configure(plan, &hosts, host))?;
    }
    for host in &hosts {
        inside(&host.namespace, || wait_until_ready(host))?;
    }
    Ok(Lab { hosts, _hub: hub })
}

fn hosts(plan: &Plan, namespaces: Vec<Namespace>) -> Result<Vec<Host>> {
    let named = plan.hosts.iter().zip(namespaces).zip(1..);
    named.map(|((name, namespace), number)| host(name, namespace, number)).collect()
}

fn host(name: &str, namespace: Namespace, number: u8) -> Result<Host> {
    Ok(Host {
        name: name.to_owned(),
        interface: WIRE.to_owned(),
        index: inside(&namespace, || interface::index(WIRE))?,
        mac: mac(number),
        ipv4: Ipv4Addr::new(10, 0, 0, number),
        ipv6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number.into()),
        namespace,
    })
}

/// A locally administered address that shows the host's number (IEEE 802, 8.4).
fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

/// Returns the hub where one is needed; the wire lasts as long as it is held.
fn connect(plan: &Plan, namespaces: &[Namespace]) -> Result<Option<Namespace>> {
    if let [a, b] = namespaces {
        inside(a, || netlink::create_veth(&end(plan, 1), &end(plan, 2), b))?;
        return Ok(None);
    }
    let hub = Namespace::create()?;
    inside(&hub, || connect_by_bridge(plan, namespaces))?;
    Ok(Some(hub))
}

fn end(plan: &Plan, number: u8) -> VethEnd<'static> {
    VethEnd { name: WIRE, address: mac(number), mtu: plan.mtu, queues: plan.queues }
}

/// Runs inside the hub.
fn connect_by_bridge(plan: &Plan, namespaces: &[Namespace]) -> Result<()> {
    netlink::create_bridge("bridge")?;
    let bridge = interface::index("bridge")?;
    for (namespace, number) in namespaces.iter().zip(1..) {
        let port = create_port(plan, namespace, number)?;
        netlink::attach_to_bridge(port, bridge)?;
        set_up_silently(port)?;
    }
    set_up_silently(bridge)
}

fn create_port(plan: &Plan, namespace: &Namespace, number: u8) -> Result<u32> {
    let name = format!("port{number}");
    let far = end(plan, number);
    let near = VethEnd { name: &name, address: [2, 0, 0, 0, 1, number], ..far };
    netlink::create_veth(&near, &far, namespace)?;
    interface::index(&name)
}

fn set_up_silently(link: u32) -> Result<()> {
    disable_link_local_address(link)?;
    netlink::set_link_arp(link, false)?;
    netlink::set_link_up(link, true)
}

/// Runs inside the host.
fn switch_offloads(plan: &Plan, host: &Host) -> Result<()> {
    let mut offloads = plan.offloads.iter();
    offloads.try_for_each(|(offload, on)| ethtool::set_offload(&host.interface, *offload, *on))
}

/// Runs inside the host. Addresses come before the link is up, so that the kernel has
/// everything when carrier comes.
fn configure(plan: &Plan, hosts: &[Host], host: &Host) -> Result<()> {
    netlink::set_link_up(interface::index("lo")?, true)?;
    disable_link_local_address(host.index)?;
    netlink::set_link_arp(host.index, !plan.quiet)?;
    for (address, prefix) in host.addresses() {
        netlink::add_address(host.index, address, prefix)?;
    }
    netlink::set_link_up(host.index, true)?;
    if plan.quiet { introduce(hosts, host) } else { Ok(()) }
}

/// Tells a host the hardware addresses of the others.
fn introduce(hosts: &[Host], host: &Host) -> Result<()> {
    for other in hosts.iter().filter(|other| other.mac != host.mac) {
        for (address, _) in other.addresses() {
            netlink::add_neighbour(host.index, address, other.mac)?;
        }
    }
    Ok(())
}

fn disable_link_local_address(link: u32) -> Result<()> {
    if has_ipv6() { netlink::disable_link_local_address(link) } else { Ok(()) }
}

/// False where the kernel was built or started without IPv6.
pub(crate) fn has_ipv6() -> bool {
    Path::new("/proc/net/if_inet6").exists()
}

/// The kernel passes a carrier on, and takes IPv6 addresses into use, in the background; until
/// then packets are lost.
fn wait_until_ready(host: &Host) -> Result<()> {
    let start = Instant::now();
    while !is_ready(host)? {
        if start.elapsed() > PATIENCE {
            return Err(Error::new(ErrorKind::Down, "build a lab", "the wire does not come up"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn is_ready(host: &Host) -> Result<bool> {
    for (address, _) in host.addresses() {
        if !netlink::is_local(address)? {
            return Ok(false);
        }
    }
    Ok(interface::by_index(host.index)?.is_running)
}
