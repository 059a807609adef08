//! Self-contained pages: everything is in the file, and nothing is fetched from elsewhere.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

const STYLE: &str = include_str!("page.css");

/// A page as it grows.
pub(crate) struct Page {
    title: String,
    body: String,
}

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let body = format!("<h1>{}</h1>\n", escaped(title));
        Self { title: title.to_owned(), body }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(text));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    pub(crate) fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) {
        self.body.push_str("<ul>\n");
        for item in items {
            let _ = writeln!(self.body, "<li>{}</li>", escaped(item.as_ref()));
        }
        self.body.push_str("</ul>\n");
    }

    /// A drawing, with words for who cannot see it.
    pub(crate) fn figure(&mut self, svg: &str, words: &str) {
        let words = escaped(words);
        let _ =
            writeln!(self.body, "<figure role=\"img\" aria-label=\"{words}\">\n{svg}\n</figure>");
    }

    /// A table whose first column is of words, and all others of numbers.
    pub(crate) fn table(&mut self, heads: &[&str], rows: &[Vec<String>]) {
        self.body.push_str("<div class=\"wide\"><table>\n<tr>");
        heads.iter().for_each(|head| self.cell("th", head));
        self.body.push_str("</tr>\n");
        for row in rows {
            self.body.push_str("<tr>");
            row.iter().for_each(|text| self.cell("td", text));
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</table></div>\n");
    }

    /// A table that is folded away until somebody wants to see it.
    pub(crate) fn folded(&mut self, summary: &str, heads: &[&str], rows: &[Vec<String>]) {
        let _ = writeln!(self.body, "<details><summary>{}</summary>", escaped(summary));
        self.table(heads, rows);
        self.body.push_str("</details>\n");
    }

    fn cell(&mut self, kind: &str, text: &str) {
        let _ = write!(self.body, "<{kind}>{}</{kind}>", escaped(text));
    }

    /// The whole file.
    pub(crate) fn finish(self) -> String {
        let title = escaped(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
             <body>\n{}</body>\n</html>\n",
            self.body
        )
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(self, file: &Path) -> Result<()> {
        std::fs::write(file, self.finish()).with_context(|| asked(file))
    }
}

/// Makes the file, empty where it is not there yet: what it is for may take long, and is not to be in vain.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn check(file: &Path) -> Result<()> {
    let opened = File::options().append(true).create(true).open(file);
    opened.map(drop).with_context(|| asked(file))
}

fn asked(file: &Path) -> String {
    format!("write the page {}", file.display())
}

/// Text between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Not allowed in documents at all (Char in the XML specification, 2.2).
            sign if sign.is_control() && !sign.is_whitespace() => safe.push('\u{fffd}'),
            sign => safe.push(sign),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_tags_is_text() {
        let mut page = Page::new("a <b>");
        page.table(&["x & y"], &[vec!["\"<script>\"\u{1}".into()]]);
        let text = page.finish();
        assert!(text.contains("a &lt;b&gt;") && text.contains("x &amp; y"));
        assert!(text.contains("&quot;&lt;script&gt;&quot;\u{fffd}") && !text.contains("<script"));
    }
}
