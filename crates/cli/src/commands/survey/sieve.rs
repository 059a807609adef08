//! Which answers are written: an expression over their fields.
//!
//! `either := both { "||" both }`, `both := one { "&&" one }`, `one := "!" one | "(" either ")" | field [ test value ]`, where a
//! test is `=`, `!=`, `<`, `<=`, `>`, `>=` or `~`. A field alone is a flag. A value is a word or in double quotes.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use anyhow::Result;
use linerate::base::Excerpt;
use linerate::capture::Prefix;

use super::cell::{Cell, Form};
use super::field::{Field, Kind};
use crate::exit::usage;

/// Which answers are written.
#[derive(Debug)]
pub(in super::super) struct Sieve<F>(Option<Node<F>>);

/// A part of an expression.
#[derive(Debug)]
enum Node<F> {
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
    /// A field and what its value has to be.
    Is(F, Wanted),
}

/// What a value has to be.
#[derive(Debug)]
enum Wanted {
    Flag(bool),
    Number(Test, f64),
    /// In the prefix, or not.
    Within(Prefix, bool),
    /// The text, or another one.
    Text(String, bool),
    /// A text that has this one in it.
    Has(String),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Not of numbers, but of texts: what is in them.
    Has,
}

impl<F: Field> Sieve<F> {
    /// Reads an expression; without one everything is kept.
    ///
    /// # Errors
    /// Of usage, with the place, for what makes no sense.
    pub(in super::super) fn parse(text: Option<&str>) -> Result<Self> {
        let node = text.map(|text| {
            Node::parse(text).map_err(|Fault { place, message }| {
                usage(format!("--output-filter: {message}{}", Excerpt::new(text, place)))
            })
        });
        Ok(Self(node.transpose()?))
    }

    /// True for an answer of which `put` gives each field's cell its value. What an answer does not tell meets no test.
    /// `scratch` is memory that is overwritten.
    pub(super) fn keeps(&self, scratch: &mut String, put: &impl Fn(F, Cell<'_>)) -> bool {
        self.0.as_ref().is_none_or(|node| node.keeps(scratch, put))
    }
}

impl<F: Field> Node<F> {
    fn parse(text: &str) -> Result<Self, Fault> {
        let mut reader = Reader { words: words(text)?, next: 0, end: text.len(), depth: 0 };
        let node = reader.either()?;
        match reader.peek() {
            None => Ok(node),
            Some(_) => Err(reader.fault("expected && or || here, or the end")),
        }
    }

    fn keeps(&self, scratch: &mut String, put: &impl Fn(F, Cell<'_>)) -> bool {
        match self {
            Self::Not(one) => !one.keeps(scratch, put),
            Self::Both(one, other) => one.keeps(scratch, put) && other.keeps(scratch, put),
            Self::Either(one, other) => one.keeps(scratch, put) || other.keeps(scratch, put),
            Self::Is(field, wanted) => {
                scratch.clear();
                put(*field, Cell::new(scratch, Form::Plain));
                !scratch.is_empty() && wanted.is(scratch)
            }
        }
    }
}

impl Wanted {
    /// Whether a value is that. Of several, which stand on lines of their own, one has to be.
    fn is(&self, value: &str) -> bool {
        match self {
            Self::Flag(flag) => (value == "true") == *flag,
            Self::Number(test, number) => {
                value.parse().is_ok_and(|value| test.holds(value, *number))
            }
            Self::Within(prefix, is_wanted) => {
                address(value).is_some_and(|it| prefix.contains(it) == *is_wanted)
            }
            Self::Text(text, is_wanted) => value.lines().any(|line| line == text) == *is_wanted,
            Self::Has(text) => value.lines().any(|line| line.contains(text.as_str())),
        }
    }
}

/// An address, which may have a port.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().ok().map(|it: SocketAddr| it.ip());
    text.parse().ok().or_else(with_port)
}

impl Test {
    fn holds(self, value: f64, number: f64) -> bool {
        match self {
            Self::Equal => value == number,
            Self::NotEqual => value != number,
            Self::Less => value < number,
            Self::LessOrEqual => value <= number,
            Self::Greater => value > number,
            Self::GreaterOrEqual => value >= number,
            Self::Has => false,
        }
    }
}

/// What is wrong, and where.
struct Fault {
    place: Range<usize>,
    message: String,
}

/// A word of an expression.
#[derive(Debug)]
struct Word<'a> {
    place: Range<usize>,
    text: &'a str,
    /// It stands in quotes, and so is a value.
    is_quoted: bool,
}

