//! Any text as a filter: no panic, an error with a place or a program; and what compiles says of any
//! packet, optimised or not, what the expression means.
//!
//! The first byte chooses the link type, the second how many of the others are the expression.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_bpf::classic::Input;
use linerate_filter::{Filter, Hermetic, Options, Verdict, compile, link_types};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[link, length], rest)) = bytes.split_first_chunk() else { return };
    let Some((expression, packet)) = rest.split_at_checked(length.into()) else { return };
    let Ok(expression) = str::from_utf8(expression) else { return };
    let Some(link_type) = link_types().nth(usize::from(link) % link_types().len()) else { return };
    let plain = Options { optimise: false, ..Options::new(link_type, &Hermetic) };
    let optimised = Options { optimise: true, ..plain };
    match (compile(expression, &plain), compile(expression, &optimised)) {
        (Ok(plain), Ok(optimised)) => agree(&plain, &optimised, packet),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        (one, other) => panic!("{expression}: {:?}, {:?}", one.err(), other.err()),
    }
});

fn agree(plain: &Filter, optimised: &Filter, packet: &[u8]) {
    for end in 0..=packet.len() {
        let input = Input { length: packet.len() as u32, ..Input::whole(&packet[..end]) };
        let meant = plain.evaluate(&input) == Verdict::True;
        assert_eq!(plain.program().run(&input) != 0, meant);
        assert_eq!(optimised.program().run(&input) != 0, meant);
    }
}
