//! Layers in their places: which bytes are whose, and what was said about them.

use super::error::{Error, Result};
use super::layers::{self, Carrier, Field, Kind, Layer, Role};
use super::syntax::{Argument, Call, Place, Value, ValueKind};
use super::values::{Reader, Values};
use super::{options, question};
use crate::blocklist::Blocklist;
use crate::space::{Space, Span};

/// A layer of the packet.
pub(super) struct Placed {
    pub(super) layer: &'static Layer,
    /// Of its name in the expression.
    pub(super) place: Place,
    /// Where it begins in the frame.
    pub(super) at: usize,
    /// What follows its header and belongs to it.
    pub(super) tail: Vec<u8>,
    /// How long the tail becomes, with zeroes, or which of `tails` is taken; the tail is padded to the longest.
    pub(super) sizes: Option<Values>,
    /// Tails that take turns.
    pub(super) tails: Vec<Vec<u8>>,
    /// The fields that were given.
    pub(super) given: Vec<(&'static Field, Values)>,
}

impl Placed {
    /// Where the next layer begins.
    pub(super) fn end(&self) -> usize {
        self.at + self.layer.length + self.tail.len()
    }

    /// What was given for `field`.
    pub(super) fn values(&self, field: &str) -> Option<&Values> {
        self.given.iter().find(|(given, _)| given.name == field).map(|(_, values)| values)
    }

    /// The name of one of its fields, for people.
    pub(super) fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.layer.name)
    }
}

/// The layers of an expression, each behind the one before; an Ethernet header is put in front where
/// there is none.
pub(super) fn place(calls: &[Call], blocklist: &Blocklist) -> Result<Vec<Placed>> {
    let mut placed: Vec<Placed> = Vec::new();
    for call in calls {
        let layer = find(call)?;
        if placed.is_empty() && layer.name != "Ether" {
            placed.push(ethernet(layer, call)?);
        }
        if let Some(below) = placed.last() {
            check_order(below, layer, call)?;
        }
        let next = one(layer, call, &placed, blocklist)?;
        placed.push(next);
    }
    Ok(placed)
}

fn find(call: &Call) -> Result<&'static Layer> {
    layers::find(&call.name).ok_or_else(|| {
        let advice = match layers::similar(&call.name) {
            Some(similar) => format!("did you mean {similar}?"),
            None => format!("the layers are {}", layers::names()),
        };
        Error::at(&call.place, format!("there is no layer `{}`", call.name)).advise(advice)
    })
}

fn ethernet(first: &Layer, call: &Call) -> Result<Placed> {
    if !first.numbers.iter().any(|(carrier, _)| *carrier == Carrier::Link) {
        let message = format!("{} cannot be the first layer", first.name);
        let advice = format!("put a layer in front that carries it: IP()/{}()", first.name);
        return Err(Error::at(&call.place, message).advise(advice));
    }
    let ether = Call { name: "Ether".into(), place: call.place.clone(), arguments: Vec::new() };
    one(find(&ether)?, &ether, &[], &Blocklist::default())
}

fn check_order(below: &Placed, layer: &Layer, call: &Call) -> Result<()> {
    let carrier = below.layer.role.carrier();
    let is_carried = |(by, _): &(Carrier, u64)| *by == carrier || *by == Carrier::Any;
    if layer.numbers.iter().any(is_carried) {
        return Ok(());
    }
    let message = format!("{} cannot follow {}", layer.name, below.layer.name);
    let advice = "layers go from the outermost in: Ether()/IP()/TCP()/Raw()";
    Err(Error::at(&call.place, message).advise(advice))
}

