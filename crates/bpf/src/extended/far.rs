//! Distances of jumps, and jumps that lead farther than 16 bits say.

use super::assembler::{AssembleError, Label};
use super::{Instruction, Test};

/// The program with its jumps made to lead to their labels, and where its instructions came to be. `jumps` are in ascending order.
pub(super) fn assemble(
    program: &[Instruction],
    jumps: &[(usize, Label)],
    labels: &[Option<usize>],
) -> Result<(Vec<Instruction>, Layout), AssembleError> {
    let target = |&(at, label): &(usize, Label)| {
        labels[label.0].map(|to| Jump { at, to, far: false }).ok_or(AssembleError::Unplaced { at })
    };
    let mut jumps: Vec<Jump> = jumps.iter().map(target).collect::<Result<_, _>>()?;
    loop {
        let layout = Layout::new(program, &jumps);
        // What grows may put other targets out of reach; nothing ever shrinks.
        if !jumps.iter_mut().fold(false, |grown, jump| jump.lengthen(&layout) | grown) {
            return Ok((write(program, &jumps, &layout), layout));
        }
    }
}

/// A jump between two instructions of the program as it was written.
struct Jump {
    at: usize,
    to: usize,
    /// Out of reach of 16 bits.
    far: bool,
}

impl Jump {
    /// Makes the jump a far one if it must be; whether that is new.
    fn lengthen(&mut self, layout: &Layout) -> bool {
        let far = i16::try_from(layout.distance(self)).is_err();
        far && !std::mem::replace(&mut self.far, true)
    }

    /// How many instructions the jump has.
    fn length(&self, program: &[Instruction]) -> usize {
        let jump = program[self.at];
        match (self.far, jump.test()) {
            (false, _) | (true, None) => 1,
            (true, Some(test)) => 2 + usize::from(test.opposite().is_none()),
        }
    }
}

/// Where each instruction as written is in the program as it becomes; and where that ends.
pub(super) struct Layout(Vec<usize>);

impl Layout {
    fn new(program: &[Instruction], jumps: &[Jump]) -> Self {
        let mut starts = Vec::with_capacity(program.len() + 1);
        let (mut jumps, mut next) = (jumps.iter().peekable(), 0);
        for at in 0..program.len() {
            starts.push(next);
            let jump = jumps.next_if(|jump| jump.at == at);
            next += jump.map_or(1, |jump| jump.length(program));
        }
        starts.push(next);
        Self(starts)
    }

    /// Where the instruction at this index, or the program's end, came to be.
    pub(super) fn start(&self, at: usize) -> usize {
        self.0[at]
    }

    /// From behind the jump, whose last instruction is the one that goes far, to its target.
    fn distance(&self, jump: &Jump) -> i64 {
        self.0[jump.to] as i64 - self.0[jump.at + 1] as i64
    }
}

fn write(program: &[Instruction], jumps: &[Jump], layout: &Layout) -> Vec<Instruction> {
    let mut written = Vec::with_capacity(*layout.0.last().unwrap_or(&0));
    let mut jumps = jumps.iter().peekable();
    for (at, &instruction) in program.iter().enumerate() {
        match jumps.next_if(|jump| jump.at == at) {
            Some(jump) => push_jump(&mut written, instruction, jump, layout.distance(jump)),
            None => written.push(instruction),
        }
    }
    written
}

fn push_jump(written: &mut Vec<Instruction>, instruction: Instruction, jump: &Jump, distance: i64) {
    if !jump.far {
        return written.push(Instruction { offset: distance as i16, ..instruction });
    }
    if let Some(test) = instruction.test() {
        match test.opposite() {
            Some(opposite) => written.push(instruction.with_test(opposite).over(1)),
            None => written.extend([instruction.over(1), Instruction::jump().over(1)]),
        }
    }
    // A program has fewer instructions than 31 bits count: the kernel takes a million.
    written.push(Instruction::far_jump(distance as i32));
}

