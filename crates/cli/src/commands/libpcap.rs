//! `linerate libpcap`: a capture by the installed libpcap, which benches compare with.

use anyhow::{Context, Result};
use linerate::capture::Interrupt;
use linerate::sys::libpcap::Libpcap;

use crate::args::LibpcapArgs;
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;

pub(super) fn run(args: &LibpcapArgs) -> Result<Outcome> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?).context("watch for signals")?;
    let mut saving = Libpcap::load()?.save(&args.interface, args.buffer, &args.write)?;
    output::tell(format_args!("listening on {}", args.interface));
    let mut count = 0;
    loop {
        let taken = saving.take()?;
        count += taken;
        if taken == 0 && requests.stop() {
            break;
        }
    }
    drop(saving);
    output::tell(format_args!("{count} packets captured"));
    Ok(Outcome::Success)
}
