//! Every dependency's licence is one that the project's own permits.

use anyhow::{Result, ensure};
use cargo_metadata::{Metadata, Package};

const PERMITTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Fails on a dependency whose licence expression the project cannot comply with.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    let wrong: Vec<_> = metadata.packages.iter().filter(|p| !permitted(p)).map(describe).collect();
    ensure!(wrong.is_empty(), "licences to look at: {}", wrong.join(", "));
    Ok(())
}

fn permitted(package: &Package) -> bool {
    package.license.as_deref().is_some_and(satisfiable)
}

/// SPDX expressions as crates write them: `AND` binds tighter than `OR`, parentheses only around
/// alternatives, and the old `/` for `OR`.
fn satisfiable(expression: &str) -> bool {
    let flat = expression.replace(" / ", " OR ").replace('/', " OR ");
    if flat.contains('(') {
        return flat.split(" AND ").all(|part| satisfiable(part.trim_matches(['(', ')'])));
    }
    flat.split(" OR ").any(|all| all.split(" AND ").all(|one| PERMITTED.contains(&one.trim())))
}

fn describe(package: &Package) -> String {
    format!("{} ({})", package.name, package.license.as_deref().unwrap_or("none"))
}

#[cfg(test)]
mod tests {
    use super::satisfiable;

    #[test]
    fn expressions_are_read_as_their_authors_mean_them() {
        assert!(satisfiable("MIT OR GPL-3.0"));
        assert!(satisfiable("MIT/Apache-2.0"));
        assert!(satisfiable("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!satisfiable("MIT AND GPL-3.0"));
        assert!(!satisfiable("GPL-2.0"));
        assert!(!satisfiable("(MIT OR Apache-2.0) AND GPL-3.0"));
    }
}
