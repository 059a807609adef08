//! Checksums that follow a change.

/// The Internet checksum `sum` of data in which `old` became `new`, as RFC 1624 (equation 3) has it:
/// `~(~sum + ~old + new)` in ones' complement. What was wrong before stays wrong by as much.
///
/// # Panics
/// When the two differ in length, or have an odd one.
pub(super) fn follow(sum: u16, old: &[u8], new: &[u8]) -> u16 {
    assert_eq!(old.len(), new.len(), "a change of length");
    let words = |bytes: &[u8]| {
        let (pairs, odd) = bytes.as_chunks::<2>();
        assert!(odd.is_empty(), "half a word");
        pairs.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum::<u32>()
    };
    let taken = 0xffff * (old.len() / 2) as u32 - words(old);
    let mut total = u32::from(!sum) + taken + words(new);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::checksum::Sum16BitWords;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_rfc() {
        // RFC 1624, 4: the equation of RFC 1141 gives 0xffff here.
        assert_eq!(follow(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    fn whole(bytes: &[u8]) -> u16 {
        Sum16BitWords::new().add_slice(bytes).ones_complement().to_be()
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_changed_data(
            mut data in prop::collection::vec(any::<u8>(), 40), new in any::<[u8; 16]>(), at in 0..12_usize,
        ) {
            data[39] = 1; // All zeroes have another sum than what adds up to zero.
            let (before, range) = (whole(&data), 2 * at..2 * at + 16);
            let old = data[range.clone()].to_vec();
            data[range].copy_from_slice(&new);
            prop_assert_eq!(follow(before, &old, &new), whole(&data));
        }
    }
}
