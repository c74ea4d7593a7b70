//! Two nodes and whoever stands between them.

use std::net::SocketAddr;

use super::*;
use proptest::prelude::*;

const S: fn(u64) -> Time = Time::from_secs;
const MS: fn(u64) -> Time = Time::from_ms;

fn address(host: u8) -> LinkId {
    SocketAddr::from(([10, 0, 0, host], 7000)).into()
}

fn spec(id: u32, keys: &[&SecretKey], host: Option<u8>) -> PeerSpec {
    PeerSpec { id: PeerId(id), keys: keys.iter().map(|k| k.public()).collect(), link: host.map(address), stream: false }
}

fn endpoint(secret: &SecretKey, peers: Vec<PeerSpec>) -> Endpoint {
    Endpoint::new(secret.clone(), peers, Time::ZERO).expect("random numbers")
}

/// Node 0 at 10.0.0.1 knows where node 1 is, at 10.0.0.2, and not the other way.
struct Pair {
    secrets: [SecretKey; 2],
    ends: [Endpoint; 2],
    events: [Vec<Event>; 2],
    got: [Vec<Vec<u8>>; 2],
    /// All that went over the network: from whom, and what.
    log: Vec<(usize, Vec<u8>)>,
    now: Time,
}

impl Pair {
    fn new() -> Pair {
        let secrets = [(); 2].map(|()| SecretKey::generate().expect("random numbers"));
        let ends = [
            endpoint(&secrets[0], vec![spec(1, &[&secrets[1]], Some(2))]),
            endpoint(&secrets[1], vec![spec(0, &[&secrets[0]], None)]),
        ];
        Pair { secrets, ends, events: Default::default(), got: Default::default(), log: Vec::new(), now: Time::ZERO }
    }

    fn up() -> Pair {
        let mut pair = Pair::new();
        pair.turn(&mut |_, _| true);
        assert!(pair.is_up());
        pair
    }

    fn is_up(&self) -> bool {
        self.ends[0].is_up(PeerId(1)) && self.ends[1].is_up(PeerId(0))
    }

    /// Polls both; carries what `passes` until nothing is on its way.
    fn turn(&mut self, passes: &mut dyn FnMut(usize, &[u8]) -> bool) {
        for side in 0..2 {
            let mut out = Output::default();
            self.ends[side].poll(self.now, &mut out);
            self.carry(side, out, passes);
        }
    }

    fn carry(&mut self, from: usize, out: Output, passes: &mut dyn FnMut(usize, &[u8]) -> bool) {
        self.events[from].extend(out.events);
        for (to, bytes) in out.datagrams {
            assert_eq!(to, address(2 - from as u8), "an answer goes where the question came from");
            self.log.push((from, bytes.clone()));
            if passes(from, &bytes) {
                self.deliver(from, &bytes, passes);
            }
        }
    }

    fn deliver(&mut self, from: usize, bytes: &[u8], passes: &mut dyn FnMut(usize, &[u8]) -> bool) {
        let (to, mut inside, mut out) = (1 - from, Vec::new(), Output::default());
        if let Some(peer) = self.ends[to].handle(self.now, address(from as u8 + 1), bytes, &mut inside, &mut out) {
            assert_eq!(peer, PeerId(from as u32));
            self.got[to].push(inside);
        }
        self.carry(to, out, passes);
    }

    fn seal(&mut self, from: usize, inside: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let to = PeerId(1 - from as u32);
        self.ends[from].seal(self.now, to, inside, &mut out).expect("it is up");
        out
    }

    fn send(&mut self, from: usize, inside: &[u8]) {
        let sealed = self.seal(from, inside);
        self.deliver(from, &sealed, &mut |_, _| true);
    }

    /// Half a second after the other, for so long.
    fn pass(&mut self, time: Time, passes: &mut dyn FnMut(usize, &[u8]) -> bool) {
        let until = self.now + time;
        while self.now < until {
            self.now += MS(500);
            self.turn(passes);
        }
    }
}

#[test]
fn two_neighbours_meet_and_talk() {
    let mut pair = Pair::up();
    pair.send(0, b"one");
    pair.send(1, b"two");
    assert_eq!(pair.got, [vec![b"two".to_vec()], vec![b"one".to_vec()]]);
    let up = |peer| vec![Event::Up { peer: PeerId(peer), restarted: false }];
    assert_eq!(pair.events, [up(1), up(0)]);
    let lengths: Vec<usize> = pair.log.iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(lengths[..3], [datagram::HELLO, datagram::WELCOME, datagram::OVERHEAD]);
    let sealed = pair.seal(0, &[0; 1000]);
    assert_eq!(sealed.len(), 1000 + datagram::OVERHEAD);
    assert!(!sealed.windows(20).any(|w| w == [0; 20]), "nothing inside is readable");
}

