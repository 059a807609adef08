//! Programs as text.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::ptr;

use linerate::bpf::classic::{Format, Instruction, Text};

use super::instructions;
use crate::abi::BpfProgram;
use crate::entry::entry;

thread_local! {
    /// What `bpf_image` gave last.
    static IMAGE: RefCell<CString> = RefCell::default();
}

/// A text as a C string; ours have no NUL.
fn c_string(text: String) -> CString {
    CString::new(text).unwrap_or_default()
}

entry! {
    /// A line for an instruction that is at `index` in its program; valid until the thread's next one.
    fn bpf_image(instruction: *const Instruction, index: c_int) -> *mut c_char, ptr::null_mut() => {
        let Some(instruction) = instruction.as_ref() else { return ptr::null_mut() };
        let line = instruction.line(usize::try_from(index).unwrap_or(0)).to_string();
        IMAGE.with_borrow_mut(|image| {
            *image = c_string(line);
            image.as_ptr().cast_mut()
        })
    }

    /// Prints a program to C's standard output: for people, with 2 as an array in C, with 3 as numbers.
    fn bpf_dump(program: *const BpfProgram, option: c_int) -> (), () => {
        let format = match option {
            3.. => Format::Decimal,
            2 => Format::CArray,
            _ => Format::Listing,
        };
        let text = Text::new(instructions(program), format).to_string();
        if let Some(lines) = text.strip_suffix('\n') {
            libc::puts(c_string(lines.into()).as_ptr());
        }
    }
}
