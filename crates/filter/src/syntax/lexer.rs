//! Text to tokens, by longest match.
//!
//! Where two readings are equally long the earlier of these wins, as in libpcap 1.10.3's
//! `scanner.l`: keyword, MAC address, number, dotted address, IPv6 address, constant, name. So
//! `1-1` is a name (it is longer than the number), `1.2.3.4` an address and `1.2.3.4.5` a name.

use super::Span;
use super::token::{Sign, Token, lookup};
use crate::error::{Error, Result};
use linerate_base::Word;
use std::net::Ipv6Addr;

/// Hands out one token after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

/// A reading of the word at hand: how long it is, and what it is.
type Reading = (usize, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mac,
    Number,
    Dotted,
    Ipv6,
    BogusMac,
    Name,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The next token and where it stands; [`Token::End`] again and again at the end.
    pub(crate) fn next_token(&mut self) -> Result<(Token<'a>, Span)> {
        let rest = self.text[self.position..].trim_start_matches([' ', '\t', '\r', '\n']);
        let start = self.text.len() - rest.len();
        let (token, length) = read(rest);
        let span = Span { start, end: start + length };
        self.position = span.end;
        token.map(|token| (token, span)).map_err(|message| Error::syntax(message, span))
    }
}

/// A token, or what is wrong with it, and how long it is.
type Read<'a> = (std::result::Result<Token<'a>, String>, usize);

fn read(rest: &str) -> Read<'_> {
    let Some(first) = rest.chars().next() else {
        return (Ok(Token::End), 0);
    };
    let read = match first {
        '\\' => escaped(rest),
        '$' => arcnet(rest),
        _ => sign(rest).or_else(|| word(rest)),
    };
    read.unwrap_or_else(|| {
        (Err(format!("the character {first:?} has no meaning here")), first.len_utf8())
    })
}

/// A backslash makes a name of any word, keywords included.
fn escaped(rest: &str) -> Option<Read<'_>> {
    let end = rest.find([' ', '!', '(', ')', '\n', '\t']).unwrap_or(rest.len());
    (end > 1).then(|| (Ok(Token::Name(&rest[1..end])), end))
}

fn arcnet(rest: &str) -> Option<Read<'_>> {
    let digits = hex_digits(&rest.as_bytes()[1..], 2);
    let address = u8::from_str_radix(&rest[1..=digits], 16).ok()?;
    Some((Ok(Token::Arcnet(address)), 1 + digits))
}

fn word(rest: &str) -> Option<Read<'_>> {
    let (length, kind) = longest(rest.as_bytes())?;
    let text = &rest[..length];
    let token = match kind {
        Kind::Mac => Ok(Token::Ethernet(mac_bytes(text))),
        Kind::Number => number(text).map(Token::Number),
        Kind::Dotted => Ok(Token::Dotted(text)),
        Kind::Ipv6 => ipv6_address(text).map(Token::Ipv6),
        Kind::BogusMac => Err(format!("bogus ethernet address {}", Word(text))),
        Kind::Name => Ok(lookup(text).unwrap_or(Token::Name(text))),
    };
    Some((token, length))
}

fn ipv6_address(text: &str) -> std::result::Result<Ipv6Addr, String> {
    text.parse().map_err(|_| format!("bogus IPv6 address {}", Word(text)))
}

/// The longest reading; the first listed of equally long ones. All keywords and constants read
/// as names, and no other reading is as long as one of them.
fn longest(text: &[u8]) -> Option<Reading> {
    let readings = [
        (mac(text), Kind::Mac),
        (number_length(text), Kind::Number),
        (dotted(text), Kind::Dotted),
        (ipv6(text), Kind::Ipv6),
        (bogus_mac(text), Kind::BogusMac),
        (name(text), Kind::Name),
    ];
    let longest = readings.iter().map(|(length, _)| *length).max().filter(|length| *length > 0)?;
    readings.into_iter().find(|(length, _)| *length == longest)
}

fn sign(rest: &str) -> Option<Read<'_>> {
    const SIGNS: &[(&str, Sign)] = &[
        (">=", Sign::GreaterEqual),
        ("<=", Sign::LessEqual),
        ("!=", Sign::NotEqual),
        ("==", Sign::Equal),
        ("<<", Sign::ShiftLeft),
        (">>", Sign::ShiftRight),
        ("&&", Sign::And),
        ("||", Sign::Or),
        ("+", Sign::Plus),
        ("-", Sign::Minus),
        ("*", Sign::Star),
        ("/", Sign::Slash),
        ("%", Sign::Percent),
        ("[", Sign::OpenBracket),
        ("]", Sign::CloseBracket),
        ("!", Sign::Not),
        ("<", Sign::Less),
        (">", Sign::Greater),
        ("(", Sign::Open),
        (")", Sign::Close),
        ("&", Sign::Ampersand),
        ("|", Sign::Bar),
        ("^", Sign::Caret),
        ("=", Sign::Equal),
    ];
    let found = SIGNS.iter().find(|(text, _)| rest.starts_with(text));
    // Two colons begin an IPv6 address.
    let colon = (rest.starts_with(':') && !rest.starts_with("::")).then_some(&(":", Sign::Colon));
    found.or(colon).map(|(text, sign)| (Ok(Token::Sign(*sign)), text.len()))
}