#[test]
fn whoever_is_not_listed_gets_no_answer_and_leaves_nothing() {
    let mut pair = Pair::up();
    let stranger = SecretKey::generate().unwrap();
    let mut other = endpoint(&stranger, vec![spec(1, &[&pair.secrets[1]], Some(2))]);
    // It knows our key, so its hash is right; or it does not.
    let wrong = SecretKey::generate().unwrap();
    let mut blind = endpoint(&stranger, vec![spec(1, &[&wrong], Some(2))]);
    let indices = pair.ends[1].by_index.len();
    for end in [&mut other, &mut blind] {
        let (mut hello, mut out) = (Output::default(), Output::default());
        end.poll(Time::ZERO, &mut hello);
        let bytes = &hello.datagrams[0].1;
        assert_eq!(pair.ends[1].handle(Time::ZERO, address(9), bytes, &mut Vec::new(), &mut out), None);
        assert!(out.datagrams.is_empty() && out.events.is_empty());
    }
    assert_eq!((pair.ends[1].counters().strangers, pair.ends[1].by_index.len()), (2, indices));
}

#[test]
fn what_comes_again_or_is_changed_is_counted_and_dropped() {
    let mut pair = Pair::up();
    let sealed = pair.seal(0, b"once");
    let late = pair.seal(0, b"late");
    for bytes in [&sealed, &sealed, &late, &late] {
        pair.deliver(0, bytes, &mut |_, _| true);
    }
    for at in 0..datagram::OVERHEAD + 1 {
        let mut bytes = pair.seal(0, b"x");
        bytes[at] ^= 0x10;
        pair.deliver(0, &bytes, &mut |_, _| true);
    }
    assert_eq!(pair.got[1], [b"once".to_vec(), b"late".to_vec()]);
    let counters = pair.ends[1].counters();
    // A changed counter may be one that came before.
    assert!(counters.replayed >= 2);
    assert!(counters.forged > 0 && counters.unknown > 0 && counters.malformed > 0);
}

/// A recorded hello opens at most a session that nobody can use.
#[test]
fn a_recorded_hello_changes_nothing() {
    let mut pair = Pair::new();
    pair.turn(&mut |_, _| true);
    let hello = pair.log[0].1.clone();
    let answers = |pair: &Pair| pair.log.iter().filter(|(from, b)| *from == 1 && b.len() == datagram::WELCOME).count();
    let before = answers(&pair);
    (0..50).for_each(|_| pair.deliver(0, &hello, &mut |_, _| true));
    assert_eq!((answers(&pair), pair.ends[1].counters().repeated_hellos), (before, 50));
    // Of an earlier start: it is answered, and no more.
    let events = pair.events[1].len();
    let mut old = endpoint(&pair.secrets[0], vec![spec(1, &[&pair.secrets[1]], Some(2))]);
    let mut out = Output::default();
    old.poll(Time::ZERO, &mut out);
    let recorded = out.datagrams[0].1.clone();
    for _ in 0..100 {
        let mut out = Output::default();
        pair.ends[1].handle(pair.now, address(1), &recorded, &mut Vec::new(), &mut out);
    }
    assert!(pair.ends[1].peers[0].pending.len() <= PENDING);
    assert_eq!(pair.events[1].len(), events, "nobody is up by it, or has restarted");
    pair.send(0, b"still");
    assert_eq!(pair.got[1], [b"still".to_vec()]);
}

#[test]
fn a_neighbour_that_has_started_again_is_known_by_its_epoch() {
    let mut pair = Pair::up();
    pair.ends[0] = endpoint(&pair.secrets[0], vec![spec(1, &[&pair.secrets[1]], Some(2))]);
    pair.pass(S(3), &mut |_, _| true);
    assert_eq!(pair.events[1].last(), Some(&Event::Up { peer: PeerId(0), restarted: true }));
    pair.send(1, b"again");
    assert_eq!(pair.got[0], [b"again".to_vec()]);
}

