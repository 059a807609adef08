//! Where walks begin.

/// The addresses of the root servers, from A to M, one to a line: those of IANA's `named.root`, version 2024071801.
pub const ROOTS: &str = include_str!("roots.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn there_are_thirteen_of_each_family() {
        let all: Vec<IpAddr> = ROOTS.lines().map(|line| line.parse().unwrap()).collect();
        let ipv4 = all.iter().filter(|address| address.is_ipv4()).count();
        assert_eq!((ipv4, all.len()), (13, 26));
    }
}
