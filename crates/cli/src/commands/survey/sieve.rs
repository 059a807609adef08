//! Which answers are written: an expression over their fields.
//!
//! `either := both { "||" both }`, `both := one { "&&" one }`, `one := "!" one | "(" either ")" | field [ test value ]`, where a
//! test is `=`, `!=`, `<`, `<=`, `>` or `>=`. A field alone is a flag. A value is a word or in double quotes.

use std::net::IpAddr;
use std::ops::Range;

use anyhow::Result;
use clap::ValueEnum;
use linerate::base::Excerpt;
use linerate::capture::Prefix;
use serde_json::Value;

use super::rows::name;
use crate::exit::usage;

/// What a field may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// True or false.
    Flag,
    /// A number: all tests are for it.
    Number,
    /// An address, to be compared with another one or a prefix.
    Address,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Which answers are written.
#[derive(Debug)]
pub(in super::super) enum Sieve<F> {
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
    /// A field and what its value has to be.
    Is(F, Wanted),
}

/// What a value has to be.
#[derive(Debug)]
pub(in super::super) enum Wanted {
    True,
    Number(Test, f64),
    Within(Prefix),
    Word(String),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl<F: ValueEnum + Copy> Sieve<F> {
    /// Reads an expression over fields, each of its kind.
    ///
    /// # Errors
    /// Of usage, with the place, for what makes no sense.
    pub(in super::super) fn parse(text: &str, kind: fn(F) -> Kind) -> Result<Self> {
        let read = || {
            let words = words(text)?;
            let mut reader = Reader { words, next: 0, end: text.len(), depth: 0, kind };
            let sieve = reader.either()?;
            match reader.peek() {
                None => Ok(sieve),
                Some(_) => Err(reader.fault("expected && or || here, or the end")),
            }
        };
        read().map_err(|Fault { place, message }| {
            usage(format!("--output-filter: {message}{}", Excerpt::new(text, place)))
        })
    }

    /// True for an answer with these values of its fields. What an answer does not tell is neither equal to anything nor
    /// greater or less.
    pub(in super::super) fn keeps(&self, value: &impl Fn(F) -> Value) -> bool {
        match self {
            Self::Not(one) => !one.keeps(value),
            Self::Both(one, other) => one.keeps(value) && other.keeps(value),
            Self::Either(one, other) => one.keeps(value) || other.keeps(value),
            Self::Is(field, wanted) => wanted.has(&value(*field)),
        }
    }
}

impl Wanted {
    fn has(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::True => value == &Value::Bool(true),
            Self::Number(test, number) => {
                let value = value.as_f64().or_else(|| text?.parse().ok());
                value.is_some_and(|value| test.holds(value, *number))
            }
            Self::Within(prefix) => {
                let address: Option<IpAddr> = text.and_then(|text| text.parse().ok());
                address.is_some_and(|address| prefix.contains(address))
            }
            Self::Word(word) => text == Some(word),
        }
    }
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
const SIGNS: [&str; 12] = ["&&", "||", "!=", "<=", ">=", "==", "=", "<", ">", "!", "(", ")"];

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
            let is_end = |c: char| c.is_whitespace() || "&|!=<>()\"".contains(c);
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

const TESTS: [(&str, Test); 7] = [
    ("=", Test::Equal),
    ("==", Test::Equal),
    ("!=", Test::NotEqual),
    ("<", Test::Less),
    ("<=", Test::LessOrEqual),
    (">", Test::Greater),
    (">=", Test::GreaterOrEqual),
];

/// Reads words.
struct Reader<'a, F> {
    words: Vec<Word<'a>>,
    next: usize,
    /// Of the text.
    end: usize,
    /// Parentheses and negations that are open.
    depth: usize,
    kind: fn(F) -> Kind,
}

/// The most of them: each takes a part of the stack.
const DEEPEST: usize = 100;

impl<'a, F: ValueEnum + Copy> Reader<'a, F> {
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

    fn either(&mut self) -> Result<Sieve<F>, Fault> {
        let mut one = self.both()?;
        while self.takes("||") {
            one = Sieve::Either(one.into(), self.both()?.into());
        }
        Ok(one)
    }

    fn both(&mut self) -> Result<Sieve<F>, Fault> {
        let mut one = self.one()?;
        while self.takes("&&") {
            one = Sieve::Both(one.into(), self.one()?.into());
        }
        Ok(one)
    }