/// Signs, the longer ones first.
const SIGNS: [&str; 13] = ["&&", "||", "!=", "<=", ">=", "==", "=", "<", ">", "~", "!", "(", ")"];

/// The words of an expression.
fn words(text: &str) -> Result<Vec<Word<'_>>, Fault> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.len() - rest.trim_start().len();
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        if blank > 0 {
            at += blank;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let length = quoted.find('"').ok_or_else(|| Fault {
                place: at..text.len(),
                message: "the quote has no end".into(),
            })?;
            words.push(Word {
                place: at..at + length + 2,
                text: &quoted[..length],
                is_quoted: true,
            });
            at += length + 2;
        } else {
            let is_end = |c: char| c.is_whitespace() || "&|!=<>~()\"".contains(c);
            // What is neither a sign nor a word is a word of one character, which no field is called.
            let word = rest.find(is_end).unwrap_or(rest.len());
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let length = sign.map_or(word.max(first), |sign| sign.len());
            let word = Word { place: at..at + length, text: &rest[..length], is_quoted: false };
            words.push(word);
            at += length;
        }
    }
    Ok(words)
}

const TESTS: [(&str, Test); 8] = [
    ("=", Test::Equal),
    ("==", Test::Equal),
    ("!=", Test::NotEqual),
    ("<", Test::Less),
    ("<=", Test::LessOrEqual),
    (">", Test::Greater),
    (">=", Test::GreaterOrEqual),
    ("~", Test::Has),
];

/// Reads words.
struct Reader<'a> {
    words: Vec<Word<'a>>,
    next: usize,
    /// Of the text.
    end: usize,
    /// Parentheses and negations that are open.
    depth: usize,
}