impl Instruction {
    fn over(self, distance: i16) -> Self {
        Self { offset: distance, ..self }
    }

    fn with_test(self, test: Test) -> Self {
        Self { code: self.code & 0x0f | test as u8, ..self }
    }

    /// What a conditional jump tests.
    fn test(&self) -> Option<Test> {
        use Test::*;
        let tests = [
            Equal,
            Greater,
            GreaterOrEqual,
            CommonBits,
            NotEqual,
            SignedGreater,
            SignedGreaterOrEqual,
            Less,
            LessOrEqual,
            SignedLess,
            SignedLessOrEqual,
        ];
        tests.into_iter().find(|&test| test as u8 == self.code & 0xf0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Register::{R0, R1};
    use super::super::{Assembler, disassemble};
    use super::*;

    /// Jumps forward over `skipped` instructions, one of each kind one behind the other.
    fn jumps_over(skipped: usize) -> Vec<Instruction> {
        let mut assembler = Assembler::new();
        let end = assembler.label();
        assembler.jump(end);
        assembler.jump_if32(Test::Equal, R0, 5, end);
        assembler.jump_if(Test::CommonBits, R0, R1, end);
        assembler.extend(vec![Instruction::mov(R0, 0); skipped]);
        assembler.place(end);
        assembler.finish().expect("placed")
    }

    fn first_lines(program: &[Instruction], count: usize) -> String {
        let text = disassemble(program).to_string();
        text.lines().take(count).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn sixteen_bits_are_used_as_far_as_they_reach() {
        let expected = "\
            0: (05) goto pc+32767\n\
            1: (16) if w0 == 0x5 goto pc+32766\n\
            2: (4d) if r0 & r1 goto pc+32765\n\
            3: (b7) r0 = 0\n";
        assert_eq!(first_lines(&jumps_over(32_765), 4), expected);
    }

    #[test]
    fn what_is_farther_takes_thirty_two() {
        let expected = "\
            0: (06) gotol pc+32773\n\
            1: (56) if w0 != 0x5 goto pc+1\n\
            2: (06) gotol pc+32771\n\
            3: (4d) if r0 & r1 goto pc+1\n\
            4: (05) goto pc+1\n\
            5: (06) gotol pc+32768\n\
            6: (b7) r0 = 0\n";
        let program = jumps_over(32_768);
        assert_eq!((first_lines(&program, 7).as_str(), program.len()), (expected, 6 + 32_768));
    }

    #[test]
    fn a_jump_that_grows_puts_others_out_of_reach() {
        let mut assembler = Assembler::new();
        let (near, far) = (assembler.label(), assembler.label());
        assembler.jump_if(Test::Less, R0, 1, near);
        assembler.jump_if(Test::Less, R0, 1, far);
        assembler.extend(vec![Instruction::mov(R0, 0); 32_766]);
        assembler.place(near);
        assembler.extend([Instruction::mov(R0, 0), Instruction::mov(R0, 0)]);
        assembler.place(far);
        let expected = "\
            0: (35) if r0 >= 0x1 goto pc+1\n\
            1: (06) gotol pc+32768\n\
            2: (35) if r0 >= 0x1 goto pc+1\n\
            3: (06) gotol pc+32768\n";
        assert_eq!(first_lines(&assembler.finish().expect("placed"), 4), expected);
    }

    #[test]
    fn jumps_lead_far_back() {
        let mut assembler = Assembler::new();
        let start = assembler.label();
        assembler.place(start);
        assembler.extend(vec![Instruction::mov(R0, 0); 32_768]);
        assembler.jump_if(Test::SignedGreater, R0, 1, start);
        let program = assembler.finish().expect("placed");
        let last = [program[32_768].to_string(), program[32_769].to_string()];
        assert_eq!(last, ["if r0 s<= 0x1 goto pc+1", "gotol pc-32770"]);
    }
}
