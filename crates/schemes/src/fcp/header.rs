//! The congestion header (§4.1, "Header"): RTT, price, preload, balance, and what the network
//! policies add.

use midpath_core::packet::{Header, Packet, shim_size};

use super::equations;

/// What a price never exceeds, in $/byte. Ours: far above any price that budgets on real links
/// make, far below overflow of the sums that prices enter.
pub const MAX_PRICE: f64 = 1e15;

/// The longest round-trip time that is believed, in seconds. Ours: a minute; a router keeps its
/// prices about as long.
pub const MAX_RTT: f64 = 60.0;

/// The shortest, but for 0, which says that it is unknown: what is announced is divided by it.
/// Ours: 200 m of fibre there and back.
pub const MIN_RTT: f64 = 1e-6;

/// The largest preload that is believed; the least is −1, for nobody takes back more than it pays
/// (§4.1). Ours: a dollar a second from the minimum price is 10^13 (§4.1, start-up).
pub const MAX_PRELOAD: f64 = 1e18;

/// How much or little a unit of one currency is worth in another at most. Ours: far beyond any two
/// budgets on real links.
pub const MAX_EXCHANGE: f64 = 1e12;

/// What kind of service a packet asks for (§4.2: "we assume routers can easily classify packets").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Class {
    /// The price of everybody.
    #[default]
    Normal = 0,
    /// A price that changes slowly (§4.2, bandwidth stability).
    Stability = 1,
    /// A fixed price if the desired rate is admitted (§4.2, D³-style deadlines).
    Deadline = 2,
    /// The priority service, at a multiple of the price (§4.2, Paris Metro Pricing).
    Priority = 3,
}

impl Class {
    #[inline]
    fn of(byte: u8) -> Option<Class> {
        Some(match byte {
            0 => Class::Normal,
            1 => Class::Stability,
            2 => Class::Deadline,
            3 => Class::Priority,
            _ => return None,
        })
    }
}

/// FCP's header on a data packet, or its echo on an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FcpHeader {
    /// The flow's current round-trip time in seconds; 0 while it is unknown, on a SYN.
    pub rtt: f32,
    /// The sum of the prices of the links so far, $/byte.
    pub price: f32,
    /// By how much the flow will spend more in the next round, in multiples of what this packet
    /// pays.
    pub preload: f32,
    /// The price that the sender pays for this packet: the last one it was told, $/byte. On a SYN,
    /// what its flow may spend at first, $/s (ours).
    pub balance: f32,
    /// What the links so far have charged against the balance, each its own price one round trip
    /// ago, $/byte (§5).
    pub charged: f32,
    /// EX (§4.3): what a unit of the sender's currency is worth where the packet is.
    pub exchange: f32,
    /// What the sender calls this packet; the echo names the packet that it answers.
    pub nonce: u32,
    /// The group of flows whose currency the prices are in (§4.3).
    pub tenant: u16,
    /// The service asked for; on an echo, the service given.
    pub class: Class,
    /// It is the echo on an acknowledgement.
    pub echo: bool,
    /// On an echo: an edge drops this sender's packets, for it pays too little (§5).
    pub refused: bool,
    /// The multicast tree that it goes down, or whose echo it is (§4.2): the number of the group of
    /// flows, plus 1; 0 for none. Only packets on trees have it on the wire, as four bytes more.
    pub tree: u32,
}

/// Bytes that the header takes on the wire, in its shim; and with a tree.
pub const WIRE: u32 = shim_size(BODY as u32);
/// The same on packets of multicast trees.
pub const WIRE_TREE: u32 = shim_size((BODY + TREE) as u32);

/// Where what ports change and the flags stand in the body.
const PRICE: usize = 4;
const CHARGED: usize = 16;
const EXCHANGE: usize = 20;
const CLASS: usize = 30;
const FLAGS: usize = 31;
/// Bytes of the body without a tree, and of the tree.
const BODY: usize = 32;
const TREE: usize = 4;

impl Header for FcpHeader {
    const TAG: u8 = 3;