/// The most of them: each takes a part of the stack.
const DEEPEST: usize = 100;

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&Word<'a>> {
        self.words.get(self.next)
    }

    /// Takes this sign, if it is next.
    fn takes(&mut self, sign: &str) -> bool {
        let is_it = self.peek().is_some_and(|word| word.text == sign && !word.is_quoted);
        self.next += usize::from(is_it);
        is_it
    }

    /// What is wrong with the word that is next.
    fn fault(&self, message: impl Into<String>) -> Fault {
        let place = self.peek().map_or(self.end..self.end, |word| word.place.clone());
        Fault { place, message: message.into() }
    }

    fn either<F: Field>(&mut self) -> Result<Node<F>, Fault> {
        let mut one = self.both()?;
        while self.takes("||") {
            one = Node::Either(one.into(), self.both()?.into());
        }
        Ok(one)
    }

    fn both<F: Field>(&mut self) -> Result<Node<F>, Fault> {
        let mut one = self.one()?;
        while self.takes("&&") {
            one = Node::Both(one.into(), self.one()?.into());
        }
        Ok(one)
    }

    fn one<F: Field>(&mut self) -> Result<Node<F>, Fault> {
        if self.depth == DEEPEST {
            return Err(self.fault("this is nested too deeply"));
        }
        self.depth += 1;
        let one = if self.takes("!") {
            Node::Not(self.one()?.into())
        } else if self.takes("(") {
            self.inner()?
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(one)
    }

    /// What is in parentheses, of which one has opened.
    fn inner<F: Field>(&mut self) -> Result<Node<F>, Fault> {
        let inner = self.either()?;
        match self.takes(")") {
            true => Ok(inner),
            false => Err(self.fault("expected && or || here, or a parenthesis that closes")),
        }
    }

    fn comparison<F: Field>(&mut self) -> Result<Node<F>, Fault> {
        let field: F = self.field()?;
        let kind = field.kind();
        self.next += 1;
        let test = TESTS.into_iter().find_map(|(sign, test)| self.takes(sign).then_some(test));
        let Some(test) = test else {
            return match kind {
                Kind::Flag => Ok(Node::Is(field, Wanted::Flag(true))),
                _ => Err(self.fault(format!("expected a test of {} here, as in =", field.name()))),
            };
        };
        if let Some(tests) = refused(kind, test) {
            self.next -= 1;
            return Err(self.fault(format!("{} {tests}", field.name())));
        }
        let wanted = self.value(kind, test)?;
        self.next += 1;
        Ok(Node::Is(field, wanted))
    }

    /// The field that is next.
    fn field<F: Field>(&self) -> Result<F, Fault> {
        let all = F::value_variants();
        let names = || all.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ");
        let Some(word) = self.peek() else {
            return Err(self.fault(format!("expected a field here: {}", names())));
        };
        let found = all.iter().find(|field| field.name() == word.text && !word.is_quoted);
        found.copied().ok_or_else(|| {
            self.fault(format!("`{}` is no field; these are: {}", word.text, names()))
        })
    }

    /// What the value that is next stands for.
    fn value(&self, kind: Kind, test: Test) -> Result<Wanted, Fault> {
        let word = self.peek().filter(|word| word.is_quoted || !SIGNS.contains(&word.text));
        let Some(word) = word else { return Err(self.fault("expected a value here")) };
        let (text, is_wanted) = (word.text, test != Test::NotEqual);
        let refuse = |what: String| self.fault(format!("`{text}` is {what}"));
        match kind {
            Kind::Flag => match text {
                "true" | "1" => Ok(Wanted::Flag(is_wanted)),
                "false" | "0" => Ok(Wanted::Flag(!is_wanted)),
                _ => Err(refuse("neither true nor false".into())),
            },
            Kind::Number | Kind::Time => match text.parse() {
                Ok(number) => Ok(Wanted::Number(test, number)),
                Err(_) => Err(refuse("no number".into())),
            },
            Kind::Address => {
                let prefix = text.parse().map_err(|_| refuse("no address or prefix".into()))?;
                Ok(Wanted::Within(prefix, is_wanted))
            }
            Kind::Word(words) if !words.contains(&text) => {
                Err(refuse(format!("none of {}", words.join(", "))))
            }
            Kind::Text | Kind::Texts if test == Test::Has => Ok(Wanted::Has(text.into())),
            Kind::Word(_) | Kind::Text | Kind::Texts => Ok(Wanted::Text(text.into(), is_wanted)),
        }
    }
}

