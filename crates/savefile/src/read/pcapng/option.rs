//! The options at the end of a block.

use super::super::fault::Fault;
use crate::code::option::END;
use crate::order::{Order, padded};

/// A numbered value of a length of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
}

/// The options in a row of bytes, up to its end or the option that marks the end.
pub(super) struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub(super) fn new(order: Order, bytes: &'a [u8]) -> Self {
        Self { order, rest: bytes }
    }

    fn item(&mut self) -> Option<Item<'a>> {
        let (head, body) = self.rest.split_at_checked(4)?;
        let length = usize::from(self.order.u16(head, 2));
        let value = body.get(..length)?;
        self.rest = body.get(padded(length)..)?;
        Some(Item { code: self.order.u16(head, 0), value })
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<Item<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match self.item() {
            Some(Item { code: END, .. }) => None,
            Some(item) => Some(Ok(item)),
            None => {
                self.rest = &[];
                Some(Err(Fault::OptionPastBlock))
            }
        }
    }
}

impl Item<'_> {
    /// The value as text; bytes that are no UTF-8 are replaced, a terminating NUL is left out.
    pub(super) fn text(&self) -> String {
        let text = self.value.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// The value as a 64-bit number.
    pub(super) fn number(&self, order: Order) -> Result<u64, Fault> {
        order.u64(self.value).ok_or_else(|| self.length_fault(8))
    }

    /// The value as a single byte.
    pub(super) fn byte(&self) -> Result<u8, Fault> {
        let [byte] = *self.value else { return Err(self.length_fault(1)) };
        Ok(byte)
    }

    fn length_fault(&self, expected: usize) -> Fault {
        Fault::OptionLength { code: self.code, length: self.value.len(), expected }
    }
}
