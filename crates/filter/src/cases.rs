//! The text cases of `tests/cases`: an expression, and what each stage makes of it.
//!
//! ```text
//! > tcp port 80
//! link: EN10MB
//! --- ir
//! and
//!   ...
//! ```
//! Settings, all optional, are `link`, `target` (`user`, `kernel`), `netmask`, `snaplen`. Stages are
//! `ir`, `resolved`, `folded` (predicates after that pass), `lowered`, `redundant`, `hopeless`,
//! `shared` (decision graphs after that pass), `program`, `plain program` (without the passes), `fragment` (extended, for
//! a tap), `plan` (for engines in user space) and `error`. Run with `LINERATE_BLESS=1` to rewrite the expectations with what came out.

use crate::ir::Ir;
use crate::ir::display::{GraphText, PredicateText};
use crate::ir::graph::Graph;
use crate::ir::lower::lower;
use crate::ir::predicate::PredicateId;
use crate::opt::{fold, hopeless, redundant, resolve, share};
use crate::sema::links;
use crate::{Hermetic, Options, Target, compile, sema, syntax};
use linerate_base::LinkType;
use linerate_bpf::extended::{Hook, disassemble};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[test]
fn every_stage_gives_what_the_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let bless = env::var_os("LINERATE_BLESS").is_some();
    // Fragments have constants in network byte order.
    let is_of_this_machine =
        |file: &&PathBuf| cfg!(target_endian = "little") || !file.ends_with("fragments.txt");
    let files = files.iter().filter(is_of_this_machine);
    let failures: String = files.map(|file| check(file, bless)).collect();
    assert!(failures.is_empty(), "{failures}\nLINERATE_BLESS=1 rewrites the expectations");
}

/// What differs in a file; nothing once it is blessed.
fn check(file: &Path, bless: bool) -> String {
    let expected = fs::read_to_string(file).expect("a readable case file");
    let actual = rerun(&expected);
    if actual == expected {
        return String::new();
    }
    if bless {
        fs::write(file, actual).expect("a writable case file");
        return String::new();
    }
    format!("{}:\n{}", file.display(), difference(&expected, &actual))
}

/// The file with every stage's text as it comes out now.
fn rerun(text: &str) -> String {
    let mut out = String::new();
    let mut case = Case::default();
    let mut skipping = false;
    for line in text.lines() {
        if let Some(stage) = line.strip_prefix("--- ") {
            writeln!(out, "{line}\n{}", case.stage(stage).trim_end()).expect("writes to a string");
            skipping = true;
            continue;
        }
        if skipping && (line.starts_with("> ") || line.starts_with('#')) {
            out.push('\n');
            skipping = false;
        }
        if skipping {
            continue;
        }
        if let Some(expression) = line.strip_prefix("> ") {
            case = Case { expression: expression.to_owned(), ..Case::default() };
        } else if let Some((key, value)) = line.split_once(": ") {
            case.set(key, value);
        }
        writeln!(out, "{line}").expect("writes to a string");
    }
    out
}

/// An expression and its settings.
struct Case {
    expression: String,
    options: Options<'static>,
}

impl Default for Case {
    fn default() -> Self {
        let options = Options::new(LinkType::ETHERNET, &Hermetic);
        Self { expression: String::new(), options }
    }
}

impl Case {
    fn set(&mut self, key: &str, value: &str) {
        let options = &mut self.options;
        match key {
            "link" => options.link_type = LinkType::from_name(value).expect("a link type"),
            "target" if value == "kernel" => options.target = Target::Kernel,
            "target" => options.target = Target::User,
            "netmask" => options.netmask = Some(value.parse().expect("a netmask")),
            "snaplen" => options.snaplen = value.parse().expect("a length"),
            _ => {}
        }
    }

    fn stage(&self, stage: &str) -> String {
        let plain = Options { optimise: false, ..self.options };
        match stage {
            "shared" => self.graph(|ir, graph| {
                share::share(&hopeless::hopeless(&redundant::redundant(ir, &graph)))
            }),
            "program" => self.outcome(&self.options),
            "fragment" => self.fragment(),
            "plan" => self.plan(),
            "plain program" => self.outcome(&plain),
            "error" => match compile(&self.expression, &self.options) {
                Ok(_) => "no error".to_owned(),
                Err(error) => error.to_string(),
            },
            "ir" => self.predicates(|ir, root| (ir, root)),
            "resolved" => self.predicates(|ir, root| resolve::resolve(&ir, root)),
            "folded" => self.predicates(folded),
            "lowered" => self.graph(|_, graph| graph),
            "redundant" => self.graph(|ir, graph| redundant::redundant(ir, &graph)),
            "hopeless" => {
                self.graph(|ir, graph| hopeless::hopeless(&redundant::redundant(ir, &graph)))
            }
            other => format!("there is no stage {other}"),
        }
    }

    fn outcome(&self, options: &Options<'_>) -> String {
        compile(&self.expression, options)
            .map_or_else(|error| error.to_string(), |filter| filter.program().to_string())
    }

    fn plan(&self) -> String {
        match compile(&self.expression, &self.options).map(|filter| filter.plan()) {
            Ok(Some(plan)) => plan.to_string(),
            Ok(None) => "no plan".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn fragment(&self) -> String {
        let options = Options { target: Target::Tap, ..self.options };
        match compile(&self.expression, &options).and_then(|filter| filter.predicate()) {
            Ok(predicate) => {
                disassemble(&predicate.instructions(Hook::Ingress).collect::<Vec<_>>()).to_string()
            }
            Err(error) => error.to_string(),
        }
    }

    fn analysed(&self) -> crate::Result<(Ir, PredicateId)> {
        let link = links::find(self.options.link_type).expect("a supported link type");
        let ast = syntax::parser::parse(&self.expression)?;
        sema::analyse(&ast, link, &self.options)
    }

    fn predicates(&self, pass: impl Fn(Ir, PredicateId) -> (Ir, PredicateId)) -> String {
        match self.analysed() {
            Ok((ir, root)) => {
                let (ir, root) = pass(ir, root);
                PredicateText(&ir, root).to_string()
            }
            Err(error) => error.to_string(),
        }
    }

    fn graph(&self, passes: impl Fn(&Ir, Graph) -> Graph) -> String {
        match self.analysed() {
            Ok((ir, root)) => {
                let (ir, root) = folded(ir, root);
                let graph = passes(&ir, lower(&ir, root));
                GraphText(&ir, &graph).to_string()
            }
            Err(error) => error.to_string(),
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "shares its signature with closures that do take it"
)]
fn folded(ir: Ir, root: PredicateId) -> (Ir, PredicateId) {
    let (ir, root) = resolve::resolve(&ir, root);
    fold::fold(&ir, root)
}

/// The lines that differ, once what is equal before and after them is left out.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let lines = |sign: char, lines: &[&str]| -> String {
        lines[..lines.len() - after].iter().map(|line| format!("{sign} {line}\n")).collect()
    };
    format!("from line {}:\n{}{}", before + 1, lines('-', old), lines('+', new))
}
