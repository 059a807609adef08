//! Tokens to a tree.

use super::lexer::{Token, tokens};
use super::{Argument, Call, Place, Value, ValueKind};
use crate::template::error::{Error, Result};

/// How deep lists and calls may lie in one another: far deeper than any packet needs.
const DEPTH: usize = 8;

/// Bytes that a text has at most when it is repeated: no packet has more.
const LONGEST: usize = u16::MAX as usize;

/// The layers of an expression, the outermost first, at least one.
pub(in crate::template) fn parse(text: &str) -> Result<Vec<Call>> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let mut layers = vec![parser.layer()?];
    while parser.skip('/') {
        layers.push(parser.layer()?);
    }
    match parser.peek() {
        Token::End => Ok(layers),
        _ => Err(parser.expected("`/` and a layer, or the end")),
    }
}

struct Parser {
    tokens: Vec<(Token, Place)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> Place {
        self.tokens[self.at].1.clone()
    }

    /// The next token; `End` is never passed.
    fn next(&mut self) -> (Token, Place) {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn skip(&mut self, mark: char) -> bool {
        let is_there = *self.peek() == Token::Mark(mark);
        if is_there {
            self.next();
        }
        is_there
    }

    fn demand(&mut self, mark: char) -> Result<()> {
        if self.skip(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn expected(&self, what: &str) -> Error {
        Error::at(&self.place(), format!("expected {what}"))
    }

    /// Text is the load of a layer without a name.
    fn layer(&mut self) -> Result<Call> {
        if !matches!(self.peek(), Token::Text(_)) {
            return self.call();
        }
        let value = self.value()?;
        let place = value.place.clone();
        Ok(Call { name: "Raw".into(), place, arguments: vec![Argument { name: None, value }] })
    }

    fn call(&mut self) -> Result<Call> {
        let (name, place) = match self.next() {
            (Token::Name(name), place) => (name, place),
            (_, place) => return Err(Error::at(&place, "expected a layer, such as `IP()`")),
        };
        if !self.skip('(') {
            let advice = format!("a layer has parentheses, be they empty: `{name}()`");
            return Err(self.expected("`(`").advise(advice));
        }
        let mut arguments = Vec::new();
        while !self.skip(')') {
            if !arguments.is_empty() && !self.skip(',') {
                return Err(self.expected("`,` or `)`"));
            }
            arguments.push(self.argument()?);
        }
        Ok(Call { name, place, arguments })
    }

    fn argument(&mut self) -> Result<Argument> {
        let is_named = matches!(self.tokens.get(self.at + 1), Some((Token::Mark('='), _)));
        let name = match self.peek().clone() {
            Token::Name(name) if is_named => {
                let (_, place) = self.next();
                self.next();
                Some((name, place))
            }
            _ => None,
        };
        Ok(Argument { name, value: self.value()? })
    }

    fn value(&mut self) -> Result<Value> {
        if self.depth == DEPTH {
            return Err(Error::at(&self.place(), "this is nested too deeply"));
        }
        self.depth += 1;
        let start = self.place().start;
        let kind = match self.peek() {
            Token::Name(name) if name == "None" => {
                self.next();
                ValueKind::None
            }
            Token::Name(_) => ValueKind::Call(self.call()?),
            Token::Number(_) => self.numbers()?,
            Token::Text(text) => {
                let text = text.clone();
                self.next();
                ValueKind::Text(self.repeated(text)?)
            }
            Token::Mark('[') => ValueKind::List(self.values('[', ']')?),
            Token::Mark('(') => ValueKind::Tuple(self.values('(', ')')?),
            _ => return Err(self.expected("a value").advise(VALUES)),
        };
        self.depth -= 1;
        let end = self.tokens[self.at - 1].1.end;
        Ok(Value { kind, place: start..end })
    }

    fn number(&mut self) -> Result<u128> {
        match self.next() {
            (Token::Number(number), _) => Ok(number),
            (_, place) => Err(Error::at(&place, "expected a number")),
        }
    }

    /// The text as often as a number behind it says.
    fn repeated(&mut self, text: Vec<u8>) -> Result<Vec<u8>> {
        if !self.skip('*') {
            return Ok(text);
        }
        let place = self.place();
        let times = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if text.len().saturating_mul(times) > LONGEST {
            let message = format!("no packet holds so much text: at most {LONGEST} bytes");
            return Err(Error::at(&place, message));
        }
        Ok(text.repeat(times))
    }

    fn numbers(&mut self) -> Result<ValueKind> {
        let start = self.place().start;
        let first = self.number()?;
        if !self.skip('-') {
            return Ok(ValueKind::Number(first));
        }
        let end = self.place().end;
        let (first, last) = in_order(first, self.number()?, &(start..end))?;
        Ok(ValueKind::Range(first, last))
    }

    fn values(&mut self, open: char, close: char) -> Result<Vec<Value>> {
        self.demand(open)?;
        let mut values = Vec::new();
        while !self.skip(close) {
            if !values.is_empty() && !self.skip(',') {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            values.push(self.value()?);
        }
        Ok(values)
    }
}

const VALUES: &str = "values are numbers (80), ranges (1024-65535), texts in quotes (\"10.0.0.0/8\") \
                      and lists of these in brackets";

/// A range, unless it ends before it begins.
pub(in crate::template) fn in_order(
    first: u128,
    last: u128,
    place: &Place,
) -> Result<(u128, u128)> {
    if first <= last {
        return Ok((first, last));
    }
    let advice = format!("write it as {last}-{first}");
    Err(Error::at(place, "this range ends before it begins").advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn layers_arguments_and_values() {
        let layers = parse("Ether() / IP(dst='a', ttl=[1, 2-3])/Raw(permute((1,9)))").unwrap();
        assert_eq!(
            layers.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
            ["Ether", "IP", "Raw"]
        );
        let ip = &layers[1].arguments;
        assert_eq!(ip[0].name, Some(("dst".into(), 13..16)));
        assert_eq!(ip[0].value, Value { kind: ValueKind::Text(b"a".to_vec()), place: 17..20 });
        let ValueKind::List(list) = &ip[1].value.kind else { panic!("{ip:?}") };
        assert_eq!(list[1].kind, ValueKind::Range(2, 3));
        let ValueKind::Call(walk) = &layers[2].arguments[0].value.kind else {
            panic!("{layers:?}")
        };
        let ValueKind::Tuple(pair) = &walk.arguments[0].value.kind else { panic!("{walk:?}") };
        assert_eq!((&pair[0].kind, &pair[1].kind), (&ValueKind::Number(1), &ValueKind::Number(9)));
    }

    #[test]
    fn text_is_a_layer_and_can_be_repeated() {
        let layers = parse("IP()/'ab'*3").unwrap();
        let [raw] = &layers[1].arguments[..] else { panic!("{layers:?}") };
        assert_eq!((layers[1].name.as_str(), &raw.name), ("Raw", &None));
        assert_eq!(raw.value, Value { kind: ValueKind::Text(b"ababab".to_vec()), place: 5..11 });
        assert_eq!(parse("IP()/''*99999999999").unwrap()[1].place, 5..19);
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, place, message) in [
            ("", 0..0, "expected a layer"),
            ("IP", 2..2, "expected `(`"),
            ("IP(", 3..3, "expected a value"),
            ("IP()TCP()", 4..7, "expected `/`"),
            ("IP()/", 5..5, "expected a layer"),
            ("IP(ttl=1 id=2)", 9..11, "expected `,` or `)`"),
            ("IP(ttl=9-1)", 7..10, "this range ends before it begins"),
            ("IP(ttl=[1 2])", 10..11, "expected `,` or `]`"),
            ("IP(ttl=1-a)", 9..10, "expected a number"),
            ("IP(ttl=(1 2))", 10..11, "expected `,` or `)`"),
            ("IP()/'ab'*'c'", 10..13, "expected a number"),
            ("IP()/'ab'*40000", 10..15, "no packet holds so much text"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                (error.place(), error.message().starts_with(message)),
                (place, true),
                "{text}: {error}"
            );
        }
        assert!(parse(&format!("IP({}", "[".repeat(100_000))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([A-Za-z0-9_]{0,3}|[\\[\\](),/=*\"'\\\\-]|\\PC){0,40}") {
            if let Err(error) = parse(&text) {
                prop_assert!(!error.within(&text).to_string().is_empty());
            }
        }
    }
}
