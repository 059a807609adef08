//! Operation codes: every one that the kernel and libpcap know, and no other.
//!
//! A code is a class (low three bits) plus, for loads, a width and an addressing mode, and for
//! arithmetic and jumps an operation and the second operand (`_K` the constant, `_X` the index
//! register). Values: `linux/bpf_common.h` (Linux 6.1).

macro_rules! opcodes {
    ($($constant:ident = $code:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: u16 = $code;)*

        /// True for the codes above.
        pub const fn is_valid(code: u16) -> bool {
            matches!(code, $($code)|*)
        }

        /// Every valid code, in the order above.
        pub const ALL: &[u16] = &[$($code),*];
    };
}

opcodes! {
    LD_IMM = 0x00, "A = k";
    LDW_ABS = 0x20, "A = the 4 bytes at k";
    LDH_ABS = 0x28, "A = the 2 bytes at k";
    LDB_ABS = 0x30, "A = the byte at k";
    LDW_IND = 0x40, "A = the 4 bytes at X + k";
    LDH_IND = 0x48, "A = the 2 bytes at X + k";
    LDB_IND = 0x50, "A = the byte at X + k";
    LD_MEM = 0x60, "A = M\\[k\\]";
    LD_LEN = 0x80, "A = the packet's length on the wire";

    LDX_IMM = 0x01, "X = k";
    LDX_MEM = 0x61, "X = M\\[k\\]";
    LDX_LEN = 0x81, "X = the packet's length on the wire";
    LDX_MSH = 0xb1, "X = 4 * (the byte at k & 15): the length of an IPv4 header";

    ST = 0x02, "M\\[k\\] = A";
    STX = 0x03, "M\\[k\\] = X";

    ADD_K = 0x04, "A += k";
    ADD_X = 0x0c, "A += X";
    SUB_K = 0x14, "A -= k";
    SUB_X = 0x1c, "A -= X";
    MUL_K = 0x24, "A *= k";
    MUL_X = 0x2c, "A *= X";
    DIV_K = 0x34, "A /= k";
    DIV_X = 0x3c, "A /= X; the verdict is 0 if X is 0";
    OR_K = 0x44, "A |= k";
    OR_X = 0x4c, "A |= X";
    AND_K = 0x54, "A &= k";
    AND_X = 0x5c, "A &= X";
    LSH_K = 0x64, "A <<= k";
    LSH_X = 0x6c, "A <<= X; shifts of 32 and more leave 0 here and in libpcap, the kernel takes X modulo 32";
    RSH_K = 0x74, "A >>= k";
    RSH_X = 0x7c, "A >>= X; for 32 and more as with [`LSH_X`]";
    NEG = 0x84, "A = -A";
    MOD_K = 0x94, "A %= k";
    MOD_X = 0x9c, "A %= X; the verdict is 0 if X is 0";
    XOR_K = 0xa4, "A ^= k";
    XOR_X = 0xac, "A ^= X";

    JA = 0x05, "skip k instructions; in user space k may be negative";
    JEQ_K = 0x15, "jump if A = k";
    JEQ_X = 0x1d, "jump if A = X";
    JGT_K = 0x25, "jump if A > k";
    JGT_X = 0x2d, "jump if A > X";
    JGE_K = 0x35, "jump if A >= k";
    JGE_X = 0x3d, "jump if A >= X";
    JSET_K = 0x45, "jump if A & k is not 0";
    JSET_X = 0x4d, "jump if A & X is not 0";

    RET_K = 0x06, "the verdict is k";
    RET_A = 0x16, "the verdict is A";

    TAX = 0x07, "X = A";
    TXA = 0x87, "A = X";
}

/// True for jumps that test something.
pub const fn is_conditional_jump(code: u16) -> bool {
    matches!(code, JEQ_K | JEQ_X | JGT_K | JGT_X | JGE_K | JGE_X | JSET_K | JSET_X)
}
