//! Tokens to tree.
//!
//! libpcap's grammar tells *terms* from *operands*. A term is complete in itself (`tcp port 80`,
//! `ip[0] = 5`, a parenthesised expression); an operand needs qualifiers (`80`, `1.2.3.4`, `not 80`,
//! `(80 or 443)`) and may stand only where it has some to take: after qualifiers, or after `and` or
//! `or`. A group of operands holds operands only, and may not begin with a group of operands:
//! `port (443 or (80 or 22))` is of the language, `port ((80 or 22) or 443)` is not.
//!
//! What a parenthesis opens, term, operands or arithmetic, shows only inside or even after it. So
//! one function parses them all, and its result says what it was.

use super::Span;
use super::arithmetic;
use super::ast::{
    ArithmeticId, Ast, ByteTest, Connective, Direction, Node, NodeId, Operand, OperandKind,
    Primitive, Qualifiers, Relation,
};
use super::lexer::Lexer;
use super::token::{Foreign, Keyword, Protocol, Sign, Token};
use crate::error::{Error, ErrorKind, Result};

/// How deep parentheses, brackets and operators may be nested.
pub(crate) const MAX_NESTING: u32 = 200;

/// Parses a whole expression.
pub(crate) fn parse(text: &str) -> Result<Ast<'_>> {
    let mut parser = Parser::new(text)?;
    if parser.token != Token::End {
        let parsed = parser.chain(Allow::TERMS)?;
        let root = parser.term(parsed)?;
        parser.ast.root = Some(root);
    }
    match parser.token {
        Token::End => Ok(parser.ast),
        _ => Err(parser.unexpected("`and`, `or` or the end")),
    }
}

/// What was parsed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parsed {
    Term(NodeId),
    Operand(NodeId),
    /// Operands in parentheses.
    Operands(NodeId),
    /// A number: an operand or arithmetic, whichever is wanted.
    Number(u32, Span),
    Arithmetic(ArithmeticId),
}

/// What may stand at a place.
#[derive(Clone, Copy, Debug)]
struct Allow {
    terms: bool,
    operands: bool,
}

