//! Terms that begin with a keyword of their own.

use super::Span;
use super::ast::{ByteTest, Connective, Node, NodeId, Primitive, Relation, Word};
use super::parser::{Parser, comparison, starts_qualifiers};
use super::token::{Field, Keyword, Pf, Sign, Token};
use crate::error::Result;

impl<'a> Parser<'a> {
    /// A term that begins with a keyword other than a protocol.
    pub(super) fn keyword(&mut self, keyword: Keyword) -> Result<NodeId> {
        if starts_qualifiers(keyword) {
            return self.qualified(None, self.span);
        }
        let start = self.span;
        let primitive = match keyword {
            Keyword::Broadcast => return self.primitive(Primitive::Broadcast(None), start),
            Keyword::Multicast => return self.primitive(Primitive::Multicast(None), start),
            Keyword::Inbound => return self.primitive(Primitive::Inbound, start),
            Keyword::Outbound => return self.primitive(Primitive::Outbound, start),
            Keyword::PppoeDiscovery => return self.primitive(Primitive::PppoeDiscovery, start),
            Keyword::WlanType | Keyword::WlanSubtype | Keyword::WlanDirection => {
                return self.wlan(keyword);
            }
            Keyword::Field(field) => return self.field(field),
            Keyword::Atm(kind) => return self.primitive(Primitive::Atm(kind), start),
            Keyword::Mtp2(kind) => return self.primitive(Primitive::Mtp2(kind), start),
            Keyword::Pf(field) => Primitive::Pf(field, self.pf_value(field)?),
            Keyword::Rnr => Primitive::Pf(Pf::Rule, self.pf_value(Pf::Rule)?),
            Keyword::Llc => return self.llc(),
            Keyword::Byte => return self.byte(),
            Keyword::Less => Primitive::Less(self.argument()?),
            Keyword::Greater => Primitive::Greater(self.argument()?),
            Keyword::IfIndex => Primitive::IfIndex(self.argument()?),
            Keyword::Vlan => Primitive::Vlan(self.optional_argument()?),
            Keyword::Mpls => Primitive::Mpls(self.optional_argument()?),
            Keyword::PppoeSession => Primitive::PppoeSession(self.optional_argument()?),
            Keyword::Geneve => Primitive::Geneve(self.optional_argument()?),
            Keyword::Vxlan => Primitive::Vxlan(self.optional_argument()?),
            _ => return Err(self.unexpected("a filter such as `tcp`, `host` or `port`")),
        };
        Ok(self.ast.push(Node::Primitive(primitive, start.to(self.previous))))
    }

    fn argument(&mut self) -> Result<u32> {
        self.advance()?;
        self.number("a number").map(|(number, _)| number)
    }

    /// A number, perhaps in parentheses, if there is one.
    fn optional_argument(&mut self) -> Result<Option<u32>> {
        self.advance()?;
        match self.token {
            Token::Number(_) | Token::Sign(Sign::Open) => self.enclosed_number().map(Some),
            _ => Ok(None),
        }
    }

    fn enclosed_number(&mut self) -> Result<u32> {
        let mut open = 0;
        while self.accept(Sign::Open)? {
            open += 1;
        }
        let (number, _) = self.number("a number")?;
        for _ in 0..open {
            self.expect(Sign::Close, "`)`")?;
        }
        Ok(number)
    }

    fn llc(&mut self) -> Result<NodeId> {
        let start = self.advance()?;
        match self.token {
            Token::Name(name) => self.primitive(Primitive::Llc(Some(name)), start),
            Token::Keyword(Keyword::Rnr) => self.primitive(Primitive::Llc(Some("rnr")), start),
            _ => Ok(self.ast.push(Node::Primitive(Primitive::Llc(None), start))),
        }
    }

