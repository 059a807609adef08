//! Programs that choose packets of a batch, one by one.

use linerate_base::{Batch, Matches, Packet, Select};

use super::{Ancillary, Input, Program, ancillary};

impl<'a> Input<'a> {
    /// A packet of a batch. Its direction is known where the packet tells it, the number of its interface
    /// where the caller does.
    pub fn of(packet: &Packet<'a>, interface: Option<u32>) -> Self {
        let ancillary = Ancillary {
            packet_type: ancillary::packet_type(packet.direction),
            interface_index: interface,
            ..Ancillary::default()
        };
        Self { data: packet.data, length: packet.length, ancillary }
    }
}

impl Select for Program {
    fn select(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut Matches) {
        matches.reset(batch.len());
        for (at, packet) in batch.iter().enumerate() {
            if self.run(&Input::of(&packet, interface)) != 0 {
                matches.insert(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Instruction as I, opcode};
    use super::*;
    use linerate_base::{Descriptor, Direction, Interface};

    #[test]
    fn a_program_can_ask_for_the_direction() {
        let program = Program::new(vec![
            I::new(opcode::LDB_ABS, ancillary::PACKET_TYPE),
            I::new(opcode::RET_A, 0),
        ]);
        let table = [Direction::Out, Direction::In, Direction::Unknown]
            .map(|direction| Descriptor { direction, ..Descriptor::default() });
        let interfaces = [Interface::default()];
        let mut matches = Matches::new();
        let batch = Batch::new(&[], &table, &interfaces);
        program.unwrap().select(&batch, None, &mut matches);
        assert_eq!(matches.iter().collect::<Vec<_>>(), [0]);
    }
}