    fn one(&mut self) -> Result<Sieve<F>, Fault> {
        if self.depth == DEEPEST {
            return Err(self.fault("this is nested too deeply"));
        }
        self.depth += 1;
        let one = if self.takes("!") {
            Sieve::Not(self.one()?.into())
        } else if self.takes("(") {
            self.inner()?
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(one)
    }

    /// What is in parentheses, of which one has opened.
    fn inner(&mut self) -> Result<Sieve<F>, Fault> {
        let inner = self.either()?;
        match self.takes(")") {
            true => Ok(inner),
            false => Err(self.fault("expected && or || here, or a parenthesis that closes")),
        }
    }

    fn comparison(&mut self) -> Result<Sieve<F>, Fault> {
        let field = self.field()?;
        let kind = (self.kind)(field);
        self.next += 1;
        let test = TESTS.into_iter().find_map(|(sign, test)| self.takes(sign).then_some(test));
        let Some(test) = test else {
            return match kind {
                Kind::Flag => Ok(Sieve::Is(field, Wanted::True)),
                _ => Err(self.fault(format!("expected a test of {} here, as in =", name(&field)))),
            };
        };
        if kind != Kind::Number && !matches!(test, Test::Equal | Test::NotEqual) {
            self.next -= 1;
            return Err(self.fault(format!("{} is no number: only = and != test it", name(&field))));
        }
        let (wanted, is_negated) = self.value(kind, test)?;
        self.next += 1;
        let is = Sieve::Is(field, wanted);
        Ok(if is_negated { Sieve::Not(is.into()) } else { is })
    }

    /// The field that is next.
    fn field(&self) -> Result<F, Fault> {
        let all = F::value_variants();
        let names = || all.iter().map(name).collect::<Vec<_>>().join(", ");
        let Some(word) = self.peek() else {
            return Err(self.fault(format!("expected a field here: {}", names())));
        };
        let found = all.iter().find(|field| name(*field) == word.text && !word.is_quoted);
        found.copied().ok_or_else(|| {
            self.fault(format!("`{}` is no field; these are: {}", word.text, names()))
        })
    }

    /// What the value that is next stands for, and whether it must not be that.
    fn value(&self, kind: Kind, test: Test) -> Result<(Wanted, bool), Fault> {
        let word = self.peek().filter(|word| word.is_quoted || !SIGNS.contains(&word.text));
        let Some(word) = word else { return Err(self.fault("expected a value here")) };
        let (text, is_negated) = (word.text, test == Test::NotEqual);
        let refuse = |what: String| self.fault(format!("`{text}` is {what}"));
        match kind {
            Kind::Flag => match text {
                "true" | "1" => Ok((Wanted::True, is_negated)),
                "false" | "0" => Ok((Wanted::True, !is_negated)),
                _ => Err(refuse("neither true nor false".into())),
            },
            Kind::Number => match text.parse() {
                Ok(number) => Ok((Wanted::Number(test, number), false)),
                Err(_) => Err(refuse("no number".into())),
            },
            Kind::Address => {
                let prefix = text.parse().map_err(|_| refuse("no address or prefix".into()))?;
                Ok((Wanted::Within(prefix), is_negated))
            }
            Kind::Word(words) => match words.contains(&text) {
                true => Ok((Wanted::Word(text.into()), is_negated)),
                false => Err(refuse(format!("none of {}", words.join(", ")))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    #[value(rename_all = "snake_case")]
    enum Field {
        Success,
        RttUs,
        From,
        Class,
    }

    fn kind(field: Field) -> Kind {
        match field {
            Field::Success => Kind::Flag,
            Field::RttUs => Kind::Number,
            Field::From => Kind::Address,
            Field::Class => Kind::Word(&["open", "closed"]),
        }
    }

    fn keeps(text: &str, rtt: Option<u64>) -> bool {
        let sieve = Sieve::parse(text, kind).unwrap_or_else(|error| panic!("{error}"));
        sieve.keeps(&|field| match field {
            Field::Success => json!(true),
            Field::RttUs => json!(rtt),
            Field::From => json!("192.0.2.7"),
            Field::Class => json!("open"),
        })
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
        ] {
            assert!(keeps(text, Some(500)), "{text}");
        }
        for text in ["!success", "rtt_us > 500", "from = 192.0.2.8", "success && class != open"] {
            assert!(!keeps(text, Some(500)), "{text}");
        }
    }

    #[test]
    fn what_is_not_told_is_neither_equal_nor_greater_nor_less() {
        for text in ["rtt_us = 5", "rtt_us < 5", "rtt_us >= 5", "rtt_us != 5"] {
            assert!(!keeps(text, None), "{text}");
        }
        assert!(keeps("!(rtt_us < 5)", None));
    }

    #[test]
    fn faults_show_their_place() {
        for (text, message, place) in [
            ("rtt < 5", "`rtt` is no field; these are: success, rtt_us", "^^^"),
            ("rtt_us < fast", "`fast` is no number", "         ^^^^"),
            ("class = opne", "`opne` is none of open, closed", "        ^^^^"),
            ("class < open", "class is no number", "      ^"),
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
            let error = Sieve::parse(text, kind).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains(place), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(words in prop::collection::vec(0..12_usize, 0..12), noise in ".{0,8}") {
            let all = ["success", "rtt_us", "=", "!", "(", ")", "&&", "||", "<", "5", "\"", "class"];
            let text: Vec<_> = words.iter().map(|word| all[*word]).collect();
            let _ = Sieve::parse(&text.join(" "), kind);
            let _ = Sieve::parse(&(text.join("") + &noise), kind);
        }
    }
}