/// Hellos of strangers who know our key, from addresses that are not theirs: a hundred are opened in
/// a second, the rest get a cookie that they never see; a neighbour gets through.
#[test]
fn a_flood_of_hellos_is_bounded_and_neighbours_get_through() {
    let mut pair = Pair::new();
    let public = pair.secrets[1].public();
    let name = name_of(&public);
    let indices = pair.ends[1].by_index.len();
    let mut answered = 0;
    for i in 0..10_000u32 {
        let signed = datagram::hello(i, &[7; datagram::MESSAGE_1]);
        let mut bytes = signed.clone();
        bytes.extend(mac(&name, &signed));
        bytes.extend([0; 16]);
        let mut out = Output::default();
        pair.ends[1].handle(MS(1), address(9), &bytes, &mut Vec::new(), &mut out);
        answered += out.datagrams.len();
        assert!(out.datagrams.iter().all(|(_, d)| d.len() == datagram::RETRY && d.len() <= bytes.len()));
    }
    assert_eq!(answered, (BUSY - CALM) as usize);
    let (shed, strangers) = (pair.ends[1].counters().shed, pair.ends[1].counters().strangers);
    assert_eq!((shed, strangers), (10_000 - u64::from(BUSY), CALM.into()), "each is counted");
    assert_eq!(pair.ends[1].by_index.len(), indices);
    // Who is expected from there, and asked for a cookie, is not shed.
    pair.ends[1].set_peers(vec![spec(0, &[&pair.secrets[0]], Some(1))], MS(1), &mut Output::default());
    pair.now = MS(2);
    pair.turn(&mut |_, _| true);
    assert!(pair.is_up());
    assert!(pair.log.iter().any(|(_, bytes)| bytes.len() == datagram::RETRY), "it was asked for a cookie");
}

#[test]
fn a_neighbour_is_followed_to_another_address() {
    let mut pair = Pair::up();
    let sealed = pair.seal(0, b"moved");
    let mut inside = Vec::new();
    let peer = pair.ends[1].handle(pair.now, address(77), &sealed, &mut inside, &mut Output::default());
    assert_eq!((peer, pair.ends[1].link(PeerId(0))), (Some(PeerId(0)), Some(address(77))));
    // Not by a copy of what it said before.
    pair.ends[1].handle(pair.now, address(78), &sealed, &mut inside, &mut Output::default());
    assert_eq!(pair.ends[1].link(PeerId(0)), Some(address(77)));
}

/// Who was followed elsewhere, and is silent there, is looked for where it is configured to be.
#[test]
fn who_is_down_is_looked_for_at_home() {
    let mut pair = Pair::up();
    let sealed = pair.seal(1, b"moved");
    pair.ends[0].handle(pair.now, address(77), &sealed, &mut Vec::new(), &mut Output::default());
    assert_eq!(pair.ends[0].link(PeerId(1)), Some(address(77)));
    pair.now += S(20);
    let mut out = Output::default();
    pair.ends[0].poll(pair.now, &mut out);
    assert_eq!(out.events, [Event::Down(PeerId(1))]);
    assert_eq!(out.datagrams.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [address(2)]);
}

/// A neighbour that is to come by a stream does not by datagrams: no hello, and no data of a session.
#[test]
fn who_comes_by_a_stream_comes_by_nothing_else() {
    let secrets = [(); 2].map(|()| SecretKey::generate().expect("random numbers"));
    let home = LinkId::Opened(0);
    let to_one = PeerSpec { link: Some(home), stream: true, ..spec(1, &[&secrets[1]], None) };
    let mut ends = [
        endpoint(&secrets[0], vec![to_one]),
        endpoint(&secrets[1], vec![PeerSpec { stream: true, ..spec(0, &[&secrets[0]], None) }]),
    ];
    let (mut out, mut inside) = (Output::default(), Vec::new());
    ends[0].poll(Time::ZERO, &mut out);
    let (to, hello) = out.datagrams.pop().expect("a hello");
    assert_eq!(to, home);
    assert_eq!(ends[1].handle(Time::ZERO, address(1), &hello, &mut inside, &mut out), None);
    assert_eq!((ends[1].counters().other_way, out.datagrams.len()), (1, 0));
    let (first, second) = (LinkId::Accepted(1), LinkId::Accepted(2));
    ends[1].handle(Time::ZERO, first, &hello, &mut inside, &mut out);
    let (to, welcome) = out.datagrams.pop().expect("a welcome");
    assert_eq!(to, first);
    ends[0].handle(Time::ZERO, address(2), &welcome, &mut inside, &mut out);
    assert!(!ends[0].is_up(PeerId(1)), "an answer by a datagram");
    ends[0].handle(Time::ZERO, home, &welcome, &mut inside, &mut out);
    let mut said = Vec::new();
    assert_eq!(ends[0].seal(Time::ZERO, PeerId(1), b"said", &mut said), Ok(home));
    assert_eq!(ends[1].handle(Time::ZERO, address(1), &said, &mut inside, &mut out), None);
    assert_eq!(ends[1].handle(Time::ZERO, second, &said, &mut inside, &mut out), Some(PeerId(0)));
    assert!(ends[1].is_neighbour_at(second) && !ends[1].is_neighbour_at(first));
    // Whoever has a stream of its own to the other stays with that; else the other's is used.
    let mut back = Vec::new();
    assert_eq!(ends[1].seal(Time::ZERO, PeerId(0), b"back", &mut back), Ok(second));
    let third = LinkId::Accepted(3);
    assert_eq!(ends[0].handle(Time::ZERO, third, &back, &mut inside, &mut out), Some(PeerId(1)));
    assert_eq!(ends[0].link(PeerId(1)), Some(home));
    assert!(ends[0].is_neighbour_at(third));
}