fn one(
    layer: &'static Layer,
    call: &Call,
    below: &[Placed],
    blocklist: &Blocklist,
) -> Result<Placed> {
    let at = below.last().map_or(0, Placed::end);
    let place = call.place.clone();
    let (tail, tails, given) = (Vec::new(), Vec::new(), Vec::new());
    let mut placed = Placed { layer, place, at, tail, sizes: None, tails, given };
    let network = below.iter().find(|p| matches!(p.layer.role, Role::Ipv4 | Role::Ipv6));
    let headers = at - network.map_or(at, |network| network.at);
    let mut seen: Vec<&str> = Vec::new();
    for argument in &call.arguments {
        let field = field(layer, argument)?;
        if seen.contains(&field.name) {
            let message = format!("{} is given twice", placed.path(field.name));
            return Err(Error::at(&argument.value.place, message));
        }
        seen.push(field.name);
        take(&mut placed, field, &argument.value, headers, blocklist)?;
    }
    if layer.name == "DNS" && placed.tail.is_empty() {
        ask(&mut placed, question::read(None)?, call.place.clone());
    }
    if below.iter().any(|p| p.sizes.is_some()) {
        let message = "a layer of varying size must be the last";
        return Err(Error::at(&call.place, message));
    }
    pad(&mut placed)?;
    Ok(placed)
}

fn field(layer: &'static Layer, argument: &Argument) -> Result<&'static Field> {
    let known = || {
        let names: Vec<_> = layer.fields.iter().map(|field| field.name).collect();
        format!("its fields are {}", names.join(", "))
    };
    let Some((name, place)) = &argument.name else {
        let only = layer.fields.first().filter(|field| matches!(field.kind, Kind::Bytes));
        let message = format!("{} takes its fields by name", layer.name);
        return only.ok_or_else(|| Error::at(&argument.value.place, message).advise(known()));
    };
    layer.fields.iter().find(|field| field.name == name).ok_or_else(|| {
        Error::at(place, format!("{} has no field `{name}`", layer.name)).advise(known())
    })
}

fn take(
    placed: &mut Placed,
    field: &'static Field,
    value: &Value,
    headers: usize,
    blocklist: &Blocklist,
) -> Result<()> {
    match field.kind {
        Kind::Bytes => placed.tail = bytes(&placed.path(field.name), value)?,
        Kind::Options => placed.tail = options::encode(value)?,
        Kind::Question => ask(placed, question::read(Some(value))?, value.place.clone()),
        kind => {
            let path = placed.path(field.name);
            let values = Reader { path: &path, field, headers, blocklist }.read(value)?;
            match kind {
                Kind::Size => placed.sizes = Some(values),
                _ => placed.given.push((field, values)),
            }
        }
    }
    Ok(())
}

/// One question is the tail; of several, each is in turn.
fn ask(placed: &mut Placed, questions: question::Questions, place: Place) {
    let longest = questions.encoded.iter().map(Vec::len).max().unwrap_or_default();
    if let [only] = questions.encoded.as_slice() {
        placed.tail.clone_from(only);
        return;
    }
    placed.tail = vec![0; longest];
    let last = questions.encoded.len() as u128 - 1;
    let space = Space::new(&[Span { first: 0, last }]);
    placed.sizes = Some(Values { space, walk: questions.walk, place });
    placed.tails = questions.encoded;
}

fn bytes(path: &str, value: &Value) -> Result<Vec<u8>> {
    match &value.kind {
        ValueKind::Text(text) => Ok(text.clone()),
        _ => Err(Error::at(&value.place, format!("{path} is text in quotes"))),
    }
}

/// Makes the tail as long as the longest size asked for; a single size is then no variation.
fn pad(placed: &mut Placed) -> Result<()> {
    let Some(sizes) = placed.sizes.as_ref().filter(|_| placed.tails.is_empty()) else {
        return Ok(());
    };
    let smallest = sizes.space.spans().iter().map(|span| span.first).min().unwrap_or_default();
    if smallest < placed.tail.len() as u128 {
        let message = format!("the load has {} bytes, more than this", placed.tail.len());
        return Err(Error::at(&sizes.place, message));
    }
    placed.tail.resize(sizes.space.largest().unwrap_or_default() as usize, 0);
    if sizes.space.count() == 1 {
        placed.sizes = None;
    }
    Ok(())
}
