//! The loop of `protochain`.

use crate::ir::predicate::{Chain, IpVersion};
use linerate_bpf::classic::{Instruction, opcode as op};

/// IANA protocol numbers of the headers that are followed.
const AUTHENTICATION: u32 = 51;
const IPV6_EXTENSIONS: [u32; 4] = [0, 43, 44, 60];

/// Instructions that leave in A the wanted protocol if it is in the chain, else the one that ends it.
/// They use X and one word of scratch memory; headers begin at `network`.
pub(super) fn chain(chain: &Chain, network: u32, scratch: u32) -> Vec<Instruction> {
    let at = |code, offset: u32| Instruction::new(code, network.wrapping_add(offset));
    let mut body = match chain.version {
        IpVersion::V4 => vec![at(op::LDB_ABS, 9), at(op::LDX_MSH, 0)],
        IpVersion::V6 => vec![at(op::LDB_ABS, 6), Instruction::new(op::LDX_IMM, 40)],
    };
    let again = body.len();
    let extensions: &[u32] = match chain.version {
        IpVersion::V4 => &[],
        IpVersion::V6 => &IPV6_EXTENSIONS,
    };
    let advance_extension = advance(network, scratch, 1, 8);
    let advance_authentication = advance(network, scratch, 2, 4);
    // One step back and what it takes: a part that advances, and the jump.
    let (extension, authentication) =
        (advance_extension.len() + 1, advance_authentication.len() + 1);
    let skipped = if extensions.is_empty() { 0 } else { extension };

    // Found: past the other tests and both parts.
    let end = extensions.len() + 1 + skipped + authentication;
    body.push(Instruction::jump(op::JEQ_K, chain.protocol, end as u8, 0));
    for (position, protocol) in extensions.iter().enumerate() {
        let past_tests = extensions.len() - position;
        body.push(Instruction::jump(op::JEQ_K, *protocol, past_tests as u8, 0));
    }
    let otherwise = skipped + authentication;
    body.push(Instruction::jump(op::JEQ_K, AUTHENTICATION, skipped as u8, otherwise as u8));
    if !extensions.is_empty() {
        body.extend(advance_extension);
        push_jump_back(&mut body, again);
    }
    body.extend(advance_authentication);
    push_jump_back(&mut body, again);
    body
}

/// A = the next header's protocol, X += (length byte + `extra`) * `unit`.
fn advance(network: u32, scratch: u32, extra: u32, unit: u32) -> [Instruction; 8] {
    [
        Instruction::new(op::LDB_IND, network),
        Instruction::new(op::ST, scratch),
        Instruction::new(op::LDB_IND, network.wrapping_add(1)),
        Instruction::new(op::ADD_K, extra),
        Instruction::new(op::MUL_K, unit),
        Instruction::new(op::ADD_X, 0),
        Instruction::new(op::TAX, 0),
        Instruction::new(op::LD_MEM, scratch),
    ]
}

fn push_jump_back(body: &mut Vec<Instruction>, to: usize) {
    let distance = (body.len() + 1 - to) as u32;
    body.push(Instruction::new(op::JA, distance.wrapping_neg()));
}
