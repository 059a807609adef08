//! A sink that prints.

use anyhow::Result;
use linerate::base::{
    self, Batch, Descriptor, Direction, Error, ErrorKind, Interface, LinkType, Sink, SinkStats,
    Slots, Timestamp,
};

use crate::args::PrintArgs;
use crate::pump::Consumer;
use crate::show::Printer;

/// Prints frames at once, with the times at which they would leave.
pub(in super::super) struct Shown {
    printer: Printer,
    interfaces: [Interface; 1],
    region: Vec<u8>,
    lengths: Vec<u32>,
    dates: Vec<Timestamp>,
    sent: u64,
    /// What standard output answered.
    fault: Option<anyhow::Error>,
}

impl Shown {
    /// Prints as `args` say, as of the interface called `name`, frames of up to `longest` bytes.
    pub(in super::super) fn new(args: &PrintArgs, name: &str, longest: usize) -> Self {
        let (name, link_type) = (name.to_owned(), LinkType::ETHERNET);
        let interfaces = [Interface { name, link_type, ..Interface::default() }];
        let (printer, region) = (Printer::new(args, false), vec![0; longest]);
        let (lengths, dates) = (Vec::new(), Vec::new());
        Self { printer, interfaces, region, lengths, dates, sent: 0, fault: None }
    }

    /// The last word: everything is visible.
    ///
    /// # Errors
    /// Those of standard output.
    pub(in super::super) fn finish(mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)?;
        self.printer.idle()
    }
}

impl Sink for Shown {
    /// One frame at a time.
    fn acquire(&mut self, most: usize) -> base::Result<Slots<'_>> {
        let stride = self.region.len();
        let room = stride * most.min(1);
        let slots = Slots::new(&mut self.region[..room], stride, 0, &mut self.lengths);
        Ok(slots.dated(&mut self.dates))
    }

    fn is_offline(&self) -> bool {
        true
    }

    fn submit(&mut self) -> base::Result<()> {
        let frame = |(length, time)| Descriptor {
            time,
            captured: length,
            length,
            direction: Direction::Out,
            ..Descriptor::default()
        };
        let frames: Vec<_> = self.lengths.drain(..).zip(self.dates.drain(..)).map(frame).collect();
        self.sent += frames.len() as u64;
        let shown = self.printer.batch(&Batch::new(&self.region, &frames, &self.interfaces));
        shown.map_err(|fault| {
            self.fault = Some(fault);
            Error::new(ErrorKind::BrokenPipe, "print packets", "standard output does not take them")
        })
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> base::Result<()> {
        Ok(())
    }

    fn stats(&self) -> SinkStats {
        SinkStats { submitted: self.sent, sent: self.sent, ..SinkStats::default() }
    }
}
