//! Values that expressions and packets share, so that they meet.

/// Ports, among them those of Geneve and VXLAN.
pub(crate) const PORTS: &[u16] = &[0, 22, 53, 80, 443, 4789, 6081, 7000, 7009, 65535];
/// Numbers of IP protocols and IPv6 extension headers.
pub(crate) const PROTOCOLS: &[u8] =
    &[0, 1, 2, 6, 9, 17, 41, 43, 44, 47, 50, 51, 58, 59, 60, 89, 103, 112, 132, 135, 255];
pub(crate) const IPV4: &[[u8; 4]] = &[
    [10, 0, 0, 1],
    [10, 0, 3, 7],
    [10, 255, 255, 255],
    [127, 0, 0, 1],
    [192, 168, 1, 1],
    [192, 168, 1, 255],
    [224, 0, 0, 1],
    [255, 255, 255, 255],
    [0, 0, 0, 0],
];
pub(crate) const IPV6: &[[u16; 8]] = &[
    [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1],
    [0x2001, 0xdb8, 0, 1, 0, 0, 0, 0x1234],
    [0xfe80, 0, 0, 0, 0, 0, 0, 1],
    [0xff02, 0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0xffff, 0x0a00, 1],
];
pub(crate) const MAC: &[[u8; 6]] = &[
    [0, 0, 0, 0, 0, 1],
    [2, 0x11, 0x22, 0x33, 0x44, 0x55],
    [0xff; 6],
    [1, 0, 0x5e, 0, 0, 1],
    [0x33, 0x33, 0, 0, 0, 1],
    [0x01, 0x80, 0xc2, 0, 0, 0],
];
pub(crate) const VLANS: &[u16] = &[0, 1, 100, 4095];
pub(crate) const LABELS: &[u32] = &[0, 2, 3, 100, 1024, 0xf_ffff];
pub(crate) const SESSIONS: &[u16] = &[0, 0x27, 0xffff];
pub(crate) const VNIS: &[u32] = &[0, 0xb, 0xff_ffff];
/// EtherTypes that some primitive asks for, and a few others.
pub(crate) const ETHERTYPES: &[u16] = &[
    0x0800, 0x86dd, 0x0806, 0x8035, 0x8100, 0x88a8, 0x9100, 0x8847, 0x8848, 0x8863, 0x8864, 0x809b,
    0x80f3, 0x8137, 0x6001, 0x6002, 0x6003, 0x6004, 0x6007, 0x9000, 0x88cc, 0x0600, 0x05dc, 0x0101,
];
/// Service access points of 802.2.
pub(crate) const SAPS: &[u8] = &[0x00, 0x06, 0x42, 0xaa, 0xe0, 0xf0, 0xf4, 0xfe, 0xff];
