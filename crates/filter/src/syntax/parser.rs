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
    ArithmeticId, Ast, Connective, Direction, Node, NodeId, Operand, OperandKind, Primitive,
    Qualifiers, Relation,
};
use super::lexer::Lexer;
use super::token::{Keyword, Protocol, Sign, Token};
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
    pub(super) previous: Span,
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
            Token::Keyword(
                keyword @ (Keyword::WlanType | Keyword::WlanSubtype | Keyword::WlanDirection),
            ) => self.wlan(keyword).map(Parsed::Term),
            _ => Ok(Parsed::Term(self.ast.push(Node::Protocol(protocol, span)))),
        }
    }

    /// `dir type operand`, the protocol already read.
    pub(super) fn qualified(&mut self, protocol: Option<Protocol>, start: Span) -> Result<NodeId> {
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
            Token::Keyword(Keyword::Wlan(address)) => {
                self.advance()?;
                return Ok(Some(Direction::Wlan(address)));
            }
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
            Token::Arcnet(address) => Operand::Arcnet(address),
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
}

/// The error of an operand to which no qualifiers belong.
pub(crate) fn unqualified(span: Span) -> Error {
    Error::syntax("syntax error: nothing says what this is", span)
        .expected("`host`, `port` or another qualifier before it")
}

pub(super) fn starts_qualifiers(keyword: Keyword) -> bool {
    use Keyword::{Dst, Gateway, Host, Net, Port, PortRange, Proto, ProtoChain, Src};
    matches!(keyword, Src | Dst | Host | Net | Port | PortRange | Proto | ProtoChain | Gateway)
        || matches!(keyword, Keyword::Wlan(_))
}

pub(super) fn comparison(token: Token<'_>) -> Option<Relation> {
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