    /// `byte N sign V`
    fn byte(&mut self) -> Result<NodeId> {
        let start = self.span;
        let index = self.argument()?;
        let test = match self.token {
            Token::Sign(Sign::Equal) => ByteTest::Equal,
            Token::Sign(Sign::Less) => ByteTest::Less,
            Token::Sign(Sign::Greater) => ByteTest::Greater,
            Token::Sign(Sign::Ampersand) => ByteTest::And,
            Token::Sign(Sign::Bar) => ByteTest::Or,
            _ => return Err(self.unexpected("`=`, `<`, `>`, `&` or `|`")),
        };
        self.advance()?;
        let (value, end) = self.number("a number")?;
        let byte = Primitive::Byte(index, test, value);
        Ok(self.ast.push(Node::Primitive(byte, start.to(end))))
    }

    /// A primitive whose last token is at hand.
    pub(super) fn primitive(&mut self, primitive: Primitive<'a>, start: Span) -> Result<NodeId> {
        let span = start.to(self.advance()?);
        Ok(self.ast.push(Node::Primitive(primitive, span)))
    }

    /// `type T`, `type T subtype S`, `subtype S` or `dir D`.
    pub(super) fn wlan(&mut self, keyword: Keyword) -> Result<NodeId> {
        let start = self.advance()?;
        let primitive = match keyword {
            Keyword::WlanType => {
                let kind = self.word("a type: mgt, ctl or data")?;
                let subtype = if self.token == Token::Keyword(Keyword::WlanSubtype) {
                    self.advance()?;
                    Some(self.word("a subtype such as beacon")?)
                } else {
                    None
                };
                Primitive::WlanType(kind, subtype)
            }
            Keyword::WlanSubtype => Primitive::WlanSubtype(self.name("a subtype such as beacon")?),
            _ => Primitive::WlanDirection(self.word("nods, tods, fromds or dstods")?),
        };
        Ok(self.ast.push(Node::Primitive(primitive, start.to(self.previous))))
    }

    fn name(&mut self, expected: &str) -> Result<&'a str> {
        let Token::Name(name) = self.token else {
            return Err(self.unexpected(expected));
        };
        self.advance()?;
        Ok(name)
    }

    fn word(&mut self, expected: &str) -> Result<Word<'a>> {
        match self.token {
            Token::Number(number) => {
                self.advance()?;
                Ok(Word::Number(number))
            }
            _ => self.name(expected).map(Word::Name),
        }
    }

    fn pf_value(&mut self, field: Pf) -> Result<Word<'a>> {
        self.advance()?;
        match field {
            Pf::Rule | Pf::SubRule => Ok(Word::Number(self.number("a rule's number")?.0)),
            Pf::Reason => self.word("a reason such as match"),
            Pf::Interface => self.name("an interface's name").map(Word::Name),
            Pf::Ruleset => self.name("a ruleset's name").map(Word::Name),
            Pf::Action => self.name("an action such as pass").map(Word::Name),
        }
    }

    /// `vpi 5`, `vpi > 5` or `vpi (5 or 6)`.
    fn field(&mut self, field: Field) -> Result<NodeId> {
        let start = self.advance()?;
        if self.accept(Sign::Open)? {
            let any = self.alternatives(field, start)?;
            self.expect(Sign::Close, "`or` or `)`")?;
            return Ok(any);
        }
        let relation = comparison(self.token);
        if relation.is_some() {
            self.advance()?;
        }
        self.compared(field, relation.unwrap_or(Relation::Equal), start)
    }

    fn alternatives(&mut self, field: Field, start: Span) -> Result<NodeId> {
        let first = self.compared(field, Relation::Equal, start)?;
        let mut rest = Vec::new();
        while self.accept(Sign::Or)? {
            rest.push((Connective::Or, self.compared(field, Relation::Equal, self.span)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.ast.push(Node::Chain { first, rest }))
    }

    fn compared(&mut self, field: Field, relation: Relation, start: Span) -> Result<NodeId> {
        let (number, end) = self.number("a number")?;
        let primitive = Primitive::Field(field, relation, number);
        Ok(self.ast.push(Node::Primitive(primitive, start.to(end))))
    }
}