/// Why what a field holds has no such test, if it has none.
fn refused(kind: Kind, test: Test) -> Option<&'static str> {
    match (kind, test) {
        (_, Test::Equal | Test::NotEqual) => None,
        (Kind::Number | Kind::Time, Test::Has) => Some("is a number: ~ tests texts"),
        (Kind::Number | Kind::Time, _) | (Kind::Text | Kind::Texts, Test::Has) => None,
        (Kind::Text | Kind::Texts, _) => Some("is no number: only =, != and ~ test it"),
        _ => Some("is no number: only = and != test it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    enum Part {
        Success,
        RttUs,
        From,
        Class,
        Data,
        Path,
    }

    impl Field for Part {
        fn kind(self) -> Kind {
            match self {
                Self::Success => Kind::Flag,
                Self::RttUs => Kind::Number,
                Self::From => Kind::Address,
                Self::Class => Kind::Word(&["open", "closed"]),
                Self::Data => Kind::Text,
                Self::Path => Kind::Texts,
            }
        }
    }

    fn keeps(text: &str, rtt: Option<u64>) -> bool {
        let sieve = Sieve::parse(Some(text)).unwrap_or_else(|error| panic!("{error}"));
        let put = |field, cell: Cell<'_>| match field {
            Part::Success => cell.flag(Some(true)),
            Part::RttUs => cell.number(rtt),
            Part::From if rtt.is_none() => cell.null(),
            Part::From => cell.text("192.0.2.7:53"),
            Part::Class => cell.text("open"),
            Part::Data => cell.text("say, \"hello\""),
            Part::Path => cell.list(["a.example", "b.example"].iter()),
        };
        sieve.keeps(&mut String::new(), &put)
    }

    #[test]
    fn answers_are_kept_by_what_they_tell() {
        for text in [
            "success",
            "success = 1 && rtt_us < 1000",
            "!(class = closed) && from = 192.0.2.0/24",
            "rtt_us>=500&&rtt_us<=500&&rtt_us==500",
            "class = closed || class = \"open\"",
            "class = closed && success || rtt_us != 7",
            "from != 192.0.2.8 && success != false",
            "data ~ hello && data~\", \" && data != hello",
            "path = b.example && path ~ a.ex && path != example",
        ] {
            assert!(keeps(text, Some(500)), "{text}");
        }
        for text in [
            "!success",
            "rtt_us > 500",
            "from = 192.0.2.8",
            "success && class != open",
            "data = hello || data ~ Hello",
            "path ~ \"e b\" || path != a.example",
        ] {
            assert!(!keeps(text, Some(500)), "{text}");
        }
        assert!(Sieve::parse(None).unwrap().keeps(&mut String::new(), &|_: Part, _| {}));
    }

    #[test]
    fn what_is_not_told_meets_no_test() {
        for text in ["rtt_us = 5", "rtt_us < 5", "rtt_us >= 5", "rtt_us != 5", "from != 10.0.0.1"] {
            assert!(!keeps(text, None), "{text}");
        }
        assert!(keeps("!(rtt_us < 5) && !(from = 10.0.0.1)", None));
    }

    #[test]
    fn faults_show_their_place() {
        for (text, message, place) in [
            ("rtt < 5", "`rtt` is no field; these are: success, rtt_us", "^^^"),
            ("rtt_us < fast", "`fast` is no number", "         ^^^^"),
            ("rtt_us ~ 5", "rtt_us is a number", "       ^"),
            ("class = opne", "`opne` is none of open, closed", "        ^^^^"),
            ("class < open", "class is no number", "      ^"),
            ("class ~ open", "only = and != test it", "      ^"),
            ("data > a", "only =, != and ~ test it", "     ^"),
            ("from = 10.0.0.0/99", "no address or prefix", "       ^^^^^^^^^^^"),
            ("success = maybe", "neither true nor false", "          ^^^^^"),
            ("class", "expected a test of class", "     ^"),
            ("success &&", "expected a field here", "          ^"),
            ("(success", "parenthesis that closes", "        ^"),
            ("success success", "expected && or ||", "        ^^^^^^^"),
            ("success & success", "expected && or ||", "        ^"),
            ("class = \"open", "no end", "        ^^^^^"),
            ("class = (", "expected a value", "        ^"),
            (&"!".repeat(101), "nested too deeply", "^"),
        ] {
            let error = Sieve::<Part>::parse(Some(text)).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains(place), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(words in prop::collection::vec(0..13_usize, 0..12), noise in ".{0,8}") {
            let all =
                ["success", "rtt_us", "=", "!", "(", ")", "&&", "||", "<", "5", "\"", "class", "~"];
            let text: Vec<_> = words.iter().map(|word| all[*word]).collect();
            let _ = Sieve::<Part>::parse(Some(&text.join(" ")));
            let _ = Sieve::<Part>::parse(Some(&(text.join("") + &noise)));
        }
    }
}
