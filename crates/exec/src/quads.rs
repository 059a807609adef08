//! Windows side by side, which are loaded together: sixteen bytes of each packet take less than to gather two windows.

use std::collections::{BTreeMap, BTreeSet};

use crate::lanes::QUAD;
use crate::program::{Column, ColumnId, Operand, Step};

/// Bytes of a quad.
#[cfg(target_arch = "x86_64")]
pub(crate) const BYTES: u32 = 16;

/// Sixteen bytes of each packet, in which two or more windows lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quad {
    pub(crate) base: Option<Operand>,
    pub(crate) offset: u32,
    /// The windows of its four words, where they are looked at.
    pub(crate) windows: [Option<ColumnId>; QUAD],
}

/// For each column the quad that it is in, if any. Columns that nobody looks at are in none.
pub(crate) fn quads(
    columns: &[Column],
    looked_at: impl IntoIterator<Item = ColumnId>,
) -> Vec<Option<Quad>> {
    let mut places = BTreeMap::new();
    for id in looked_at {
        if let Column::Window { base, offset } = columns[id] {
            places.insert((base.map(|base| base.lanes), offset), (id, base));
        }
    }
    let mut quads = vec![None; columns.len()];
    while let Some(((lanes, offset), (id, base))) = places.pop_first() {
        let place = |word: u32| Some((lanes, offset.checked_add(4 * word)?));
        let words = [1, 2, 3].map(|word| places.remove(&place(word)?));
        if words.iter().any(Option::is_some) {
            let [second, third, fourth] = words.map(|word| word.map(|(id, _)| id));
            let windows = [Some(id), second, third, fourth];
            for window in windows.into_iter().flatten() {
                quads[window] = Some(Quad { base, offset, windows });
            }
        }
    }
    quads
}

/// The columns that steps look at, with those that they are made of.
pub(crate) fn looked_at(steps: &[Step], columns: &[Column]) -> BTreeSet<ColumnId> {
    let mut coming: Vec<_> = steps.iter().flat_map(step_columns).collect();
    let mut seen = BTreeSet::new();
    while let Some(column) = coming.pop() {
        if seen.insert(column) {
            let operands = columns[column].operands();
            coming.extend(operands.flat_map(|operand| [operand.lanes, operand.present]));
        }
    }
    seen
}

fn step_columns(step: &Step) -> Vec<ColumnId> {
    match step {
        Step::Test { operand, .. } => vec![operand.lanes],
        Step::Either { either, .. } => either.operands.map(|operand| operand.lanes).into(),
        Step::Compare { left, right, .. } => vec![left.lanes, right.lanes],
        Step::Bind { value, .. } => vec![value.lanes],
        Step::Pass { choices, .. } => choices.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_one_base_within_sixteen_bytes_make_a_quad() {
        let here = Operand { lanes: 0, present: 0 };
        let mut columns = vec![Column::Constant(20)];
        let places = [(None, 12), (None, 20), (None, 26), (None, 30), (Some(here), 24), (None, 60)];
        columns.extend(places.map(|(base, offset)| Column::Window { base, offset }));
        let found = quads(&columns, 0..columns.len());
        let of = |id: ColumnId| found[id].map(|quad| (quad.offset, quad.windows));
        let [first, second] =
            [(12, [Some(1), None, Some(2), None]), (26, [Some(3), Some(4), None, None])];
        let all = [None, Some(first), Some(first), Some(second), Some(second), None, None];
        assert_eq!(std::array::from_fn(of), all);
        assert!(quads(&columns, [1, 3]).iter().all(Option::is_none), "nobody looks at the others");
    }

    #[test]
    fn the_last_offset_is_in_no_quad() {
        let window = |offset| Column::Window { base: None, offset };
        let columns = [window(u32::MAX - 2), window(1)];
        assert!(quads(&columns, 0..2).iter().all(Option::is_none));
    }
}
