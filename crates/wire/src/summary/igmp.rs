//! `igmp v2 report 224.0.0.251`

use super::Printer;
use crate::layer::Igmp;
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn igmp(&mut self, igmp: &Igmp<'_>) {
        self.line.protocol("igmp");
        match (igmp.kind, igmp.group) {
            (Igmp::QUERY, _) => self.igmp_query(igmp),
            (0x12, Some(group)) => self.igmp_group(" v1 report ", group),
            (0x16, Some(group)) => self.igmp_group(" v2 report ", group),
            (0x17, Some(group)) => self.igmp_group(" leave ", group),
            (Igmp::REPORT_V3, _) => {
                let records = igmp.records.unwrap_or_default();
                write!(self.line, " v3 report, {records} group record(s)");
            }
            (0x13, _) => self.line.text(" dvmrp"),
            (0x14, _) => self.line.text(" pimv1"),
            (kind, _) => write!(self.line, "-{kind}"),
        }
        if self.verbose() && igmp.checksum.correct() == Some(false) {
            let value = igmp.checksum.value();
            self.line.styled(Kind::Error, |line| write!(line, " bad igmp cksum {value:x}!"));
        }
    }

    fn igmp_group(&mut self, what: &str, group: std::net::Ipv4Addr) {
        self.line.text(what);
        self.host(group.into());
    }

    /// RFC 3376 7.1 tells the versions apart by length and response code.
    fn igmp_query(&mut self, igmp: &Igmp<'_>) {
        let version = match (igmp.length, igmp.response_code) {
            (12.., _) => 3,
            (_, 0) => 1,
            _ => 2,
        };
        write!(self.line, " query v{version}");
        let tenths = igmp.response_tenths();
        match version {
            3 if tenths != 100 => self.response_time(tenths),
            2 if igmp.response_code != 100 => {
                write!(self.line, " [max resp time {}]", igmp.response_code);
            }
            _ => {}
        }
        if let Some(group) = igmp.group.filter(|group| !group.is_unspecified()) {
            self.igmp_group(" [gaddr ", group);
            self.line.text("]");
        }
    }

    fn response_time(&mut self, tenths: u32) {
        let seconds = tenths / 10;
        match tenths {
            0..600 => write!(self.line, " [max resp time {seconds}.{}s]", tenths % 10),
            _ => write!(self.line, " [max resp time {}m{}s]", seconds / 60, seconds % 60),
        }
    }
}
