//! Points of a program and which of them every way to another passes: a dominator tree that grows.
//!
//! Each point names its parent, the nearest point that every way to it passes. Besides, it names one
//! ancestor farther up, chosen so that any ancestor is O(log n) steps away (E. W. Myers, "An
//! applicative random-access stack", Information Processing Letters 17, 1983).

/// Index of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point(u32);

impl Point {
    /// For tables beside the tree: points are numbered from 0 as they are added.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy)]
struct Entry {
    parent: u32,
    jump: u32,
    depth: u32,
}

/// The tree.
pub(crate) struct Points(Vec<Entry>);

impl Points {
    /// The beginning of the program.
    pub(crate) const ROOT: Point = Point(0);

    pub(crate) fn new() -> Self {
        Self(vec![Entry { parent: 0, jump: 0, depth: 0 }])
    }

    /// A new point below `parent`.
    pub(crate) fn add(&mut self, parent: Point) -> Point {
        let above = self.entry(parent.0);
        let jump = self.entry(above.jump);
        let jumps_equally_far =
            above.depth - jump.depth == jump.depth - self.entry(jump.jump).depth;
        let jump = if jumps_equally_far { jump.jump } else { parent.0 };
        self.0.push(Entry { parent: parent.0, jump, depth: above.depth + 1 });
        Point(self.0.len() as u32 - 1)
    }

    /// True when every way to `point` passes `ancestor`, or they are the same.
    pub(crate) fn is_above(&self, ancestor: Point, point: Point) -> bool {
        self.at_depth(point.0, self.entry(ancestor.0).depth) == ancestor.0
    }

    /// The last point that every way to either passes.
    pub(crate) fn common(&self, one: Point, other: Point) -> Point {
        let depth = self.entry(one.0).depth.min(self.entry(other.0).depth);
        let (mut one, mut other) = (self.at_depth(one.0, depth), self.at_depth(other.0, depth));
        while one != other {
            let (a, b) = (self.entry(one), self.entry(other));
            (one, other) = if a.jump == b.jump { (a.parent, b.parent) } else { (a.jump, b.jump) };
        }
        Point(one)
    }

    fn at_depth(&self, mut point: u32, depth: u32) -> u32 {
        while self.entry(point).depth > depth {
            let Entry { parent, jump, .. } = self.entry(point);
            point = if self.entry(jump).depth >= depth { jump } else { parent };
        }
        point
    }

    fn entry(&self, point: u32) -> Entry {
        self.0[point as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_walking_up(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..200)) {
            let mut points = Points::new();
            let mut up = vec![0_u32];
            for parent in parents {
                let parent = parent.index(up.len()) as u32;
                points.add(Point(parent));
                up.push(parent);
            }
            let way = |mut point: u32| {
                let mut way = vec![point];
                while point != 0 {
                    point = up[point as usize];
                    way.push(point);
                }
                way
            };
            for one in 0..up.len() as u32 {
                for other in (0..up.len() as u32).step_by(7) {
                    let (a, b) = (way(one), way(other));
                    prop_assert_eq!(points.is_above(Point(one), Point(other)), b.contains(&one));
                    let common = a.iter().find(|point| b.contains(point)).copied();
                    prop_assert_eq!(Some(points.common(Point(one), Point(other)).0), common);
                }
            }
        }
    }
}
