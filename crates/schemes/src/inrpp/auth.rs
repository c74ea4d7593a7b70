//! Authentication between neighbours (§V-C): "authenticating the notifications between directly
//! neighboring routers would be sufficient to detect bogus nonces, and this can be achieved through
//! a lightweight mechanism such as a MAC".
//!
//! SipHash-2-4 with a key per pair of neighbours, derived from the domain's secret. The MAC covers sender and
//! receiver, the flow and the ACK that carries the notification, its content, and a number that increases with every
//! signed packet of a port, which detects replays.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

use midpath_core::packet::{Header, NodeId, Packet, body_of};
use midpath_core::units::Time;
use siphasher::sip::SipHasher24;

use super::header::{Control, InrppHeader, Signed};

/// The keys of a domain.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    on: bool,
    secret: [u64; 2],
    /// Numbers are above this.
    begin: u64,
}

impl Keys {
    /// Keys of a domain with this secret; `on` is false where nothing is signed or checked.
    pub fn new(on: bool, secret: &str) -> Keys {
        let half = |salt: u8| {
            let mut h = SipHasher24::new();
            h.write_u8(salt);
            h.write(secret.as_bytes());
            h.finish()
        };
        Keys { on, secret: [half(0), half(1)], begin: 0 }
    }

    /// The same of a node that has used all numbers up to `begin`, in an earlier run.
    #[must_use]
    pub fn resume_after(self, begin: u64) -> Keys {
        Keys { begin, ..self }
    }

    /// Whether anything is signed.
    pub fn on(&self) -> bool {
        self.on
    }

    /// The key that two neighbours share, and a hasher with it.
    fn hasher(&self, from: NodeId, to: NodeId) -> SipHasher24 {
        let (a, b) = (u64::from(from.0.min(to.0)), u64::from(from.0.max(to.0)));
        let mut pair = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
        pair.write_u64(a << 32 | b);
        let key = pair.finish();
        let mut h = SipHasher24::new_with_keys(key, key ^ self.secret[1]);
        h.write_u32(from.0); // a reflected packet is not its own answer
        h.write_u32(to.0);
        h
    }

    /// An alias for a port that nobody outside the domain can guess; `epoch` makes a new one.
    pub fn alias(&self, node: NodeId, port: u16, epoch: u64) -> u32 {
        let mut h = SipHasher24::new_with_keys(self.secret[1], self.secret[0]);
        h.write_u32(node.0);
        h.write_u16(port);
        h.write_u64(epoch);
        (h.finish() as u32).max(1)
    }
}

/// What the MAC of an ACK's notification covers, in whole words, which is what the hash takes them in.
pub(super) fn mac_input(packet: &Packet, option: &InrppHeader) -> [u64; 6] {
    let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    let kind = u32::from(InrppHeader::TAG) << 8 | u32::from(option.releases);
    let [first, second, third] = option.nonces.words();
    [
        pair(packet.flow.0, kind),
        packet.ack.into(),
        option.slow.map_or(0, |s| pair(s.nonce.0, s.release.into())),
        pair(option.cancel.map_or(0, |n| n.0), first),
        pair(second, third),
        option.number,
    ]
}

/// That MAC, by the hasher of two neighbours.
pub(super) fn of_note(h: &SipHasher24, packet: &Packet, option: &InrppHeader) -> u64 {
    of_words(h, mac_input(packet, option))
}

/// The same of what it covers.
fn of_words(h: &SipHasher24, words: [u64; 6]) -> u64 {
    let mut bytes = [0; 48];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    // At once: word by word each is shifted into a tail.
    h.hash(&bytes)
}

/// That of a control packet.
fn of_control(h: &SipHasher24, signed: &Signed) -> u64 {
    let mut h = *h;
    h.write_u8(Signed::TAG);
    h.write(&body_of(&Signed { mac: 0, ..*signed }));
    h.finish()
}

/// The hasher of the last two that spoke one way over a link: the same two but across plain routers.
#[derive(Debug, Clone, Default)]
struct Kept(Option<Box<Pair>>);

/// Two neighbours' hasher.
#[derive(Debug, Clone)]
struct Pair {
    secret: [u64; 2],
    from: NodeId,
    to: NodeId,
    hasher: SipHasher24,
}

impl Kept {
    fn hasher(&mut self, keys: &Keys, from: NodeId, to: NodeId) -> &SipHasher24 {
        let of = |pair: &Pair| (pair.secret, pair.from, pair.to);
        if self.0.as_deref().map(of) != Some((keys.secret, from, to)) {
            self.0 = Some(Box::new(Pair { secret: keys.secret, from, to, hasher: keys.hasher(from, to) }));
        }
        &self.0.as_deref().expect("it was made just now").hasher
    }
}

/// What a port has signed and seen on its link.
#[derive(Debug, Clone, Default)]
pub struct LinkMac {
    sent: u64,
    seen: u64,
    out: Kept,
    back: Kept,
    /// Notifications and control packets refused: no or a wrong MAC.
    pub forged: u64,
    /// Refused: the MAC is right, the number is not above the last one.
    pub replayed: u64,
}

