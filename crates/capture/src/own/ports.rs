//! Which ports the host needs itself.
//!
//! Sockets: `/proc/net/tcp` and its like (proc_pid_net(5)); ports that the host chooses from, and of these those that it leaves
//! alone: `ip_local_port_range` and `ip_local_reserved_ports` (ip(7)), which are for both families.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use linerate_base::{Error, ErrorKind, Result};

/// The lists of sockets, each with the name of its protocol.
const LISTS: [(&str, &str); 4] = [("tcp", "TCP"), ("tcp6", "TCP"), ("udp", "UDP"), ("udp6", "UDP")];

/// `TCP_TIME_WAIT` of `net/tcp_states.h`: a connection that has ended, and needs no more packets.
const TIME_WAIT: u8 = 6;

/// That the host can do without these ports of its own address, in the calling thread's namespace: nobody uses them, and it chooses
/// none of them for connections of its own.
///
/// # Errors
/// [`ErrorKind::Busy`] when it cannot, with the reason.
pub(crate) fn check(address: IpAddr, ports: &RangeInclusive<u16>) -> Result<()> {
    let refuse = |answered: String| {
        let asked = format!("take ports {} of {address} from the host", name(ports));
        Err(Error::new(ErrorKind::Busy, asked, answered))
    };
    let reserved = setting("ip_local_reserved_ports");
    if let Some(chosen) = range(&setting("ip_local_port_range"))
        && !are_spared(ports, &chosen, &reserved)
    {
        let all = format!("{},{}", reserved.trim(), name(ports));
        let all = all.trim_start_matches(',');
        let advice = format!(
            "take others, or set these aside: `sysctl -w net.ipv4.ip_local_reserved_ports={all}`"
        );
        return refuse(format!("it chooses from {} for connections of its own", name(&chosen)))
            .map_err(|error| error.advise(advice));
    }
    for (list, protocol) in LISTS {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{list}")).unwrap_or_default();
        if let Some(port) = used(&text, address, ports) {
            return refuse(format!("a socket of {protocol} has port {port}")).map_err(|error| {
                error.advise(format!("take others; `ss -anp sport = :{port}` tells whose it is"))
            });
        }
    }
    Ok(())
}

fn name(ports: &RangeInclusive<u16>) -> String {
    format!("{}-{}", ports.start(), ports.end())
}

/// One of the settings that are for both families; nothing where the system does not tell.
fn setting(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default()
}

/// Two numbers with blanks between them.
fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.trim().split_once(char::is_whitespace)?;
    Some(first.parse().ok()?..=last.trim().parse().ok()?)
}

/// True when none of the ports is among those that are chosen from, but for reserved ones: `22,8000-8100`.
fn are_spared(ports: &RangeInclusive<u16>, chosen: &RangeInclusive<u16>, reserved: &str) -> bool {
    let part = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)
    };
    let reserved: Vec<_> = reserved.split(',').filter_map(part).collect();
    let mut wanted = ports.clone().filter(|port| chosen.contains(port));
    wanted.all(|port| reserved.iter().any(|part| part.contains(&port)))
}

/// The first of the ports that a socket in the list has at this address, or at all addresses.
fn used(list: &str, address: IpAddr, ports: &RangeInclusive<u16>) -> Option<u16> {
    let sockets = list.lines().skip(1).filter_map(socket);
    let mut ours = sockets.filter(|(ip, _)| ip.is_unspecified() || *ip == address);
    ours.find_map(|(_, port)| ports.contains(&port).then_some(port))
}

/// The address and port that a line of a list is about, unless the connection has ended.
fn socket(line: &str) -> Option<(IpAddr, u16)> {
    let mut words = line.split_whitespace().skip(1);
    let (address, port) = words.next()?.split_once(':')?;
    let state = u8::from_str_radix(words.nth(1)?, 16).ok()?;
    let end = (ip(address)?.to_canonical(), u16::from_str_radix(port, 16).ok()?);
    (state != TIME_WAIT).then_some(end)
}

/// An address: 32 bits each in the byte order of the machine.
fn ip(text: &str) -> Option<IpAddr> {
    let mut bytes = Vec::new();
    for word in text.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ipv4 = || <[u8; 4]>::try_from(&bytes[..]).map(Ipv4Addr::from).map(IpAddr::V4);
    let ipv6 = || <[u8; 16]>::try_from(&bytes[..]).map(Ipv6Addr::from).map(IpAddr::V6);
    ipv4().or_else(|_| ipv6()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_endian = "little")]
    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100000A:9C40 0200000A:0050 01 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100000A:9C41 0200000A:0050 06 00000000:00000000 03:00000000 00000000     0        0 0
   2: 0300000A:9C42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2
   3: 00000000:9C43 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3
";
    #[cfg(target_endian = "little")]
    const UDP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue
  10: 000000FD000000000000000001000000:9C44 00000000000000000000000000000000:0000 07 00000000:0
  11: 0000000000000000FFFF00000100000A:9C45 0000000000000000FFFF00000200000A:0035 01 00000000:0
  12: 00000000000000000000000000000000:9C46 00000000000000000000000000000000:0000 07 00000000:0
";

    #[test]
    #[cfg(target_endian = "little")]
    fn sockets_of_an_address_and_of_all_are_in_the_way() {
        let used = |list, address: &str, ports| used(list, address.parse().unwrap(), &ports);
        assert_eq!(used(TCP, "10.0.0.1", 40_000..=40_009), Some(40_000));
        assert_eq!(used(TCP, "10.0.0.1", 40_001..=40_002), None, "it has ended; another's");
        assert_eq!(used(TCP, "10.0.0.1", 40_001..=40_003), Some(40_003));
        assert_eq!(used(UDP6, "fd00::1", 40_000..=40_009), Some(40_004));
        assert_eq!(used(UDP6, "fd00::2", 40_000..=40_005), None);
        assert_eq!(used(UDP6, "10.0.0.1", 40_000..=40_009), Some(40_005));
        assert_eq!(used(UDP6, "10.0.0.2", 40_000..=40_009), Some(40_006));
    }

    #[test]
    fn ports_that_the_host_chooses_from_are_not_spared_but_for_reserved_ones() {
        let chosen = range("32768\t60999\n").unwrap();
        assert_eq!((chosen.clone(), range("0"), range("")), (32_768..=60_999, None, None));
        let spared = |ports, reserved| are_spared(&ports, &chosen, reserved);
        assert!(spared(61_000..=65_535, "\n") && spared(1..=32_767, ""));
        assert!(!spared(60_999..=61_000, "") && !spared(1..=65_535, "40000\n"));
        assert!(spared(40_000..=40_009, "22,40000-40004,40005-50000\n"));
        assert!(!spared(40_000..=40_009, "40000-40004,40006-50000\n"));
        assert!(spared(60_990..=61_000, "60990-60999\n"));
    }

    #[test]
    fn what_the_host_has_now_can_be_read() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let end = socket.local_addr().unwrap();
        let list = fs::read_to_string("/proc/thread-self/net/udp").unwrap();
        assert_eq!(used(&list, end.ip(), &(end.port()..=end.port())), Some(end.port()));
        let error = check(end.ip(), &(end.port()..=end.port())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    }

    proptest! {
        #[test]
        fn no_list_makes_it_panic(list in "[ :0-9A-Fa-f\n\u{e9}]{0,200}") {
            let _ = used(&list, Ipv4Addr::LOCALHOST.into(), &(1..=u16::MAX));
            let _ = (range(&list), are_spared(&(1..=9), &(1..=9), &list));
        }
    }
}
