//! Stacks put together: who called whom, and what that took.

use std::collections::HashMap;

use crate::path::{Component, Verdict};
use crate::sampling::{Classifier, Samples, Stack};
use crate::symbols::UserSymbols;

/// A function, and what it called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// The component that it belongs to, or else its caller's.
    pub component: Option<Component>,
    /// What it and all that it called weigh: nanoseconds or cycles, by the samples' clock.
    pub weight: u64,
    /// What it called, the heaviest first.
    pub calls: Vec<Frame>,
}

/// What code without a name is called.
const UNNAMED: &str = "(no name)";

/// All that packets cost, below two frames: the processes that capture, and what interrupted others to receive.
pub fn frames(
    classifier: &Classifier,
    users: &mut UserSymbols,
    samples: &Samples,
    captures: &[u32],
) -> Frame {
    let mut root = Frame { name: "all".into(), ..Frame::default() };
    // Names of addresses in processes take long to find.
    let mut names = HashMap::new();
    for (stack, weight) in &samples.stacks {
        if classifier.classify(stack, captures) == Verdict::Elsewhere {
            continue;
        }
        let is_capture = captures.contains(&stack.process);
        let mut path = if is_capture {
            user_path(users, stack, &mut names)
        } else {
            vec![("receiving, while others had their turn".to_owned(), Some(Component::Interrupt))]
        };
        path.extend(classifier.kernel_path(stack, !is_capture));
        root.add(&path, *weight);
    }
    root.sort();
    root
}

type Path = Vec<(String, Option<Component>)>;

fn user_path(
    users: &mut UserSymbols,
    stack: &Stack,
    names: &mut HashMap<(u32, u64), String>,
) -> Path {
    let mut path = vec![("the capture".to_owned(), Some(Component::UserCode))];
    for address in stack.user.iter().rev() {
        let key = (stack.process, *address);
        let find = || users.name(key.0, key.1).unwrap_or_else(|| UNNAMED.to_owned());
        path.push((names.entry(key).or_insert_with(find).clone(), None));
    }
    path
}

impl Classifier {
    /// The functions of a stack in the kernel, from the outside in; those outside of what receives are left out where
    /// that is wanted.
    fn kernel_path(&self, stack: &Stack, from_receiving: bool) -> Path {
        let begins = |component: &Option<Component>| {
            matches!(component, Some(Component::Interrupt | Component::Driver))
        };
        let name = |address: &u64| {
            let name = self.name(*address);
            let component = name.and_then(|name| self.component(name));
            (name.unwrap_or(UNNAMED).to_owned(), component)
        };
        let all = stack.kernel.iter().rev().map(name);
        all.skip_while(|(_, component)| from_receiving && !begins(component)).collect()
    }
}

impl Frame {
    fn add(&mut self, path: &[(String, Option<Component>)], weight: u64) {
        self.weight += weight;
        let Some(((name, component), rest)) = path.split_first() else { return };
        let at = self.calls.iter().position(|frame| frame.name == *name);
        let at = at.unwrap_or_else(|| {
            let component = component.or(self.component);
            self.calls.push(Self { name: name.clone(), component, ..Self::default() });
            self.calls.len() - 1
        });
        self.calls[at].add(rest, weight);
    }

    fn sort(&mut self) {
        self.calls.sort_by(|a, b| (b.weight, &a.name).cmp(&(a.weight, &b.name)));
        self.calls.iter_mut().for_each(Self::sort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_with_the_same_callers_are_put_together() {
        let mut root = Frame::default();
        let path = |names: &[&str]| -> Path {
            names.iter().map(|name| ((*name).to_owned(), None)).collect()
        };
        root.add(&path(&["a", "b"]), 2);
        root.add(&path(&["a", "c"]), 5);
        root.add(&[("d".to_owned(), Some(Component::Tap)), ("e".to_owned(), None)], 1);
        root.sort();
        assert_eq!((root.weight, root.calls.len()), (8, 2));
        assert_eq!((root.calls[0].weight, root.calls[0].calls[0].name.as_str()), (7, "c"));
        assert_eq!(root.calls[1].calls[0].component, Some(Component::Tap));
    }
}
