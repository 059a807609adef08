//! The part of an expression (a filter, a packet) that an error is about, with carets under it.
//!
//! Of several lines only the one at fault is shown, with its number; of a long line only what is
//! around the fault, with `…` where it is cut and the column, in characters from 1.

use std::fmt;
use std::ops::Range;

/// A line no longer than this, in characters, is shown whole.
const WHOLE: usize = 100;
/// How much of a longer line is shown before the fault, and how much from it on, in characters.
const AROUND: usize = 40;
/// How much of a word is shown within a message, in characters.
const WORD: usize = 60;

/// The line of an expression that a fault is in, and where in that line it is.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The line's number from 1, where there are others.
    number: Option<usize>,
    /// The line; what would move the carets, such as a tab, is one space.
    line: Vec<char>,
    /// Where the fault begins, in characters.
    column: usize,
    /// How long it is, within this line.
    length: usize,
}

impl Excerpt {
    /// The line of `expression` in which the bytes `span` begin; a span past the end is at the end.
    pub fn new(expression: &str, span: Range<usize>) -> Self {
        let expression = expression.trim_end();
        // What is missing at the end is missing after the last word, not after blanks.
        let start = expression.floor_char_boundary(span.start);
        let line_start = expression[..start].rfind('\n').map_or(0, |end| end + 1);
        let line = expression[line_start..].lines().next().unwrap_or_default();
        let characters = |bytes: usize| line[..line.floor_char_boundary(bytes)].chars().count();
        let column = characters(start - line_start);
        let end = characters(span.end.saturating_sub(line_start));
        let number = 1 + expression[..line_start].matches('\n').count();
        Self {
            number: expression.contains('\n').then_some(number),
            line: line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
            column,
            length: end.saturating_sub(column).max(1),
        }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut from, mut to) = (0, self.line.len());
        if to > WHOLE {
            from = self.column.saturating_sub(AROUND);
            to = to.min(self.column + AROUND);
        }
        let cut = |cut: bool| if cut { "…" } else { "" };
        let (before, after) = (cut(from > 0), cut(to < self.line.len()));
        let column = self.column + 1;
        match (self.number, !before.is_empty() || !after.is_empty()) {
            (Some(number), true) => write!(f, "\n  at line {number}, column {column}:")?,
            (Some(number), false) => write!(f, "\n  at line {number}:")?,
            (None, true) => write!(f, "\n  at column {column}:")?,
            (None, false) => {}
        }
        let shown: String = self.line[from..to].iter().collect();
        let indent = " ".repeat(before.chars().count() + self.column - from);
        let carets = "^".repeat(self.length.min(to - self.column).max(1));
        write!(f, "\n  {before}{shown}{after}\n  {indent}{carets}")
    }
}

/// A word of the expression within a message, its end cut off if it is long.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a>(pub &'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(WORD).map(|(end, _)| end);
        f.write_str(&self.0[..end.unwrap_or(self.0.len())])?;
        f.write_str(if end.is_some() { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn excerpt(expression: &str, start: usize, end: usize) -> String {
        Excerpt::new(expression, start..end).to_string()
    }

    /// The characters of the line before the last that the carets of the last stand under.
    fn marked(excerpt: &str) -> String {
        let lines: Vec<_> = excerpt.lines().rev().collect();
        let under = lines[1].chars().zip(lines[0].chars());
        under.filter(|(_, mark)| *mark == '^').map(|(c, _)| c).collect()
    }

    #[test]
    fn a_short_line_is_shown_whole() {
        assert_eq!(excerpt("tcp\tfoo bar", 4, 7), "\n  tcp foo bar\n      ^^^");
        assert_eq!(excerpt("tcp", 3, 3), "\n  tcp\n     ^");
        assert_eq!(excerpt("h\u{e9} foo", 4, 7), "\n  h\u{e9} foo\n     ^^^");
        assert_eq!(excerpt("", 0, 0), "\n  \n  ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_fault() {
        let text = format!("{}hst{}", "a or ".repeat(20_000), " or b".repeat(20_000));
        let shown = excerpt(&text, 100_000, 100_003);
        assert!(shown.starts_with("\n  at column 100001:\n  …a or a or "), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 2 + 2 + 2 * AROUND), "{shown}");
        assert_eq!(marked(&shown), "hst");
    }

    #[test]
    fn carets_end_where_the_line_is_cut() {
        let shown = excerpt(&"a".repeat(100_000), 0, 100_000);
        let whole = "a".repeat(AROUND);
        assert_eq!(shown, format!("\n  at column 1:\n  {whole}…\n  {}", "^".repeat(AROUND)));
    }

    #[test]
    fn of_several_lines_one_is_shown() {
        let text = "tcp or\r\nhst 1\nor udp\n";
        assert_eq!(excerpt(text, 8, 11), "\n  at line 2:\n  hst 1\n  ^^^");
        assert_eq!(excerpt(text, 4, 11), "\n  at line 1:\n  tcp or\n      ^^");
        // The end of the text is that of its last word.
        assert_eq!(excerpt(text, 21, 21), "\n  at line 3:\n  or udp\n        ^");
        assert_eq!(excerpt("tcp or\n", 7, 7), "\n  tcp or\n        ^");
        let long = format!("\n{}foo", "tcp or ".repeat(100));
        assert!(excerpt(&long, 701, 704).starts_with("\n  at line 2, column 701:\n  …"));
    }

    #[test]
    fn words_in_messages_end() {
        assert_eq!(Word("short").to_string(), "short");
        assert_eq!(Word(&"\u{e9}".repeat(1_000)).to_string(), "\u{e9}".repeat(WORD) + "…");
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(text in "(?s).{0,300}", start in 0..2_000_usize, length in 0..2_000_usize) {
            let shown = excerpt(&text, start, start + length);
            prop_assert!(shown.ends_with('^'));
        }
    }
}
