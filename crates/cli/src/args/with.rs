use std::ffi::OsString;

use clap::Args;

use super::capture::BackendArg;

/// Run a program that was made for libpcap on linerate's engines, without a change to it.
///
/// The program, and every program that it starts, finds our library where it looks for libpcap: tcpdump, tshark, nmap,
/// Scapy, Suricata and others. It must be linked with libpcap as a library, as the packages of distributions are, or load
/// it when it starts. What is other than with libpcap is in docs/libpcap.md.
///
/// The exit status is the program's; 128 and the signal's number where a signal ended it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WithArgs {
    /// Say at the end what was captured, what was lost, and how. Of a program that a signal kills nothing is known.
    #[arg(long)]
    pub(crate) report: bool,

    /// The way into the kernel: without it, the best that works here.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArg>,

    /// The program and its arguments.
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) program: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  linerate with tcpdump -i eth0 -w web.pcap tcp port 80
  linerate with --report tshark -i eth0 -a duration:10
  linerate with --backend ring nmap -sS 192.0.2.7
  linerate with python3 sniffer.py                     Scapy, or what else loads libpcap

The library is looked for beside the program linerate, as libpcap.so, then in ../lib/linerate;
LINERATE_LIBPCAP=FILE names another.";
