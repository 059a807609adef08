use super::{Instruction, Operand, Register, Test, far};

/// A place in a program that jumps can name before or after it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(pub(super) usize);

/// Why a program could not be assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A jump names a label that was never placed.
    #[error("the jump at {at} leads to a label that was never placed")]
    Unplaced {
        /// Index of the jump, far ones before it counted as one instruction.
        at: usize,
    },
}

/// A program being written.
#[derive(Debug, Default)]
pub struct Assembler {
    program: Vec<Instruction>,
    /// Where each label is, once it is known.
    labels: Vec<Option<usize>>,
    /// The jumps, by index, and their labels.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// An empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a label, to be placed once.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label: it names the next instruction.
    ///
    /// # Panics
    /// If the label was placed before, or comes from another assembler.
    pub fn place(&mut self, label: Label) {
        let before = self.labels[label.0].replace(self.program.len());
        assert!(before.is_none(), "a label is placed once");
    }

    /// Appends an instruction.
    pub fn push(&mut self, instruction: Instruction) {
        self.program.push(instruction);
    }

    /// Appends a jump.
    pub fn jump(&mut self, to: Label) {
        self.push_jump(Instruction::jump(), to);
    }

    /// Appends a jump that is taken if `dst test operand` over 64 bits.
    pub fn jump_if(&mut self, test: Test, dst: Register, operand: impl Into<Operand>, to: Label) {
        self.push_jump(Instruction::jump_if(test, dst, operand.into()), to);
    }

    /// Appends a jump that is taken if `dst test operand` over the lower 32 bits.
    pub fn jump_if32(&mut self, test: Test, dst: Register, operand: impl Into<Operand>, to: Label) {
        self.push_jump(Instruction::jump_if32(test, dst, operand.into()), to);
    }

    fn push_jump(&mut self, jump: Instruction, to: Label) {
        self.jumps.push((self.program.len(), to));
        self.push(jump);
    }

    /// The program, every jump with its distance.
    ///
    /// A jump farther than 16 bits say becomes one over 32 bits, which Linux knows since 6.6, and a
    /// conditional one then takes two or three instructions.
    ///
    /// # Errors
    /// When a jump's label was never placed.
    pub fn finish(self) -> Result<Vec<Instruction>, AssembleError> {
        Ok(self.finish_with(&[])?.0)
    }

    /// The same, and where these labels came to be: each one's index of an instruction.
    ///
    /// # Errors
    /// When a jump's label was never placed.
    ///
    /// # Panics
    /// If one of `labels` was never placed.
    pub fn finish_with(
        self,
        labels: &[Label],
    ) -> Result<(Vec<Instruction>, Vec<usize>), AssembleError> {
        let (program, layout) = far::assemble(&self.program, &self.jumps, &self.labels)?;
        let place =
            |label: &Label| self.labels[label.0].expect("a label that is asked for is placed");
        Ok((program, labels.iter().map(|label| layout.start(place(label))).collect()))
    }
}

impl Extend<Instruction> for Assembler {
    fn extend<I: IntoIterator<Item = Instruction>>(&mut self, instructions: I) {
        self.program.extend(instructions);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Register::R0;
    use super::*;

    /// The distance of a jump over `skipped` instructions, or back over them.
    fn jump_over(skipped: usize, backward: bool) -> i16 {
        let mut assembler = Assembler::new();
        let label = assembler.label();
        if backward {
            assembler.place(label);
        } else {
            assembler.jump(label);
        }
        assembler.extend(vec![Instruction::mov(R0, 0); skipped]);
        if backward {
            assembler.jump(label);
        } else {
            assembler.place(label);
        }
        let program = assembler.finish().expect("placed");
        program[if backward { skipped } else { 0 }].offset
    }

    #[test]
    fn distances_count_from_the_next_instruction() {
        assert_eq!((jump_over(0, false), jump_over(3, false)), (0, 3));
        assert_eq!((jump_over(0, true), jump_over(3, true)), (-1, -4));
    }

    #[test]
    fn places_are_told_behind_jumps_that_grow() {
        let mut assembler = Assembler::new();
        let [first, far, end] = [(); 3].map(|()| assembler.label());
        assembler.place(first);
        assembler.jump_if(Test::Equal, R0, 1, end);
        assembler.place(far);
        assembler.extend(vec![Instruction::mov(R0, 0); 40_000]);
        assembler.place(end);
        let (program, places) = assembler.finish_with(&[far, end, first]).expect("placed");
        // The jump became two instructions.
        assert_eq!((program.len(), places), (40_002, vec![2, 40_002, 0]));
    }

    #[test]
    fn a_label_must_be_placed() {
        let mut assembler = Assembler::new();
        let label = assembler.label();
        assembler.jump_if(Test::Equal, R0, 1, label);
        assert_eq!(assembler.finish(), Err(AssembleError::Unplaced { at: 0 }));
    }
}
