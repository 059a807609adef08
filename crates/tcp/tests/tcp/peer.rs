//! Servers: smoltcp's sockets, which know nothing of our code.

use std::cell::Cell;
use std::collections::VecDeque;

use linerate_base::Timestamp;
use linerate_tcp::frame::ETHERNET;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

/// Bytes of a request before its filling: length of the answer, length of the request, whether it is the last.
pub(crate) const REQUEST: usize = 9;

/// The byte at `index` of the stream with this number.
pub(crate) fn byte(stream: u32, index: u32) -> u8 {
    (index.wrapping_add(stream.wrapping_mul(77)).wrapping_mul(2_654_435_761) >> 23) as u8
}

thread_local! {
    static CLOCK: Cell<u32> = const { Cell::new(0) };
}

/// Servers at one address, which answer each request with as many bytes as it asks for.
pub(crate) struct Servers {
    interface: Interface,
    sockets: SocketSet<'static>,
    wire: Wire,
    sessions: Vec<Session>,
}

struct Session {
    handle: SocketHandle,
    request: Vec<u8>,
    /// What is still to be sent, and how much was.
    answer: u32,
    sent: u32,
    closes: bool,
}

/// Packets that came and packets to go.
#[derive(Default)]
struct Wire {
    came: VecDeque<Vec<u8>>,
    goes: VecDeque<Vec<u8>>,
}

impl Servers {
    pub(crate) fn new(six: bool, count: usize, buffer: usize, stamps: bool) -> Self {
        let mut wire = Wire::default();
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        let address = if six {
            IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2)
        } else {
            IpAddress::v4(10, 0, 0, 2)
        };
        interface.update_ip_addrs(|all| all.push(IpCidr::new(address, 8)).unwrap());
        let mut sockets = SocketSet::new(vec![]);
        let mut add = |_| {
            let buffer = || tcp::SocketBuffer::new(vec![0; buffer]);
            let mut socket = tcp::Socket::new(buffer(), buffer());
            if stamps {
                socket.set_tsval_generator(Some(|| CLOCK.get()));
            }
            let handle = sockets.add(socket);
            Session { handle, request: vec![], answer: 0, sent: 0, closes: false }
        };
        let sessions = (0..count).map(&mut add).collect();
        Self { interface, sockets, wire, sessions }
    }

    /// Takes a frame that came.
    pub(crate) fn push(&mut self, frame: &[u8]) {
        self.wire.came.extend(frame.get(ETHERNET..).map(<[u8]>::to_vec));
    }

    /// The next frame to go.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let packet = self.wire.goes.pop_front()?;
        let ether_type: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        Some([&[2; 12][..], &ether_type, &packet].concat())
    }

    /// Lets it do what is to be done. It is `now`.
    pub(crate) fn poll(&mut self, now: Timestamp) {
        let millis = now.nanos() / 1_000_000;
        CLOCK.set(millis as u32);
        let now = Instant::from_millis(millis);
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        for session in &mut self.sessions {
            session.serve(self.sockets.get_mut(session.handle));
        }
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
    }
}

impl Session {
    fn serve(&mut self, socket: &mut tcp::Socket<'_>) {
        if !socket.is_open() {
            socket.listen(80).unwrap();
            (self.request, self.answer, self.sent, self.closes) = (vec![], 0, 0, false);
        }
        while socket.can_recv() {
            let mut buffer = [0; 512];
            let count = socket.recv_slice(&mut buffer).unwrap();
            self.request.extend(&buffer[..count]);
        }
        self.heed();
        while self.answer > 0 && socket.can_send() {
            let part: Vec<u8> =
                (0..self.answer.min(1_000)).map(|n| byte(0, self.sent + n)).collect();
            let count = socket.send_slice(&part).unwrap() as u32;
            (self.answer, self.sent) = (self.answer - count, self.sent + count);
        }
        let peer_is_done = socket.state() == tcp::State::CloseWait;
        if self.answer == 0 && (self.closes || peer_is_done) {
            socket.close();
        }
    }

    /// Heeds a request that is whole, and holds it to what was sent.
    fn heed(&mut self) {
        let Some(head) = self.request.first_chunk::<REQUEST>() else { return };
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let (answer, length, closes) = (number(0), number(4) as usize, head[8] == 1);
        if self.request.len() < length {
            return;
        }
        let request: Vec<u8> = self.request.drain(..length).collect();
        for (index, found) in request.iter().enumerate().skip(REQUEST) {
            assert_eq!(*found, byte(1, index as u32), "of a request of {length} bytes, {index}");
        }
        self.answer += answer;
        self.closes = closes;
    }
}

impl Device for Wire {
    type RxToken<'a> = Came;
    type TxToken<'a> = Goes<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Came, Goes<'_>)> {
        let packet = self.came.pop_front()?;
        Some((Came(packet), Goes(&mut self.goes)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Goes<'_>> {
        Some(Goes(&mut self.goes))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        // With timestamps smoltcp sends segments that are longer than MSS allows.
        capabilities.max_transmission_unit = 1600;
        capabilities.checksum = ChecksumCapabilities::default();
        capabilities
    }
}

struct Came(Vec<u8>);

impl RxToken for Came {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Goes<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Goes<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut packet = vec![0; length];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
