//! Standard output: buffered, coloured where wanted, visible at once on a terminal.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use anyhow::{Context, Result};

use crate::args::ColorArg;

/// Buffered standard output.
pub(crate) struct Output {
    out: BufWriter<Stdout>,
    at_once: bool,
}

impl Output {
    /// Standard output; each line shows at once on a terminal or when `line_buffered`.
    pub(crate) fn stdout(line_buffered: bool) -> Self {
        let at_once = line_buffered || io::stdout().is_terminal();
        Self { out: BufWriter::with_capacity(1 << 16, io::stdout()), at_once }
    }

    /// Writes the lines of one batch.
    ///
    /// # Errors
    /// When standard output does.
    pub(crate) fn lines(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).context(ASKED)?;
        if self.at_once { self.flush() } else { Ok(()) }
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// When standard output cannot take it.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush().context(ASKED)
    }
}

/// Writes on standard output, past the buffer of [`Output`].
///
/// # Errors
/// When standard output cannot take it.
pub(crate) fn text(text: impl fmt::Display) -> Result<()> {
    write!(io::stdout(), "{text}").context(ASKED)
}

/// Writes a line on standard output, past the buffer of [`Output`].
///
/// # Errors
/// When standard output cannot take it.
pub(crate) fn line(text: impl fmt::Display) -> Result<()> {
    self::text(format_args!("{text}\n"))
}

const ASKED: &str = "write standard output";

/// Says something on standard error. That nobody hears it is no reason to end.
pub(crate) fn tell(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "linerate: {text}");
}

/// Settles for the whole process when colour is used.
pub(crate) fn set_color(choice: ColorArg) {
    match choice {
        ColorArg::Auto => anstream::ColorChoice::Auto,
        ColorArg::Always => anstream::ColorChoice::Always,
        ColorArg::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// True when standard output shall be coloured.
pub(crate) fn is_colored() -> bool {
    !matches!(anstream::AutoStream::choice(&io::stdout()), anstream::ColorChoice::Never)
}