#[test]
fn sessions_are_replaced_while_data_flow() {
    let mut pair = Pair::up();
    for i in 0..1000u32 {
        pair.pass(MS(500), &mut |_, _| true);
        pair.send(0, &i.to_be_bytes());
        pair.send(1, &i.to_be_bytes());
    }
    assert_eq!(pair.got.each_ref().map(Vec::len), [1000, 1000]);
    let hellos = pair.log.iter().filter(|(_, bytes)| bytes.len() == datagram::HELLO).count();
    assert!((4..=5).contains(&hellos), "{hellos} in 500 s");
    assert_eq!(pair.events.each_ref().map(Vec::len), [1, 1], "up once, and never down");
    assert!(pair.ends.iter().all(|end| end.by_index.len() <= 3));
}

#[test]
fn a_neighbour_that_is_silent_is_down_until_it_comes_back() {
    let mut pair = Pair::up();
    pair.pass(S(20), &mut |_, _| false);
    assert_eq!(pair.events.each_ref().map(|e| e.last().cloned()), [1, 0].map(|p| Some(Event::Down(PeerId(p)))));
    assert_eq!(pair.ends[0].seal(pair.now, PeerId(1), b"x", &mut Vec::new()), Err(NotUp));
    pair.pass(S(31), &mut |_, _| true);
    assert!(pair.is_up());
    let last = Event::Up { peer: PeerId(0), restarted: false };
    assert_eq!(pair.events[1].last(), Some(&last));
}

#[test]
fn who_is_removed_is_down_at_once() {
    let mut pair = Pair::up();
    let mut out = Output::default();
    pair.ends[1].set_peers(Vec::new(), pair.now, &mut out);
    assert_eq!(out.events, [Event::Down(PeerId(0))]);
    let sealed = pair.seal(0, b"x");
    pair.deliver(0, &sealed, &mut |_, _| true);
    pair.pass(S(200), &mut |_, _| true);
    assert!(pair.got[1].is_empty() && !pair.ends[0].is_up(PeerId(1)));
}

/// Keys change without a restart: the new one is listed beside the old one, taken, and the old one
/// is struck off. Nothing is lost, and nobody is down.
#[test]
fn keys_are_changed_without_a_pause() {
    let mut pair = Pair::up();
    let fresh = SecretKey::generate().unwrap();
    let mut out = Output::default();
    let both = vec![spec(0, &[&pair.secrets[0], &fresh], None)];
    pair.ends[1].set_peers(both, pair.now, &mut out);
    pair.ends[0].set_secret(fresh.clone());
    pair.send(0, b"as before");
    pair.pass(S(2), &mut |_, _| true);
    pair.send(0, b"by the new key");
    pair.ends[1].set_peers(vec![spec(0, &[&fresh], None)], pair.now, &mut out);
    pair.send(0, b"the old one is struck off");
    pair.send(1, b"and back");
    assert_eq!(pair.got.each_ref().map(Vec::len), [1, 3]);
    assert_eq!((out.events.len(), pair.events[1].len()), (0, 1));
    assert!(pair.is_up());
}

/// The session of a key that is struck off is over, and only that key's.
#[test]
fn who_has_lost_its_key_is_down_at_once() {
    let mut pair = Pair::up();
    let (fresh, mut out) = (SecretKey::generate().unwrap(), Output::default());
    pair.ends[1].set_peers(vec![spec(0, &[&fresh], None)], pair.now, &mut out);
    assert_eq!(out.events, [Event::Down(PeerId(0))]);
    let sealed = pair.seal(0, b"x");
    pair.deliver(0, &sealed, &mut |_, _| true);
    pair.pass(S(40), &mut |_, _| true);
    assert!(pair.got[1].is_empty() && !pair.is_up());
    pair.ends[0].set_secret(fresh);
    pair.pass(S(2), &mut |_, _| true);
    assert!(pair.is_up());
}

