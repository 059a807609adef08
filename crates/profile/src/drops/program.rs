//! The programs in the kernel.

use std::os::fd::{AsFd, AsRawFd};

use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Register, Size, Test, helper};
use linerate_sys::bpf::Map;
use linerate_sys::btf::Btf;

use Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};

/// Where things are in the kernel's structures, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    skb_device: i32,
    device_index: i32,
    device_net: i32,
    net_number: i32,
    file_inode: i32,
    file_private: i32,
    inode_mode: i32,
    inode_number: i32,
    socket_sock: i32,
    sock_family: i32,
    packet_drops: i32,
    packet_stats: i32,
}

impl Fields {
    /// `None` where the kernel's types are others.
    pub(super) fn find(btf: &Btf) -> Option<Self> {
        let field = |structure, member| btf.offset(structure, member).map(|at| at as i32);
        Some(Self {
            skb_device: field("sk_buff", "dev")?,
            device_index: field("net_device", "ifindex")?,
            device_net: field("net_device", "nd_net")?,
            net_number: field("net", "ns")? + field("ns_common", "inum")?,
            file_inode: field("file", "f_inode")?,
            file_private: field("file", "private_data")?,
            inode_mode: field("inode", "i_mode")?,
            inode_number: field("inode", "i_ino")?,
            socket_sock: field("socket", "sk")?,
            sock_family: field("sock", "__sk_common")? + field("sock_common", "skc_family")?,
            packet_drops: field("packet_sock", "tp_drops")?,
            packet_stats: field("packet_sock", "stats")?,
        })
    }
}

/// Where on the stack what is read from the kernel comes to lie.
const READ: i16 = -8;
/// Where on the stack the map's key is: place (8 bytes), reason (4), interface (4).
const KEY: i16 = -32;
const VALUE: i16 = -40;

/// Counts every dropped packet of the namespace with this number in the map, by [`KEY`].
pub(super) fn count_drops(fields: &Fields, counts: &Map, namespace: u32) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let [out, found] = [p.label(), p.label()];
    p.push(Instruction::mov(R6, R1));
    p.push(Instruction::load(Size::Double, R7, R6, 0));
    follow(&mut p, R7, fields.skb_device, Size::Double, R8, out);
    p.jump_if(Test::Equal, R8, 0, out);
    follow(&mut p, R8, fields.device_net, Size::Double, R7, out);
    follow(&mut p, R7, fields.net_number, Size::Word, R7, out);
    p.jump_if32(Test::NotEqual, R7, namespace as i32, out);
    follow(&mut p, R8, fields.device_index, Size::Word, R9, out);
    p.push(Instruction::load(Size::Double, R1, R6, 8));
    p.push(Instruction::store(Size::Double, R10, KEY, R1));
    p.push(Instruction::load(Size::Double, R1, R6, 16));
    p.push(Instruction::store(Size::Word, R10, KEY + 8, R1));
    p.push(Instruction::store(Size::Word, R10, KEY + 12, R9));
    look_up(&mut p, counts);
    p.jump_if(Test::NotEqual, R0, 0, found);
    insert_zero(&mut p, counts);
    look_up(&mut p, counts);
    p.jump_if(Test::Equal, R0, 0, out);
    p.place(found);
    p.push(Instruction::mov(R1, 1));
    p.push(Instruction::atomic_add(Size::Double, R0, 0, R1));
    end(p, out)
}

/// `struct bpf_iter__task_file`: where its fields `meta` and `file` are.
const META: i16 = 0;
const FILE: i16 = 24;

/// What is written for each packet socket: inode (8 bytes), packets dropped (4), packets seen (4).
pub(super) const RECORD: usize = 16;

/// `S_IFMT`, `S_IFSOCK`, `AF_PACKET`.
const FORMAT: i32 = 0o170_000;
const SOCKET: i32 = 0o140_000;
const PACKET: i32 = 17;

/// Called for each open file of each process: writes a [`RECORD`] for a packet socket.
pub(super) fn list_sockets(fields: &Fields) -> Vec<Instruction> {
    let mut p = Assembler::new();
    let out = p.label();
    p.push(Instruction::mov(R6, R1));
    p.push(Instruction::load(Size::Double, R7, R6, FILE));
    p.jump_if(Test::Equal, R7, 0, out);
    follow(&mut p, R7, fields.file_inode, Size::Double, R8, out);
    follow(&mut p, R8, fields.inode_mode, Size::Half, R9, out);
    p.push(Instruction::alu(Alu::And, R9, FORMAT));
    p.jump_if(Test::NotEqual, R9, SOCKET, out);
    follow(&mut p, R8, fields.inode_number, Size::Double, R9, out);
    p.push(Instruction::store(Size::Double, R10, KEY, R9));
    follow(&mut p, R7, fields.file_private, Size::Double, R8, out);
    follow(&mut p, R8, fields.socket_sock, Size::Double, R8, out);
    follow(&mut p, R8, fields.sock_family, Size::Half, R9, out);
    p.jump_if(Test::NotEqual, R9, PACKET, out);
    follow(&mut p, R8, fields.packet_drops, Size::Word, R9, out);
    p.push(Instruction::store(Size::Word, R10, KEY + 8, R9));
    follow(&mut p, R8, fields.packet_stats, Size::Word, R9, out);
    p.push(Instruction::store(Size::Word, R10, KEY + 12, R9));
    p.push(Instruction::load(Size::Double, R1, R6, META));
    p.push(Instruction::load(Size::Double, R1, R1, 0));
    address(&mut p, R2, KEY);
    p.push(Instruction::mov(R3, RECORD as i32));
    p.push(Instruction::call(helper::SEQ_WRITE));
    end(p, out)
}

/// Loads what lies `offset` bytes behind the address in `base`; goes to `out` where that cannot be read.
fn follow(p: &mut Assembler, base: Register, offset: i32, size: Size, to: Register, out: Label) {
    address(p, R1, READ);
    p.push(Instruction::mov(R2, bytes(size)));
    p.push(Instruction::mov(R3, base));
    p.push(Instruction::alu(Alu::Add, R3, offset));
    p.push(Instruction::call(helper::PROBE_READ_KERNEL));
    p.jump_if(Test::NotEqual, R0, 0, out);
    p.push(Instruction::load(size, to, R10, READ));
}

fn bytes(size: Size) -> i32 {
    match size {
        Size::Byte => 1,
        Size::Half => 2,
        Size::Word => 4,
        Size::Double => 8,
    }
}

fn look_up(p: &mut Assembler, map: &Map) {
    p.extend(Instruction::load_map(R1, map.as_fd().as_raw_fd()));
    address(p, R2, KEY);
    p.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
}

/// Another processor may do so at the same time: an element that is there is left alone.
fn insert_zero(p: &mut Assembler, map: &Map) {
    const NO_EXIST: i32 = 1;
    p.push(Instruction::store(Size::Double, R10, VALUE, 0));
    p.extend(Instruction::load_map(R1, map.as_fd().as_raw_fd()));
    address(p, R2, KEY);
    address(p, R3, VALUE);
    p.push(Instruction::mov(R4, NO_EXIST));
    p.push(Instruction::call(helper::MAP_UPDATE_ELEM));
}

/// `to` = address of a place on the stack.
fn address(p: &mut Assembler, to: Register, at: i16) {
    p.push(Instruction::mov(to, R10));
    p.push(Instruction::alu(Alu::Add, to, i32::from(at)));
}

fn end(mut p: Assembler, out: Label) -> Vec<Instruction> {
    p.place(out);
    p.extend([Instruction::mov(R0, 0), Instruction::exit()]);
    p.finish().expect("every label is placed")
}
