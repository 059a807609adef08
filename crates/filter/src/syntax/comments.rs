//! Comments, which files of filters may have and expressions may not.

/// `text` with its comments, each from a `#` to the end of its line, as spaces, so that everything
/// else stays where it is.
///
/// This is what tcpdump does with the file of its option `-F`. Expressions themselves have no comments:
/// [`compile`](crate::compile) refuses a `#`, as libpcap does.
///
/// ```
/// let text = "tcp # not udp\nport 80";
/// assert_eq!(linerate_filter::without_comments(text), "tcp          \nport 80");
/// ```
pub fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').map(without_comment).collect()
}

fn without_comment(line: &str) -> String {
    let code = line.find('#').unwrap_or(line.len());
    let end = line.strip_suffix('\n').unwrap_or(line).len().max(code);
    format!("{}{}{}", &line[..code], " ".repeat(end - code), &line[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_end_with_their_line() {
        assert_eq!(without_comments("# a\ntcp # b # c\r\n\nudp"), "   \ntcp         \n\nudp");
        assert_eq!(without_comments("tcp #"), "tcp  ");
        assert_eq!(without_comments("tcp\n"), "tcp\n");
        assert_eq!(without_comments("# \u{e9}\nip"), "    \nip");
        assert_eq!(without_comments(""), "");
    }

    proptest! {
        #[test]
        fn everything_else_stays_where_it_is(text in "[a#\n\u{e9} ]{0,40}") {
            let blanked = without_comments(&text);
            prop_assert_eq!(blanked.len(), text.len());
            prop_assert!(!blanked.contains('#'));
            for (blank, was) in blanked.lines().zip(text.lines()) {
                prop_assert!(blank.starts_with(was.split('#').next().unwrap_or_default()));
            }
        }
    }
}