    fn body_len(&self) -> usize {
        if self.tree == 0 { BODY } else { BODY + TREE }
    }

    #[inline]
    fn put(&self, out: &mut [u8]) {
        // Of a length that is known: else each number is checked for room.
        let (body, tree) = out.split_first_chunk_mut::<BODY>().expect("as long as `body_len` says");
        let words = [self.rtt, self.price, self.preload, self.balance, self.charged, self.exchange];
        for (i, word) in words.iter().enumerate() {
            body[4 * i..4 * i + 4].copy_from_slice(&word.to_be_bytes());
        }
        body[24..28].copy_from_slice(&self.nonce.to_be_bytes());
        body[28..30].copy_from_slice(&self.tenant.to_be_bytes());
        body[CLASS] = self.class as u8;
        body[FLAGS] = u8::from(self.echo) | u8::from(self.refused) << 1;
        if self.tree != 0 {
            tree.copy_from_slice(&self.tree.to_be_bytes());
        }
    }

    #[inline(always)] // so that what a caller does not look at is not put together
    fn get(body: &[u8]) -> Option<FcpHeader> {
        let (bytes, tree) = body.split_first_chunk::<BODY>()?;
        let tree = match tree {
            [] => 0,
            // A tree that is none is said by leaving it out.
            _ => u32::from_be_bytes(tree.try_into().ok()?).checked_sub(1)? + 1,
        };
        let word = |i: usize| f32::from_be_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        let (echo, refused) = match bytes[FLAGS] {
            0 => (false, false),
            1 => (true, false),
            3 => (true, true),
            _ => return None,
        };
        let header = FcpHeader {
            rtt: word(0),
            price: word(1),
            preload: word(2),
            balance: word(3),
            charged: word(4),
            exchange: word(5),
            nonce: u32::from_be_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]),
            tenant: u16::from_be_bytes([bytes[28], bytes[29]]),
            class: Class::of(bytes[CLASS])?,
            echo,
            refused,
            tree,
        };
        if header.sane() { Some(header) } else { None }
    }
}

/// An echo as the bytes that it has on the wire: those of the header that it answers, but for a flag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Echo {
    body: [u8; BODY],
    tree: Option<[u8; TREE]>,
}

impl Header for Echo {
    const TAG: u8 = FcpHeader::TAG;

    #[inline]
    fn body_len(&self) -> usize {
        BODY + self.tree.map_or(0, |_| TREE)
    }

    #[inline]
    fn put(&self, out: &mut [u8]) {
        let (body, tree) = out.split_first_chunk_mut::<BODY>().expect("as long as `body_len` says");
        *body = self.body;
        if let Some(of_tree) = &self.tree {
            tree.copy_from_slice(of_tree);
        }
    }

    /// Of any valid header of ours.
    #[inline(always)]
    fn get(body: &[u8]) -> Option<Echo> {
        FcpHeader::get(body)?;
        let (bytes, tree) = body.split_first_chunk::<BODY>()?;
        let mut echo = Echo { body: *bytes, tree: tree.try_into().ok() };
        echo.body[FLAGS] |= 1;
        Some(echo)
    }
}

/// [`FcpHeader::sane`], by comparing numbers. Of numbers, so that no header need be in memory.
#[cold]
#[inline(never)]
fn sane_in_full(rtt: f32, price: f32, preload: f32, balance: f32, charged: f32, exchange: f32) -> bool {
    let within = |x: f32, least: f64, most: f64| (f64::from(x) >= least) & (f64::from(x) <= most);
    ((rtt == 0.0) | within(rtt, MIN_RTT, MAX_RTT))
        & within(price, 0.0, MAX_PRICE)
        & within(balance, 0.0, MAX_PRICE)
        & within(charged, 0.0, MAX_PRICE)
        & within(preload, -1.0, MAX_PRELOAD)
        & (exchange >= (1.0 / MAX_EXCHANGE) as f32)
        & (exchange <= MAX_EXCHANGE as f32)
}

