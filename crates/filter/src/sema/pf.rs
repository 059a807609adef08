//! The log of OpenBSD's packet filter (`pflog(4)`; `net/if_pflog.h` of OpenBSD).

use super::Compiler;
use super::links::Link;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::predicate::PredicateId;
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::ast::Word;
use crate::syntax::token::Pf;
use linerate_base as base;

/// Offsets in the header.
const ACTION: u32 = 2;
const REASON: u32 = 3;
const INTERFACE: u32 = 4;
const RULESET: u32 = 20;
const RULE: u32 = 36;
const SUBRULE: u32 = 40;
/// Names are in 16 bytes, the last of them zero.
const LONGEST_NAME: usize = 15;

/// `PFRES_`
const REASONS: &[(&str, u32)] = &[
    ("match", 0),
    ("bad-offset", 1),
    ("fragment", 2),
    ("short", 3),
    ("normalize", 4),
    ("memory", 5),
    ("bad-timestamp", 6),
    ("congestion", 7),
    ("ip-option", 8),
    ("proto-cksum", 9),
    ("state-mismatch", 10),
    ("state-insert", 11),
    ("state-limit", 12),
    ("src-limit", 13),
    ("synproxy", 14),
];

/// `PF_PASS` and what follows it.
const ACTIONS: &[(&str, u32)] = &[
    ("pass", 0),
    ("accept", 0),
    ("drop", 1),
    ("block", 1),
    ("scrub", 2),
    ("noscrub", 3),
    ("nat", 4),
    ("nonat", 5),
    ("binat", 6),
    ("nobinat", 7),
    ("rdr", 8),
    ("nordr", 9),
    ("synproxy-drop", 10),
];

impl Compiler<'_> {
    pub(super) fn pf(&mut self, field: Pf, value: Word<'_>, span: Span) -> Result<PredicateId> {
        self.require_pf(field_name(field), span)?;
        match (field, value) {
            (Pf::Interface, Word::Name(name)) => {
                self.pf_name(INTERFACE, name, "ifname interface names", span)
            }
            (Pf::Ruleset, Word::Name(name)) => self.pf_name(RULESET, name, "ruleset names", span),
            (Pf::Action, Word::Name(name)) => {
                let action = number(ACTIONS, "action", name, span)?;
                Ok(self.pf_byte(ACTION, action))
            }
            (Pf::Reason, Word::Name(name)) => {
                let reason = number(REASONS, "reason", name, span)?;
                Ok(self.pf_byte(REASON, reason))
            }
            (Pf::Rule, Word::Number(number)) => Ok(self.pf_word(RULE, number)),
            (Pf::SubRule, Word::Number(number)) => Ok(self.pf_word(SUBRULE, number)),
            // The grammar has a number nowhere else, and no name for rules.
            (_, Word::Number(number)) => Ok(self.pf_byte(REASON, number)),
            (_, Word::Name(name)) => Err(unknown("rule", name, span)),
        }
    }

    fn require_pf(&self, name: &str, span: Span) -> Result<()> {
        if self.layout.link_type == Link::PfLog {
            return Ok(());
        }
        let link = self.layout.description();
        let message = format!("{name} supported only on PF linktype, not on {link}");
        Err(Error::unsupported(message, span))
    }

    /// The field begins with the name.
    fn pf_name(&mut self, at: u32, name: &str, what: &str, span: Span) -> Result<PredicateId> {
        if name.len() > LONGEST_NAME {
            let message = format!("{what} can only be {LONGEST_NAME} characters");
            return Err(Error::meaning(message, span));
        }
        let link = self.link();
        Ok(self.bytes(link, at, name.as_bytes()))
    }

    fn pf_byte(&mut self, at: u32, value: u32) -> PredicateId {
        let link = self.link();
        self.equals((link, at, Width::Byte), value)
    }

    fn pf_word(&mut self, at: u32, value: u32) -> PredicateId {
        let link = self.link();
        self.equals((link, at, Width::Word), value)
    }
}

fn field_name(field: Pf) -> &'static str {
    match field {
        Pf::Rule => "rnr",
        Pf::Interface => "ifname",
        Pf::Ruleset => "ruleset",
        Pf::SubRule => "srnr",
        Pf::Reason => "reason",
        Pf::Action => "action",
    }
}

fn number(names: &[(&str, u32)], what: &str, name: &str, span: Span) -> Result<u32> {
    let found = names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, number)| *number).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        unknown(what, name, span).expected(known.join(", "))
    })
}

fn unknown(what: &str, name: &str, span: Span) -> Error {
    Error::at(ErrorKind::Name, format!("unknown PF {what} \"{}\"", base::Word(name)), span)
}
