//! Payloads as they are captured on link types other than those that live captures mostly have.

use super::{ethernet, family, ppp};
use linerate_base::LinkType;

const TO: [u8; 6] = [2, 0, 0, 0, 0, 9];
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 3];

/// A payload of this EtherType, or 802.2 service access point, behind the link type's header, in which
/// what can vary does so by the payload.
pub(super) fn framed(link_type: LinkType, kind: u16, bytes: &[u8]) -> Vec<u8> {
    let [high, low] = kind.to_be_bytes();
    let odd = (bytes.len() & 1) as u8;
    match link_type.0 {
        6 => [&[0x10, 0x40][..], &TO, &FROM, &llc(kind, bytes)].concat(),
        10 => [&[0x50][..], &TO, &FROM, &llc(kind, bytes)].concat(),
        100 | 106 => llc(kind, bytes),
        122 => [&[0, 0][..], &TO, &[0, 0], &FROM, &llc(kind, bytes)].concat(),
        123 => [&[0x02, 0, 0, 5][..], &llc(kind, bytes)].concat(),
        105 | 119 | 127 | 163 | 192 => [radio(link_type, odd), wlan(&llc(kind, bytes))].concat(),
        7 => [&[5, 6 * odd, arcnet(kind), 0, 0, 0][..], bytes].concat(),
        129 => [&[5, 6 * odd, 0, 0, arcnet(kind), 0, 0, 0][..], bytes].concat(),
        8 => [&[bytes[0] & (0xf0 * odd)][..], &[0; 15], bytes].concat(),
        102 => [&[bytes[0]][..], &[0; 23], bytes].concat(),
        50 => [&[0xff, 0x03], &ppp(kind).to_be_bytes()[..], bytes].concat(),
        51 => [&[0x11, 0, 0, 5, 0, 50], &ppp(kind).to_be_bytes()[..], bytes].concat(),
        166 => [&[odd, 0x03], &ppp(kind).to_be_bytes()[..], bytes].concat(),
        103 => [&[0; 5], &ppp(kind).to_be_bytes()[..], &[0; 17], bytes].concat(),
        99 => [&[0; 6], &[high, low][..], &[0; 36], bytes].concat(),
        138 => [&[0; 16], &[high, low][..], bytes].concat(),
        104 | 112 if kind == 0xfe => [&[0x0f, 0, 0xfe, 0xfe], &bytes[2..]].concat(),
        104 | 112 => [&[0x0f, 0, high, low], bytes].concat(),
        107 => [&[0x04, 0x41, 0x03, nlpid(kind, bytes)], bytes].concat(),
        109 => [&family(kind).to_ne_bytes()[..], &[0; 8], bytes].concat(),
        117 => [&pf_log(kind, odd)[..], bytes].concat(),
        226 => [&[1, family(kind) as u8, 0, 1 + odd][..], &[0; 20], bytes].concat(),
        130..=137 | 164 | 167 | 168 | 178..=181 | 183 | 194 | 200 | 232..=234 | 238 => {
            [&[0x4d, 0x47, 0x43, odd][..], &vec![0; juniper(link_type) - 4], bytes].concat()
        }
        139 => [&[0; 4], &signal_unit(bytes)[..]].concat(),
        140 => signal_unit(bytes),
        197 => [&[0; 20], &signal_unit(bytes)[..]].concat(),
        165 => [&[0x55, 0xff][..], bytes].concat(),
        240 => [&[0; 4], &framed_ethernet(kind, bytes)[..]].concat(),
        241 => [&[0; 12], &framed_ethernet(kind, bytes)[..]].concat(),
        281 | 284 => tagged(&[0x40 * odd, 1, 2, 3], kind, bytes),
        285 => tagged(&[0xda, 0xda, 0, 0, 0x40 * odd, 1, 2, 3], kind, bytes),
        _ => bytes.to_vec(),
    }
}