impl FcpHeader {
    /// Whether every number is one that an honest end or router could have written. Each port asks, and
    /// hardly any header is wrong.
    #[inline(always)]
    fn sane(&self) -> bool {
        let FcpHeader { rtt, price, preload, balance, charged, exchange, .. } = *self;
        self.usual() || sane_in_full(rtt, price, preload, balance, charged, exchange)
    }

    /// Whether every number is one that most packets have, by its bits: those of positive numbers are in the
    /// numbers' order. Half of the instructions of a comparison of numbers.
    #[inline(always)]
    fn usual(&self) -> bool {
        const fn bits(x: f64) -> u32 {
            (x as f32).to_bits()
        }
        const MOST: u32 = bits(MAX_PRICE) - 1; // whichever way that was rounded
        const RTT: (u32, u32) = (bits(MIN_RTT) + 1, bits(MAX_RTT));
        const EXCHANGE: (u32, u32) = (bits(1.0 / MAX_EXCHANGE), bits(MAX_EXCHANGE));
        let between = |x: f32, (least, most): (u32, u32)| x.to_bits().wrapping_sub(least) <= most - least;
        between(self.rtt, RTT)
            && self.price.to_bits() <= MOST
            && self.balance.to_bits() <= MOST
            && self.charged.to_bits() <= MOST
            && self.preload.abs().to_bits() <= bits(1.0)
            && between(self.exchange, EXCHANGE)
    }

    /// Puts the header back onto the packet that it was read from, at a port: prices and the service
    /// may have changed, what the sender has said has not.
    #[inline(always)]
    pub fn write_back(&self, packet: &mut Packet) {
        let body = packet.only_body_mut(FcpHeader::TAG).and_then(|body| body.first_chunk_mut::<BODY>());
        let Some(body) = body else {
            // A copy, so that the header need not be in memory where this is not done.
            packet.set_header(&FcpHeader { ..*self });
            return;
        };
        let words = [(PRICE, self.price), (CHARGED, self.charged), (EXCHANGE, self.exchange)];
        words.iter().for_each(|(at, word)| body[*at..at + 4].copy_from_slice(&word.to_be_bytes()));
        body[CLASS] = self.class as u8;
    }

    /// Whether the body of an FCP header is an echo's, without reading the rest of it.
    #[inline]
    pub fn is_echo(body: &[u8]) -> bool {
        body.get(FLAGS).is_some_and(|flags| flags & 1 == 1)
    }

    /// The price of a path that is one link longer. Prices at or below `minimum` count as zero (§5:
    /// P = P + MINIMUM).
    #[inline]
    pub fn add_price(&mut self, link: f64, minimum: f64) {
        self.price = equations::at_most(equations::path_price(self.price.into(), link, minimum), MAX_PRICE) as f32;
    }

    /// What the packet holds: its balance in the currency of the domain that it is in (§4.3). A SYN
    /// holds nothing.
    #[inline]
    pub fn local_balance(&self) -> f64 {
        if self.rtt > 0.0 { f64::from(self.balance) * f64::from(self.exchange) } else { 0.0 }
    }

    /// What the flow of a SYN may spend at first, in that currency, $/s; 0 if it doesn't tell. Ours:
    /// it stands where other packets have their balance.
    #[inline]
    pub fn opens_with(&self) -> f64 {
        if self.rtt > 0.0 { 0.0 } else { f64::from(self.balance) * f64::from(self.exchange) }
    }

    /// What it pays per byte for a link that has `quoted` this price to its sender: the minimum of
    /// that and of what it holds (§5, "Implementation details"), so that neither a wrong round-trip
    /// time nor a forgotten price makes much of it. A SYN holds nothing yet, and pays what it is
    /// about to be told.
    #[inline]
    pub fn pays(&self, quoted: f64) -> f64 {
        if self.rtt > 0.0 { equations::at_most(quoted, self.local_balance()) } else { quoted }
    }

    /// What the packet has left to pay with, $/byte: negative when it paid too little (§5).
    #[inline]
    pub fn left(&self) -> f64 {
        f64::from(self.balance) - f64::from(self.charged)
    }
}