#[test]
fn both_may_begin_at_once() {
    let mut pair = Pair::new();
    pair.ends[1].set_peers(vec![spec(0, &[&pair.secrets[0]], Some(1))], Time::ZERO, &mut Output::default());
    let [mut a, mut b] = [Output::default(), Output::default()];
    pair.ends[0].poll(Time::ZERO, &mut a);
    pair.ends[1].poll(Time::ZERO, &mut b);
    pair.carry(0, a, &mut |_, _| true);
    pair.carry(1, b, &mut |_, _| true);
    pair.send(0, b"one");
    pair.send(1, b"two");
    assert_eq!(pair.got.each_ref().map(Vec::len), [1, 1]);
}

#[test]
fn another_version_is_answered_by_what_is_spoken_here() {
    let mut pair = Pair::new();
    let mut bytes = vec![0; datagram::HELLO];
    (bytes[0], bytes[1]) = (9, 1);
    let mut out = Output::default();
    pair.ends[1].handle(Time::ZERO, address(1), &bytes, &mut Vec::new(), &mut out);
    assert_eq!(out.datagrams, [(address(1), vec![0, 5, 1, datagram::VERSION])]);
    // Whoever asked learns of it, from where it asked and nowhere else.
    pair.ends[0].poll(Time::ZERO, &mut Output::default());
    for (from, told) in [(address(2), 1), (address(3), 0)] {
        let mut out = Output::default();
        pair.ends[0].handle(Time::ZERO, from, &[0, 5, 1, 9], &mut Vec::new(), &mut out);
        assert_eq!(out.events.len(), told);
    }
}

#[test]
fn a_forged_welcome_does_not_end_a_handshake() {
    let mut pair = Pair::new();
    let mut welcome = Vec::new();
    pair.turn(&mut |from, bytes| {
        if from == 1 {
            welcome = bytes.to_vec();
        }
        from == 0
    });
    let mut forged = welcome.clone();
    *forged.last_mut().unwrap() ^= 1;
    pair.deliver(1, &forged, &mut |_, _| true);
    assert!(!pair.is_up());
    pair.deliver(1, &welcome, &mut |_, _| true);
    assert!(pair.is_up());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Loss, repeats, reordering and changed bytes: what comes out was sent, once.
    #[test]
    fn what_comes_out_was_sent_once(fates in prop::collection::vec((0u8..10, 0usize..40, any::<u8>()), 50..300)) {
        let mut pair = Pair::up();
        let mut waiting: Vec<(usize, Vec<u8>)> = Vec::new();
        for (i, (fate, at, by)) in fates.into_iter().enumerate() {
            pair.now += S(1);
            let mut drop_some = |_: usize, bytes: &[u8]| bytes.len() > 100 || !(at + bytes.len()).is_multiple_of(3);
            pair.turn(&mut drop_some);
            let from = i % 2;
            let mut sealed = Vec::new();
            let to = PeerId(1 - from as u32);
            if pair.ends[from].seal(pair.now, to, &(i as u32).to_be_bytes(), &mut sealed).is_err() {
                continue;
            }
            match fate {
                0 | 1 => {}
                2 => waiting.push((from, sealed)),
                3 => {
                    waiting.push((from, sealed.clone()));
                    pair.deliver(from, &sealed, &mut |_, _| true);
                }
                4 => {
                    let place = at % sealed.len();
                    sealed[place] ^= by.max(1);
                    pair.deliver(from, &sealed, &mut |_, _| true);
                }
                _ => pair.deliver(from, &sealed, &mut |_, _| true),
            }
            if waiting.len() > 3 {
                let (from, bytes) = waiting.remove(at % 3);
                pair.deliver(from, &bytes, &mut |_, _| true);
            }
        }
        for (side, got) in pair.got.iter().enumerate() {
            let mut numbers: Vec<u32> = got.iter().map(|b| u32::from_be_bytes(b[..].try_into().unwrap())).collect();
            prop_assert!(numbers.iter().all(|n| *n as usize % 2 != side));
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            prop_assert_eq!(numbers.len(), count);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..6) {
        let mut pair = Pair::up();
        let mut bytes = bytes;
        if bytes.len() > 4 {
            bytes[..4].copy_from_slice(&[datagram::VERSION, kind, 0, 0]);
        }
        let mut out = Output::default();
        let peer = pair.ends[1].handle(pair.now, address(1), &bytes, &mut Vec::new(), &mut out);
        prop_assert!(peer.is_none());
        prop_assert!(out.datagrams.iter().all(|(_, answer)| answer.len() <= bytes.len()));
    }
}