impl LinkMac {
    /// The next number. It is at least the time, in ns, after where this run's numbers begin: so a node
    /// that restarts goes on above what it has sent, and whoever runs it knows an upper bound of that
    /// without being told (no node signs a packet each nanosecond).
    fn next(&mut self, keys: &Keys, now: Time) -> u64 {
        self.sent = (self.sent + 1).max(keys.begin.saturating_add(now.as_ns()));
        self.sent
    }

    /// Signs what an ACK has for the next hop, just before it leaves: on a link order is kept, so
    /// numbers only rise.
    pub fn sign(
        &mut self,
        keys: &Keys,
        now: Time,
        from: NodeId,
        to: NodeId,
        packet: &Packet,
        option: &mut InrppHeader,
    ) {
        let words = |number| mac_input(packet, &InrppHeader { number, ..*option });
        if let Some(signature) = self.sign_words(keys, now, (from, to), words) {
            (option.number, option.mac) = signature;
        }
    }

    /// The same of a note whose `words` depend on the number, which it gives with the MAC; `None` where
    /// nothing is signed.
    pub fn sign_words(
        &mut self,
        keys: &Keys,
        now: Time,
        (from, to): (NodeId, NodeId),
        words: impl FnOnce(u64) -> [u64; 6],
    ) -> Option<(u64, u64)> {
        keys.on.then(|| {
            let number = self.next(keys, now);
            (number, of_words(self.out.hasher(keys, from, to), words(number)))
        })
    }

    /// As [`LinkMac::verify`], of a note with these words and this signature.
    pub fn verify_words(
        &mut self,
        keys: &Keys,
        (from, to): (NodeId, NodeId),
        words: [u64; 6],
        (number, mac): (u64, u64),
    ) -> bool {
        !keys.on || {
            let right = of_words(self.back.hasher(keys, from, to), words) == mac;
            self.accept(right, number)
        }
    }

    /// Whether what an ACK has brought is from the neighbour, and new.
    pub fn verify(&mut self, keys: &Keys, from: NodeId, to: NodeId, packet: &Packet, option: &InrppHeader) -> bool {
        self.verify_words(keys, (from, to), mac_input(packet, option), (option.number, option.mac))
    }

    /// The same for what has come across plain routers: whether one of `from` has signed it. There
    /// order is not kept between flows.
    pub fn verify_far(
        &mut self,
        far: &mut Far,
        keys: &Keys,
        mut from: impl Iterator<Item = NodeId>,
        to: NodeId,
        packet: &Packet,
        option: &InrppHeader,
    ) -> bool {
        let signer = from.find(|f| of_note(&keys.hasher(*f, to), packet, option) == option.mac);
        let fresh = signer.is_some_and(|s| far.fresh(s, option.number));
        self.forged += u64::from(signer.is_none());
        self.replayed += u64::from(signer.is_some() && !fresh);
        fresh
    }

    /// Something that only a router may say has come from where no router is.
    pub fn refuse(&mut self) {
        self.forged += 1;
    }

    /// Signs a control packet.
    pub fn sign_control(&mut self, keys: &Keys, now: Time, from: NodeId, to: NodeId, control: Control) -> Signed {
        let mut signed = Signed { control, number: 0, mac: 0 };
        if keys.on {
            signed.number = self.next(keys, now);
            signed.mac = of_control(self.out.hasher(keys, from, to), &signed);
        }
        signed
    }

    /// Whether a control packet is from the neighbour, and new.
    pub fn verify_control(&mut self, keys: &Keys, from: NodeId, to: NodeId, signed: &Signed) -> bool {
        !keys.on || {
            let mac = of_control(self.back.hasher(keys, from, to), signed);
            self.accept(mac == signed.mac, signed.number)
        }
    }

    fn accept(&mut self, authentic: bool, number: u64) -> bool {
        let fresh = number > self.seen;
        match (authentic, fresh) {
            (false, _) => self.forged += 1,
            (true, false) => self.replayed += 1,
            (true, true) => self.seen = number,
        }
        authentic && fresh
    }

    /// The node has restarted: what was seen is kept in the simulator's counters only.
    pub fn reset(&mut self) {
        // Forgetting `seen` lets old packets in again for as long as they can be on the wire;
        // keeping it needs memory that outlives a restart. The numbers are times, so keeping is
        // what a router with a clock does: refuse what is older.
        self.sent = 0;
    }
}

/// Numbers that are remembered of a neighbour behind plain routers. Ours: as many as IPsec's window
/// (RFC 4303, §3.4.3: at least 32, 64 preferred).
const RECENT: usize = 64;

/// What has been seen of neighbours behind plain routers, where packets of different flows may
/// overtake each other.
#[derive(Debug, Clone, Default)]
pub struct Far(BTreeMap<NodeId, Recent>);

/// The last numbers of one neighbour.
#[derive(Debug, Clone, Default)]
struct Recent {
    /// All up to here count as seen.
    floor: u64,
    seen: BTreeSet<u64>,
}

impl Far {
    /// Whether a number is new. There is a place per neighbour that has a key, so the map is
    /// bounded.
    fn fresh(&mut self, from: NodeId, number: u64) -> bool {
        let recent = self.0.entry(from).or_default();
        let fresh = number > recent.floor && recent.seen.insert(number);
        if recent.seen.len() > RECENT {
            recent.floor = recent.seen.pop_first().unwrap_or(recent.floor);
        }
        fresh
    }
}
