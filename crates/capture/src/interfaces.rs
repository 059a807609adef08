//! What can be captured on this machine.

use linerate_base::{Error, ErrorKind, LinkType, Result};
use linerate_sys::interface::{self, Interface};

use crate::config::ANY;
use crate::link::{ANY_LINK_TYPES, link_type};

/// Something that packets can be captured from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capturable {
    /// The name to ask for.
    pub name: String,
    /// The link types that it can deliver, the default first.
    pub link_types: Vec<LinkType>,
    /// What the system knows about it; `None` for [`ANY`].
    pub interface: Option<Interface>,
}

impl Capturable {
    fn any() -> Self {
        Self { name: ANY.into(), link_types: ANY_LINK_TYPES.into(), interface: None }
    }

    fn one(interface: Interface) -> Self {
        Self {
            name: interface.name.clone(),
            link_types: vec![link_type(interface.hardware_type)],
            interface: Some(interface),
        }
    }
}

/// Everything that packets can be captured from, in the system's order of interfaces and [`ANY`] last.
///
/// # Errors
/// When the system does not list its interfaces.
pub fn interfaces() -> Result<Vec<Capturable>> {
    let all = interface::list()?.into_iter().map(Capturable::one);
    Ok(all.chain([Capturable::any()]).collect())
}

/// The link types that the interface called `name` can deliver, the default first. Needs no
/// privilege, so that a filter can be compiled without any.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is no such interface.
pub fn link_types(name: &str) -> Result<Vec<LinkType>> {
    let found = interfaces()?.into_iter().find(|capturable| capturable.name == name);
    found.map(|capturable| capturable.link_types).ok_or_else(|| not_found(name))
}

/// That there is no interface called `name`, and which name may have been meant.
pub(crate) fn not_found(name: &str) -> Error {
    let names = interfaces().unwrap_or_default().into_iter().map(|capturable| capturable.name);
    let list = "`linerate interfaces` lists them";
    let near = names.min_by_key(|candidate| distance(name, candidate));
    // With every letter another, nothing of the name is left.
    let most = 2.min(name.chars().count().saturating_sub(1));
    let advice = match near.filter(|candidate| distance(name, candidate) <= most) {
        Some(near) => format!("is {near} meant? {list}"),
        None => list.into(),
    };
    Error::new(ErrorKind::NotFound, format!("capture on {name}"), "there is no such interface")
        .advise(advice)
}

/// Letters to insert, delete or replace to come from `a` to `b` (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_any_can_be_captured() {
        assert_eq!(link_types("lo").unwrap(), [LinkType::ETHERNET]);
        assert_eq!(link_types("any").unwrap(), [LinkType::LINUX_SLL2, LinkType::LINUX_SLL]);
        assert_eq!(interfaces().unwrap().last().unwrap().name, "any");
    }

    #[test]
    fn a_slip_of_the_finger_gets_the_name_that_was_meant() {
        let error = link_types("l0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.advice().unwrap().starts_with("is lo meant?"), "{error}");
        let far = link_types("something else").unwrap_err();
        assert_eq!(far.advice(), Some("`linerate interfaces` lists them"));
    }

    #[test]
    fn distances_are_symmetric_counts_of_edits() {
        let table = [("", "", 0), ("eth0", "eth1", 1), ("eth0", "et0", 1), ("eth0", "", 4)];
        for (a, b, expected) in table {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
