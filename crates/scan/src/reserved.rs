//! Addresses that are nobody's on the Internet: there is nothing to be found, or it is somebody's own network.

/// The special-purpose address registries of the IANA (RFC 6890), with multicast, as a blocklist has them.
pub const RESERVED: &str = "\
0.0.0.0/8          # this network, RFC 791
10.0.0.0/8         # private use, RFC 1918
100.64.0.0/10      # shared address space, RFC 6598
127.0.0.0/8        # loopback, RFC 1122
169.254.0.0/16     # link local, RFC 3927
172.16.0.0/12      # private use, RFC 1918
192.0.0.0/24       # protocol assignments, RFC 6890
192.0.2.0/24       # documentation, RFC 5737
192.88.99.0/24     # relays of 6to4, RFC 7526
192.168.0.0/16     # private use, RFC 1918
198.18.0.0/15      # benchmarks, RFC 2544
198.51.100.0/24    # documentation, RFC 5737
203.0.113.0/24     # documentation, RFC 5737
224.0.0.0/4        # multicast, RFC 5771
240.0.0.0/4        # reserved, RFC 1112, with the limited broadcast of RFC 919
::/128             # unspecified, RFC 4291
::1/128            # loopback, RFC 4291
::ffff:0:0/96      # IPv4-mapped, RFC 4291
64:ff9b:1::/48     # translation, RFC 8215
100::/64           # discard only, RFC 6666
2001::/23          # protocol assignments, RFC 2928
2001:db8::/32      # documentation, RFC 3849
2002::/16          # 6to4, RFC 3056
3fff::/20          # documentation, RFC 9637
5f00::/16          # segment routing, RFC 9602
fc00::/7           # unique local, RFC 4193
fe80::/10          # link local, RFC 4291
ff00::/8           # multicast, RFC 4291
";

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_transmit::Blocklist;

    #[test]
    fn it_is_a_blocklist() {
        let list = Blocklist::parse(RESERVED, "reserved").unwrap();
        assert_eq!((list.ipv4().len(), list.ipv6().len()), (15, 13));
    }
}
