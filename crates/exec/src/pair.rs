//! Looks at two halves side by side for the same numbers, of which one must hold, as `port 80` asks of both ports: one step
//! with one branch, instead of two or three. For blocks of packets, `join` does the same.

use crate::lookup::Lookup;
use crate::scalar::{Step, Ways, behind, word};

/// Numbers that are compared at once.
const ROW: usize = 8;

/// Two bytes and the next two.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    place: Place,
    /// In rows, of which the last is filled up with numbers that it has.
    numbers: Box<[[u16; ROW]]>,
    /// The step for packets that do not have both.
    pub(crate) alone: u32,
    pub(crate) ways: Ways,
}

/// Where bytes are: at a constant offset, or at one from the end of the IPv4 header whose first byte is at `header`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    header: Option<u32>,
    at: u32,
}

impl Pair {
    /// Both, the first one above; `None` where a packet does not have them.
    pub(crate) fn load(&self, data: &[u8]) -> Option<u32> {
        let Place { header, at } = self.place;
        match header {
            Some(header) => word(data, behind(data, header, at)?),
            None => word(data, at as usize),
        }
    }

    /// Whether one of them is one of the numbers. All are compared, so that there is nothing to guess.
    pub(crate) fn holds(&self, halves: u32) -> bool {
        let (first, second) = ((halves >> 16) as u16, halves as u16);
        let is_one = |number: &u16| (*number == first) | (*number == second);
        let has_one = |row: &[u16; ROW]| row.iter().fold(false, |found, n| found | is_one(n));
        self.numbers.iter().fold(false, |found, row| found | has_one(row))
    }
}

/// Makes pairs of what can be one. What they are made of stays, for those that come to it by other ways.
pub(crate) fn join(steps: &mut Vec<Step>) {
    for id in 0..steps.len() {
        if let Some(pair) = pair(steps, id) {
            let alone = std::mem::replace(&mut steps[id], Step::Pair(Box::new(pair)));
            steps.push(alone);
        }
    }
}

/// The pair that begins with a step. The first half may be looked at for some numbers, then the second for all, then the first
/// for the rest.
fn pair(steps: &[Step], id: usize) -> Option<Pair> {
    let half = |id: u32| steps.get(id as usize).and_then(half);
    let first = half(id as u32)?;
    let second = half(first.ways.otherwise)?;
    let is_rest = |third: &Half| third.place == first.place && third.ways.then == first.ways.then;
    let rest = half(second.ways.otherwise).filter(is_rest);
    let sorted = |mut numbers: Vec<u16>| {
        numbers.sort_unstable();
        numbers
    };
    let all = sorted(second.numbers);
    let otherwise = match rest {
        _ if sorted(first.numbers.clone()) == all => second.ways.otherwise,
        Some(rest) if sorted([&first.numbers[..], &rest.numbers].concat()) == all => {
            rest.ways.otherwise
        }
        _ => return None,
    };
    let [one, other] = [first.place, second.place];
    let is_pair = one.header == other.header && one.at.abs_diff(other.at) == 2;
    let row = |numbers: &[u16]| std::array::from_fn(|i| numbers[i.min(numbers.len() - 1)]);
    (is_pair && first.ways.then == second.ways.then).then(|| Pair {
        place: Place { at: one.at.min(other.at), ..one },
        numbers: all.chunks(ROW).map(row).collect(),
        alone: steps.len() as u32,
        ways: Ways { otherwise, ..first.ways },
    })
}

/// Two bytes held to some numbers.
struct Half {
    place: Place,
    numbers: Vec<u16>,
    ways: Ways,
}

fn half(step: &Step) -> Option<Half> {
    let (header, at, ways) = match step {
        Step::Half { at, ways, .. } | Step::HalfAmong { at, ways, .. } => (None, *at, *ways),
        Step::HalfBehind { header, at, ways, .. }
        | Step::HalfBehindAmong { header, at, ways, .. } => (Some(*header), *at, *ways),
        _ => return None,
    };
    let numbers = match step {
        Step::Half { mask: u16::MAX, constant, .. }
        | Step::HalfBehind { mask: u16::MAX, constant, .. } => vec![*constant],
        Step::HalfAmong { lookup, .. } | Step::HalfBehindAmong { lookup, .. } => match &**lookup {
            Lookup::Few { mask, constants } if mask & 0xffff == 0xffff => {
                constants.iter().map(|constant| *constant as u16).collect()
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Half { place: Place { header, at }, numbers, ways })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(at: u32, constants: &[u32], otherwise: u32) -> Step {
        let lookup = Box::new(Lookup::Few { mask: 0xffff, constants: constants.into() });
        Step::HalfBehindAmong { header: 0, at, lookup, ways: Ways { then: 90, otherwise } }
    }

    #[test]
    fn both_ports_are_a_pair() {
        let mut steps =
            vec![port(0, &[80], 1), port(2, &[22, 80, 443], 2), port(0, &[443, 22], 91)];
        join(&mut steps);
        let Step::Pair(pair) = &steps[0] else { panic!("{steps:?}") };
        assert_eq!((pair.ways, pair.alone), (Ways { then: 90, otherwise: 91 }, 3));
        assert!([0x0050_0001, 0x0001_01bb, 0x0016_0016].into_iter().all(|ports| pair.holds(ports)));
        assert!(
            ![0x0000_0000, 0x5000_0051, 0xffff_1600].into_iter().any(|ports| pair.holds(ports))
        );
        assert_eq!(pair.load(&[0x41, 0, 0, 0, 1, 2, 3, 4]), Some(0x0102_0304));
        assert_eq!(pair.load(&[0x41, 0, 0, 0, 1, 2, 3]), None);
        assert!(matches!(steps[3], Step::HalfBehindAmong { at: 0, .. }));
    }

    #[test]
    fn what_asks_for_other_numbers_is_no_pair() {
        for second in [port(2, &[80, 443], 91), port(4, &[80], 91)] {
            let mut steps = vec![port(0, &[80], 1), second];
            join(&mut steps);
            assert_eq!(steps.len(), 2);
        }
    }
}
