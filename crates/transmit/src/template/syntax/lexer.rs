//! Text to tokens.

use super::Place;
use crate::template::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Number(u128),
    Text(Vec<u8>),
    /// One of `( ) [ ] , / = - *`.
    Mark(char),
    End,
}

/// The tokens of `text`, each with its place, `End` last.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, start..lexer.at));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let length = self.rest().find(|c| !belongs(c)).unwrap_or(self.rest().len());
        let taken = self.rest()[..length].to_owned();
        self.at += length;
        taken
    }

    fn token(&mut self) -> Result<Token> {
        match self.rest().chars().next() {
            None => Ok(Token::End),
            Some(quote @ ('"' | '\'')) => self.text(quote),
            // b"..." is Python's way to say that it is bytes; all text is here.
            Some('b') if self.rest()[1..].starts_with(['"', '\'']) => {
                self.at += 1;
                self.token()
            }
            Some('0'..='9') => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                Ok(Token::Name(self.take(|c| c.is_ascii_alphanumeric() || c == '_')))
            }
            Some(mark @ ('(' | ')' | '[' | ']' | ',' | '/' | '=' | '-' | '*')) => {
                self.at += 1;
                Ok(Token::Mark(mark))
            }
            Some(other) => {
                let place = self.at..self.at + other.len_utf8();
                Err(Error::at(&place, format!("`{}` is not understood", other.escape_debug())))
            }
        }
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        let digits = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'));
        let place = start..self.at;
        if digits.contains(['.', ':']) {
            let advice = format!("addresses are written in quotes: \"{digits}\"");
            return Err(Error::at(&place, format!("`{digits}` is no number")).advise(advice));
        }
        let plain = digits.replace('_', "").to_ascii_lowercase();
        let number = match plain.get(..2) {
            Some("0x") => u128::from_str_radix(&plain[2..], 16),
            Some("0b") => u128::from_str_radix(&plain[2..], 2),
            _ => plain.parse(),
        };
        number.map(Token::Number).map_err(|_| Error::at(&place, format!("`{digits}` is no number")))
    }

    /// Python's string literals (its reference, 2.4.1) without names and octal numbers.
    fn text(&mut self, quote: char) -> Result<Token> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut characters = self.text[start + 1..].char_indices();
        while let Some((offset, character)) = characters.next() {
            self.at = start + 1 + offset + character.len_utf8();
            if character == quote {
                return Ok(Token::Text(bytes));
            }
            if character != '\\' {
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            let place = start + 1 + offset..(start + 3 + offset).min(self.text.len());
            let escaped = characters.next().map(|(_, c)| c);
            bytes.push(match escaped {
                Some('n') => b'\n',
                Some('r') => b'\r',
                Some('t') => b'\t',
                Some('0') => 0,
                Some(c @ ('\\' | '"' | '\'')) => c as u8,
                Some('x') => {
                    let digits: String = characters.by_ref().take(2).map(|(_, c)| c).collect();
                    u8::from_str_radix(&digits, 16)
                        .map_err(|_| Error::at(&place, "`\\x` takes two hexadecimal digits"))?
                }
                _ => return Err(Error::at(&place, "there is no such escape")),
            });
        }
        Err(Error::at(&(start..self.text.len()), "this text has no end").advise("close its quote"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn numbers_names_and_texts() {
        let found = kinds("a_1 = 0xfF-1_0,0b11 'x\\x00\\n' b\"\u{e9}\"");
        assert_eq!(
            found,
            [
                Token::Name("a_1".into()),
                Token::Mark('='),
                Token::Number(255),
                Token::Mark('-'),
                Token::Number(10),
                Token::Mark(','),
                Token::Number(3),
                Token::Text(b"x\0\n".to_vec()),
                Token::Text("\u{e9}".into()),
                Token::End,
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_pointed_at() {
        for (text, place) in [
            ("a %", 2..3),
            ("a 'b", 2..4),
            ("10.0.0.1", 0..8),
            ("'\\q'", 1..3),
            ("'\\xg0'", 1..3),
            ("1x", 0..2),
        ] {
            assert_eq!(tokens(text).unwrap_err().place(), place, "{text}");
        }
    }
}
