//! The objects of `--json`.

use etherparse::PacketBuilder;
use linerate_base::{LinkType, Packet, Timestamp};
use serde_json::{Value, json};

fn objects(data: &[u8]) -> Value {
    let packet = Packet {
        time: Timestamp::EPOCH,
        data,
        length: data.len() as u32,
        interface: 0,
        link_type: LinkType::ETHERNET,
        direction: Default::default(),
    };
    serde_json::to_value(linerate_wire::layers(&packet)).expect("layers serialise")
}

#[test]
fn a_segment_is_four_objects() {
    let mut data = Vec::new();
    PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(43210, 9, 123, 64240)
        .syn()
        .ack(5)
        .write(&mut data, b"abc")
        .expect("writing to memory");
    assert_eq!(
        objects(&data),
        json!([
            {
                "layer": "ethernet", "source": "02:00:00:00:00:01",
                "destination": "02:00:00:00:00:02", "ethertype": 0x0800, "length": 57
            },
            {
                "layer": "ipv4", "source": "10.0.0.1", "destination": "10.0.0.2", "tos": 0,
                "ttl": 64, "identification": 0, "flags": ["do_not_fragment"],
                "fragment_offset": 0, "protocol": 6, "length": 43, "header_length": 20,
                "missing": 0, "checksum": {"value": 9931, "correct": true}
            },
            {
                "layer": "tcp", "source_port": 43210, "destination_port": 9, "sequence": 123,
                "acknowledgment": 5, "flags": ["syn", "ack"], "window": 64240,
                "checksum": {"value": 13094, "correct": true}, "urgent": 0, "options": [],
                "header_length": 20, "length": 3
            },
            {"layer": "payload", "length": 3}
        ])
    );
}

#[test]
fn dns_is_spelt_out() {
    let mut message = vec![0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    message.extend(b"\x01a\x07example\x00\x00\x01\x00\x01");
    message.extend(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01");
    let mut data = Vec::new();
    PacketBuilder::ethernet2([0; 6], [0; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(53, 1000)
        .write(&mut data, &message)
        .expect("writing to memory");
    assert_eq!(
        objects(&data)[3],
        json!({
            "layer": "dns", "id": 7, "response": true, "opcode": 0, "rcode": 0,
            "flags": ["recursion_desired", "recursion_available"], "multicast": false,
            "length": 43,
            "questions": [{"name": "a.example", "type": "A", "class": 1}],
            "answers": [
                {"name": "a.example", "type": "A", "class": 1, "ttl": 60, "data": "192.0.2.1"}
            ],
            "authorities": [], "additionals": []
        })
    );
}

#[test]
fn a_cut_packet_ends_with_a_mark() {
    let layers = objects(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]);
    assert_eq!(
        layers[1],
        json!({"layer": "malformed", "protocol": "ip", "reason": "truncated-ip"})
    );
}