/// Packets that only this link type has.
pub(super) fn others(link_type: LinkType) -> Vec<Vec<u8>> {
    let cell = |kind: u8, channel: u8, message: u8| {
        vec![kind, 0, 0, channel, 9, 3, 0, 0, 0, message, 2, 3]
    };
    match link_type.0 {
        123 => vec![
            [&[0x01, 0, 0, 7, 0, 3][..], &ethernet(0x0800, &[0x45; 40])].concat(),
            [&[0x01, 1, 0, 7, 0xff, 0, 1][..], &ethernet(0x0800, &[0x45; 40])].concat(),
            cell(6, 5, 0x05),
            cell(6, 1, 0x5a),
            cell(0, 2, 0),
            cell(0, 3, 0),
            cell(0, 4, 0),
            cell(5, 16, 0),
        ],
        105 | 119 | 127 | 163 | 192 => {
            let kinds = [0x80, 0xc0, 0x00, 0xb4, 0xc4, 0xd4, 0xa4, 0x48, 0xc8, 0x98];
            let frame = |kind: u8| {
                let mut frame = vec![kind, kind >> 4 & 3, 0, 0];
                frame.extend([[0xff; 6], FROM, TO].concat());
                frame.extend([0; 12]);
                [radio(link_type, kind >> 7), frame].concat()
            };
            kinds.map(frame).to_vec()
        }
        _ => Vec::new(),
    }
}

fn llc(kind: u16, bytes: &[u8]) -> Vec<u8> {
    let [high, low] = kind.to_be_bytes();
    match kind {
        ..0x100 => bytes.to_vec(),
        0x809b => [&[0xaa, 0xaa, 0x03, 8, 0, 7, high, low], bytes].concat(),
        _ => [&[0xaa, 0xaa, 0x03, 0, 0, 0, high, low], bytes].concat(),
    }
}

fn framed_ethernet(kind: u16, bytes: &[u8]) -> Vec<u8> {
    if kind < 0x100 { ethernet(bytes.len() as u16, bytes) } else { ethernet(kind, bytes) }
}

fn tagged(tag: &[u8], kind: u16, bytes: &[u8]) -> Vec<u8> {
    let frame = framed_ethernet(kind, bytes);
    [&frame[..12], tag, &frame[12..]].concat()
}

/// Data frames of all ways, with and without a field for quality of service.
fn wlan(body: &[u8]) -> Vec<u8> {
    let (kind, way) = (if body.len() & 2 == 0 { 0x08 } else { 0x88 }, (body.len() >> 2) as u8 & 3);
    let mut frame = vec![kind, way, 0, 0];
    frame.extend([TO, FROM, [2, 0, 0, 0, 0, 7]].concat());
    frame.extend([0, 0]);
    frame.extend(vec![0; if kind == 0x88 { 2 } else { 0 }]);
    [frame, body.to_vec()].concat()
}

fn radio(link_type: LinkType, odd: u8) -> Vec<u8> {
    match link_type.0 {
        119 if odd == 1 => [&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 12][..], &[0; 4]].concat(),
        119 => vec![0x44; 144],
        127 if odd == 1 => [&[0, 0, 18, 0, 3, 0, 0, 0][..], &[9; 8], &[0x20, 0]].concat(),
        127 => vec![0, 0, 9, 0, 2, 0, 0, 0, 0x10],
        163 => [&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 16][..], &[0; 8]].concat(),
        192 => vec![0, 0, 8, 0, if odd == 1 { 105 } else { 1 }, 0, 0, 0],
        _ => Vec::new(),
    }
}

fn arcnet(kind: u16) -> u8 {
    match kind {
        0x0800 => 0xd4,
        0x0806 => 0xf1,
        0x8035 => 0xd6,
        0x86dd => 0xc4,
        0x809b => 0xdd,
        other => other as u8,
    }
}

fn nlpid(kind: u16, bytes: &[u8]) -> u8 {
    match kind {
        0x0800 => 0xcc,
        0x86dd => 0x8e,
        0xfe => bytes[3],
        _ => 0x80,
    }
}

fn pf_log(kind: u16, odd: u8) -> Vec<u8> {
    let mut header = vec![61, family(kind) as u8, odd, 6 * odd];
    header.extend(*b"eth0\0\0\0\0\0\0\0\0\0\0\0\0foo\0\0\0\0\0\0\0\0\0\0\0\0\0");
    header.extend([0, 0, 0, 5, 0, 0, 0, 6]);
    header.extend([0; 16]);
    header.extend([1 + odd, 0, 0, 0]);
    header
}

fn juniper(link_type: LinkType) -> usize {
    match link_type.0 {
        133 | 164 => 12,
        135 => 8,
        167 | 178 => 32,
        168 => 6,
        _ => 4,
    }
}

/// A length indicator, of either size, and the label of MTP3.
fn signal_unit(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() % 4) as u8;
    let fast = [[0, 0], [0, 0x80], [1, 0], [1, 0x80]][bytes.len() / 4 % 4];
    [&[0, 0, length, 3][..], &fast, &[3, 0x05, 0x40, 0x01, 0x50, 3], bytes].concat()
}