impl Allow {
    const TERMS: Self = Self { terms: true, operands: false };
    const OPERANDS: Self = Self { terms: false, operands: true };
    const BOTH: Self = Self { terms: true, operands: true };
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    pub(super) ast: Ast<'a>,
    pub(super) token: Token<'a>,
    pub(super) span: Span,
    previous: Span,
    nesting: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let (token, span) = lexer.next_token()?;
        Ok(Self { lexer, ast: Ast::default(), token, span, previous: span, nesting: 0 })
    }

    /// Moves on; the span of the token that was at hand.
    pub(super) fn advance(&mut self) -> Result<Span> {
        self.previous = self.span;
        (self.token, self.span) = self.lexer.next_token()?;
        Ok(self.previous)
    }

    /// The token after the one at hand.
    fn peek(&self) -> Result<Token<'a>> {
        self.lexer.clone().next_token().map(|(token, _)| token)
    }

    pub(super) fn accept(&mut self, sign: Sign) -> Result<bool> {
        let found = self.token == Token::Sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, sign: Sign, expected: &str) -> Result<Span> {
        if self.token == Token::Sign(sign) {
            self.advance()
        } else {
            Err(self.unexpected(expected))
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        let found = match self.token {
            Token::End => "the expression ends here",
            _ => "this does not belong here",
        };
        Error::syntax(format!("syntax error: {found}"), self.span).expected(expected)
    }

    fn foreign(&self, foreign: Foreign) -> Error {
        let word = self.lexer.text(self.span);
        let message =
            format!("'{word}' is only for {foreign}, for which filters are not supported yet");
        Error::unsupported(message, self.span)
    }

    /// Runs `inner` one level deeper.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            return Err(self.too_deep(MAX_NESTING));
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    pub(super) fn too_deep(&self, limit: u32) -> Error {
        let message = format!("nested deeper than {limit} levels");
        Error::at(ErrorKind::Limit, message, self.span)
    }

    /// `first (and|or next)*`
    fn chain(&mut self, allow: Allow) -> Result<Parsed> {
        let first = self.negatable(allow)?;
        let mut rest = Vec::new();
        while let Some(connective) = self.connective() {
            let follow = self.check_follow(first)?;
            self.advance()?;
            let next = self.negatable(follow)?;
            rest.push((connective, self.term_or_operand(next)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let is_term = matches!(first, Parsed::Term(_));
        let first = self.term_or_operand(first)?;
        let chain = self.ast.push(Node::Chain { first, rest });
        Ok(if is_term { Parsed::Term(chain) } else { Parsed::Operand(chain) })
    }

    fn connective(&self) -> Option<Connective> {
        match self.token {
            Token::Sign(Sign::And) => Some(Connective::And),
            Token::Sign(Sign::Or) => Some(Connective::Or),
            _ => None,
        }
    }

    /// What may follow `and` or `or` after `first`.
    fn check_follow(&self, first: Parsed) -> Result<Allow> {
        match first {
            Parsed::Term(_) => Ok(Allow::BOTH),
            Parsed::Operand(_) | Parsed::Number(..) => Ok(Allow::OPERANDS),
            Parsed::Operands(_) => Err(self.unexpected("`)`")),
            Parsed::Arithmetic(_) => Err(self.unexpected("`=`, `<` or another comparison")),
        }
    }

    /// Any number of `not` before one thing.
    fn negatable(&mut self, allow: Allow) -> Result<Parsed> {
        let mut negations = 0;
        while self.accept(Sign::Not)? {
            negations += 1;
        }
        let parsed = self.unit(allow)?;
        if negations == 0 {
            return Ok(parsed);
        }
        let is_term = matches!(parsed, Parsed::Term(_));
        let mut node = self.term_or_operand(parsed)?;
        // An even number cancels out, whatever the operand does.
        if negations % 2 == 1 {
            node = self.ast.push(Node::Not(node));
        }
        Ok(if is_term { Parsed::Term(node) } else { Parsed::Operand(node) })
    }

    fn unit(&mut self, allow: Allow) -> Result<Parsed> {
        let parsed = match self.token {
            Token::Sign(Sign::Open) => self.group(allow)?,
            Token::Number(number) => Parsed::Number(number, self.advance()?),
            Token::Sign(Sign::Minus) | Token::Keyword(Keyword::Len) if allow.terms => {
                Parsed::Arithmetic(arithmetic::expression(self)?)
            }
            Token::Keyword(Keyword::Protocol(protocol)) if allow.terms => {
                self.protocol(protocol)?
            }
            Token::Keyword(Keyword::Foreign(foreign)) if allow.terms => {
                return Err(self.foreign(foreign));
            }
            Token::Keyword(keyword) if allow.terms => Parsed::Term(self.keyword(keyword)?),
            _ if allow.operands => Parsed::Operand(self.operand()?),
            _ => return Err(self.unexpected("a filter such as `tcp`, `host` or `port`")),
        };
        if allow.terms { self.relation(parsed) } else { Ok(parsed) }
    }

    fn group(&mut self, allow: Allow) -> Result<Parsed> {
        self.advance()?;
        let inner = self.nested(|parser| parser.chain(allow))?;
        self.expect(Sign::Close, "`)`")?;
        match inner {
            Parsed::Term(node) => Ok(Parsed::Term(self.ast.push(Node::Group(node)))),
            Parsed::Operand(node) => Ok(Parsed::Operands(node)),
            Parsed::Operands(_) => Err(self.unexpected("no parentheses around parentheses")),
            Parsed::Number(..) | Parsed::Arithmetic(_) => Ok(inner),
        }
    }

    /// The rest of a relation, if `first` begins one.
    fn relation(&mut self, first: Parsed) -> Result<Parsed> {
        let left = match first {
            Parsed::Number(number, span) if arithmetic::continues(self.token) => {
                arithmetic::number(self, number, span)
            }
            Parsed::Arithmetic(left) => left,
            _ => return Ok(first),
        };
        let left = arithmetic::continue_from(self, left)?;
        let Some(relation) = comparison(self.token) else {
            return Ok(Parsed::Arithmetic(left));
        };
        self.advance()?;
        let right = arithmetic::expression(self)?;
        Ok(Parsed::Term(self.ast.push(Node::Relation { relation, left, right })))
    }

    fn term(&mut self, parsed: Parsed) -> Result<NodeId> {
        match parsed {
            Parsed::Term(node) => Ok(node),
            Parsed::Number(_, span) => Err(unqualified(span)),
            Parsed::Arithmetic(_) => Err(self.unexpected("`=`, `<` or another comparison")),
            Parsed::Operand(_) | Parsed::Operands(_) => Err(self.unexpected("a filter")),
        }
    }

    fn term_or_operand(&mut self, parsed: Parsed) -> Result<NodeId> {
        match parsed {
            Parsed::Term(node) | Parsed::Operand(node) | Parsed::Operands(node) => Ok(node),
            Parsed::Number(number, span) => {
                Ok(self.ast.push(Node::Operand(Operand::Number(number), span)))
            }
            Parsed::Arithmetic(_) => Err(self.unexpected("`=`, `<` or another comparison")),
        }
    }

    /// What begins with a protocol's name.
    fn protocol(&mut self, protocol: Protocol) -> Result<Parsed> {
        if self.peek()? == Token::Sign(Sign::OpenBracket) {
            return Ok(Parsed::Arithmetic(arithmetic::expression(self)?));
        }
        let span = self.advance()?;
        match self.token {
            Token::Keyword(keyword) if starts_qualifiers(keyword) => {
                self.qualified(Some(protocol), span).map(Parsed::Term)
            }
            Token::Keyword(Keyword::Broadcast) => {
                self.primitive(Primitive::Broadcast(Some(protocol)), span).map(Parsed::Term)
            }
            Token::Keyword(Keyword::Multicast) => {
                self.primitive(Primitive::Multicast(Some(protocol)), span).map(Parsed::Term)
            }
            Token::Keyword(Keyword::Foreign(foreign)) => Err(self.foreign(foreign)),
            _ => Ok(Parsed::Term(self.ast.push(Node::Protocol(protocol, span)))),
        }
    }

    /// A primitive whose last token is at hand.
    fn primitive(&mut self, primitive: Primitive<'a>, start: Span) -> Result<NodeId> {
        let span = start.to(self.advance()?);
        Ok(self.ast.push(Node::Primitive(primitive, span)))
    }

    /// `dir type operand`, the protocol already read.
    fn qualified(&mut self, protocol: Option<Protocol>, start: Span) -> Result<NodeId> {
        let direction = self.direction()?;
        let kind = self.kind(direction.is_some())?;
        let span = start.to(self.previous);
        let qualifiers = Qualifiers { protocol, direction, kind, span };
        let parsed = self.negatable(Allow::OPERANDS)?;
        let operand = self.term_or_operand(parsed)?;
        Ok(self.ast.push(Node::Qualified(qualifiers, operand)))
    }

    fn direction(&mut self) -> Result<Option<Direction>> {
        let (one, other) = match self.token {
            Token::Keyword(Keyword::Src) => (Direction::Source, Keyword::Dst),
            Token::Keyword(Keyword::Dst) => (Direction::Destination, Keyword::Src),
            _ => return Ok(None),
        };
        self.advance()?;
        let both = match self.connective() {
            Some(Connective::And) => Direction::Both,
            Some(Connective::Or) => Direction::Either,
            None => return Ok(Some(one)),
        };
        self.advance()?;
        if self.token != Token::Keyword(other) {
            return Err(self.unexpected("the other of `src` and `dst`"));
        }
        self.advance()?;
        Ok(Some(both))
    }

    fn kind(&mut self, directed: bool) -> Result<Option<OperandKind>> {
        let kind = match self.token {
            Token::Keyword(Keyword::Host) => OperandKind::Host,
            Token::Keyword(Keyword::Net) => OperandKind::Net,
            Token::Keyword(Keyword::Port) => OperandKind::Port,
            Token::Keyword(Keyword::PortRange) => OperandKind::PortRange,
            Token::Keyword(Keyword::Proto) if !directed => OperandKind::Protocol,
            Token::Keyword(Keyword::ProtoChain) if !directed => OperandKind::ProtocolChain,
            Token::Keyword(Keyword::Gateway) if !directed => OperandKind::Gateway,
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(kind))
    }

    fn operand(&mut self) -> Result<NodeId> {
        let start = self.span;
        let operand = match self.token {
            Token::Name(name) => Operand::Name(name),
            Token::Dotted(address) => return self.dotted(address),
            Token::Ipv6(address) => return self.ipv6(address),
            Token::Ethernet(address) => Operand::Ethernet(address),
            Token::Arcnet => Operand::Arcnet,
            Token::Keyword(_) => {
                let hint = "a name, number or address; write \\ before a name that is a keyword";
                return Err(self.unexpected(hint));
            }
            _ => return Err(self.unexpected("a name, number or address")),
        };
        self.advance()?;
        Ok(self.ast.push(Node::Operand(operand, start)))
    }

    fn dotted(&mut self, address: &'a str) -> Result<NodeId> {
        let start = self.advance()?;
        let (operand, end) = if self.accept(Sign::Slash)? {
            let (length, end) = self.number("a prefix length")?;
            (Operand::Prefix(address, length), end)
        } else if self.token == Token::Keyword(Keyword::Mask) {
            self.advance()?;
            let Token::Dotted(mask) = self.token else {
                return Err(self.unexpected("a mask such as 255.255.0.0"));
            };
            (Operand::Masked(address, mask), self.advance()?)
        } else {
            (Operand::Dotted(address), start)
        };
        Ok(self.ast.push(Node::Operand(operand, start.to(end))))
    }

    fn ipv6(&mut self, address: std::net::Ipv6Addr) -> Result<NodeId> {
        let start = self.advance()?;
        let (operand, end) = if self.accept(Sign::Slash)? {
            let (length, end) = self.number("a prefix length")?;
            (Operand::Ipv6Prefix(address, length), end)
        } else {
            (Operand::Ipv6(address), start)
        };
        Ok(self.ast.push(Node::Operand(operand, start.to(end))))
    }

    pub(super) fn number(&mut self, expected: &str) -> Result<(u32, Span)> {
        match self.token {
            Token::Number(number) => Ok((number, self.advance()?)),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A term that begins with a keyword other than a protocol.
    fn keyword(&mut self, keyword: Keyword) -> Result<NodeId> {
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
            Keyword::Rnr => return Err(self.foreign(Foreign::Pf)),
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
}

/// The error of an operand to which no qualifiers belong.
pub(crate) fn unqualified(span: Span) -> Error {
    Error::syntax("syntax error: nothing says what this is", span)
        .expected("`host`, `port` or another qualifier before it")
}

fn starts_qualifiers(keyword: Keyword) -> bool {
    use Keyword::{Dst, Gateway, Host, Net, Port, PortRange, Proto, ProtoChain, Src};
    matches!(keyword, Src | Dst | Host | Net | Port | PortRange | Proto | ProtoChain | Gateway)
}

fn comparison(token: Token<'_>) -> Option<Relation> {
    match token {
        Token::Sign(Sign::Equal) => Some(Relation::Equal),
        Token::Sign(Sign::NotEqual) => Some(Relation::NotEqual),
        Token::Sign(Sign::Greater) => Some(Relation::Greater),
        Token::Sign(Sign::GreaterEqual) => Some(Relation::GreaterEqual),
        Token::Sign(Sign::Less) => Some(Relation::Less),
        Token::Sign(Sign::LessEqual) => Some(Relation::LessEqual),
        _ => None,
    }
}

pub(super) fn is_comparison(token: Token<'_>) -> bool {
    comparison(token).is_some()
}