fn run(text: &[u8], limit: usize, belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().take(limit).take_while(|byte| belongs(**byte)).count()
}

fn hex_digits(text: &[u8], limit: usize) -> usize {
    run(text, limit, |byte| byte.is_ascii_hexdigit())
}

/// `[A-Za-z0-9]([-_.A-Za-z0-9]*[.A-Za-z0-9])?`
fn name(text: &[u8]) -> usize {
    if !text.first().is_some_and(u8::is_ascii_alphanumeric) {
        return 0;
    }
    let longest = run(text, usize::MAX, |b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let dangling = text[..longest].iter().rev().take_while(|b| b"-_".contains(b)).count();
    longest - dangling
}

/// `[0-9]+|0[Xx][0-9A-Fa-f]+`
fn number_length(text: &[u8]) -> usize {
    if let [b'0', b'x' | b'X', digits @ ..] = text {
        let count = hex_digits(digits, usize::MAX);
        if count > 0 {
            return 2 + count;
        }
    }
    run(text, usize::MAX, |byte| byte.is_ascii_digit())
}

/// Two to four numbers with dots between them; 0 if it is not at least two.
fn dotted(text: &[u8]) -> usize {
    (2..=4).map_while(|parts| dotted_parts(text, parts)).last().unwrap_or(0)
}

fn dotted_parts(text: &[u8], parts: usize) -> Option<usize> {
    let mut length = 0;
    for part in 0..parts {
        if part > 0 {
            text.get(length).filter(|byte| **byte == b'.')?;
            length += 1;
        }
        length += Some(number_length(&text[length..])).filter(|count| *count > 0)?;
    }
    Some(length)
}

/// The five notations of a MAC address.
fn mac(text: &[u8]) -> usize {
    let six = |separator| groups(text, 6, 1..=2, Some(separator));
    let notations = [
        six(b':'),
        six(b'-'),
        six(b'.'),
        groups(text, 3, 4..=4, Some(b'.')),
        groups(text, 3, 4..=4, None),
    ];
    notations.into_iter().flatten().max().unwrap_or(0)
}

/// So many groups of so many hexadecimal digits.
fn groups(
    text: &[u8],
    count: usize,
    digits: std::ops::RangeInclusive<usize>,
    separator: Option<u8>,
) -> Option<usize> {
    let mut length = 0;
    for group in 0..count {
        if let Some(separator) = separator.filter(|_| group > 0) {
            text.get(length).filter(|byte| **byte == separator)?;
            length += 1;
        }
        let found = hex_digits(&text[length..], *digits.end());
        length += Some(found).filter(|found| digits.contains(found))?;
    }
    Some(length)
}

fn mac_bytes(text: &str) -> [u8; 6] {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    let groups = text.as_bytes().split(|byte| !byte.is_ascii_hexdigit());
    let mut bytes = [0; 6];
    for (byte, digits) in bytes.iter_mut().zip(groups.flat_map(|group| group.chunks(2))) {
        *byte = digits.iter().fold(0, |value, b| value << 4 | digit(*b));
    }
    bytes
}

/// `{B}:+({B}:+)+`: what looks like a MAC address and ends in a colon.
fn bogus_mac(text: &[u8]) -> usize {
    let (mut length, mut groups) = (0, 0);
    loop {
        let digits = hex_digits(&text[length..], 2);
        let colons = run(&text[length + digits..], usize::MAX, |byte| byte == b':');
        if digits == 0 || colons == 0 {
            return if groups >= 2 { length } else { 0 };
        }
        length += digits + colons;
        groups += 1;
    }
}

/// An IPv6 address: eight groups, or fewer with one `::`, the last two perhaps as IPv4.
fn ipv6(text: &[u8]) -> usize {
    let (mut length, mut groups, mut elided, mut longest) = (0, 0, false, 0);
    if text.starts_with(b"::") {
        (length, elided, longest) = (2, true, 2);
    }
    loop {
        let digits = hex_digits(&text[length..], 4);
        if digits == 0 {
            return longest;
        }
        if (elided && groups <= 5) || (!elided && groups == 6) {
            let embedded = dotted_parts(&text[length..], 4);
            longest = longest.max(embedded.map_or(0, |ipv4| length + ipv4));
        }
        groups += 1;
        length += digits;
        if (elided && groups <= 7) || (!elided && groups == 8) {
            longest = longest.max(length);
        }
        match &text[length..] {
            [b':', b':', ..] if !elided && groups <= 7 => {
                (length, elided) = (length + 2, true);
                longest = longest.max(length);
            }
            [b':', next, ..] if next.is_ascii_hexdigit() && groups < 8 => length += 1,
            _ => return longest,
        }
    }
}

/// A number's value: decimal, octal after `0`, hexadecimal after `0x`.
pub(crate) fn number(text: &str) -> std::result::Result<u32, String> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if radix == 8 && digits.contains(['8', '9']) {
        return Err(format!("number {} contains non-octal digit", Word(text)));
    }
    u32::from_str_radix(digits, radix)
        .map_err(|_| format!("number {} overflows 32 bits", Word(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let next = || lexer.next_token().expect("lexes").0;
        std::iter::repeat_with(next).take_while(|token| *token != Token::End).collect()
    }

    fn one(text: &str) -> Token<'_> {
        let all = tokens(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all[0]
    }

    fn message(text: &str) -> String {
        let mut lexer = Lexer::new(text);
        loop {
            match lexer.next_token() {
                Ok((Token::End, _)) => panic!("{text} lexes"),
                Ok(_) => {}
                Err(error) => return error.message().to_owned(),
            }
        }
    }

    #[test]
    fn the_longest_reading_wins() {
        assert_eq!(one("1-1"), Token::Name("1-1"));
        assert_eq!(one("1.2.3.4.5"), Token::Name("1.2.3.4.5"));
        assert_eq!(one("1.2.3.4."), Token::Name("1.2.3.4."));
        assert_eq!(tokens("a-"), [Token::Name("a"), Token::Sign(Sign::Minus)]);
        assert_eq!(one("0x1g"), Token::Name("0x1g"));
        assert_eq!(one("iphost"), Token::Name("iphost"));
    }

    #[test]
    fn of_equal_readings_the_first_kind_wins() {
        assert_eq!(one("1.2.3"), Token::Dotted("1.2.3"));
        assert_eq!(one("0x1.2"), Token::Dotted("0x1.2"));
        assert_eq!(one("1-2-3-4-5-6"), Token::Ethernet([1, 2, 3, 4, 5, 6]));
        assert_eq!(one("010203040506"), Token::Ethernet([1, 2, 3, 4, 5, 6]));
        assert_eq!(one("12345"), Token::Number(12345));
    }

    #[test]
    fn mac_addresses_have_five_notations() {
        let expected = Token::Ethernet([1, 0xab, 3, 4, 5, 6]);
        for text in
            ["1:ab:3:4:5:6", "1-ab-3-4-5-6", "1.ab.3.4.5.6", "01ab.0304.0506", "01ab03040506"]
        {
            assert_eq!(one(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_have_three_bases() {
        assert_eq!(tokens("17 017 0x17 0"), [17, 15, 23, 0].map(Token::Number));
        assert_eq!(one("4294967295"), Token::Number(u32::MAX));
        assert_eq!(message("4294967296"), "number 4294967296 overflows 32 bits");
        assert_eq!(message("080"), "number 080 contains non-octal digit");
    }

    #[test]
    fn ipv6_addresses() {
        for text in [
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "fe80::1:2",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
        ] {
            assert_eq!(one(text), Token::Ipv6(text.parse().expect("valid")), "{text}");
        }
        assert_eq!(message("::ffff:1.2.3.400"), "bogus IPv6 address ::ffff:1.2.3.400");
        assert_eq!(message("1:2:3:4:5:6:7"), "bogus ethernet address 1:2:3:4:5:6:");
    }

    #[test]
    fn a_backslash_makes_a_name() {
        assert_eq!(tokens("ip \\ip"), [lookup("ip").expect("known"), Token::Name("ip")]);
        assert_eq!(message("\\"), "the character '\\\\' has no meaning here");
    }

    #[test]
    fn colons_in_brackets_are_signs() {
        let signs: Vec<_> = tokens("[0:4]");
        assert_eq!(signs[2], Token::Sign(Sign::Colon));
        assert_eq!(tokens("$1f $5"), [0x1f, 5].map(Token::Arcnet));
    }

    #[test]
    fn spans_count_bytes() {
        let mut lexer = Lexer::new("  tcp \\h\u{e9}");
        assert_eq!(lexer.next_token().expect("tcp").1, Span { start: 2, end: 5 });
        assert_eq!(lexer.next_token().expect("name").1, Span { start: 6, end: 10 });
    }
}
