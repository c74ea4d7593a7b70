//! Flows whose two ends both send: what comes out on either side is what went in on the other, or the
//! application is told that it isn't.

use midpath_core::node::EndId;
use midpath_core::packet::{NodeId, PortId};
use midpath_core::rng::below;
use midpath_core::roles::Ended;
use midpath_core::units::Time;
use midpath_node::bytes::Windows;
use proptest::prelude::*;

use super::world::{A, B, World, file, other};

/// Schemes whose packets have room for data and for what they answer.
const BOTH: [&str; 9] = ["newreno", "cubic", "rcp", "xcp", "fcp", "inrpp", "bolt", "hpcc", "powertcp"];

fn world(scheme: &str, harm: f64, seed: u64) -> World {
    World::with(scheme, Windows::new(1 << 20, 1 << 18), harm, seed, true)
}

/// One side's application: what it sends, and what it has got.
struct Side {
    host: usize,
    end: EndId,
    file: Vec<u8>,
    written: usize,
    got: Vec<u8>,
    /// It writes nothing before it has got so much.
    waits_for: usize,
    stalled: Time,
}

impl Side {
    fn new(host: usize, end: EndId, file: Vec<u8>) -> Side {
        Side { host, end, file, written: 0, got: Vec::new(), waits_for: 0, stalled: Time::ZERO }
    }

    /// Writes and reads something.
    fn act(&mut self, world: &mut World) {
        let now = world.now;
        if now >= self.stalled {
            let most = 1 + below(&mut world.rng, 40_000) as usize;
            world.hosts[self.host].read(self.end, most, &mut self.got, now);
            if below(&mut world.rng, 40) == 0 {
                self.stalled = now + Time::from_ms(below(&mut world.rng, 1500));
            }
        }
        if self.got.len() < self.waits_for {
            return;
        }
        let piece = (1 + below(&mut world.rng, 60_000) as usize).min(self.file.len() - self.written);
        self.written += world.hosts[self.host].write(self.end, &self.file[self.written..self.written + piece], now);
        if self.written == self.file.len() {
            world.hosts[self.host].close(self.end, now);
        }
    }

    /// Writes all of its file, and closes.
    fn close(&mut self, world: &mut World) {
        let now = world.now;
        self.written = world.hosts[self.host].write(self.end, &self.file, now);
        world.hosts[self.host].close(self.end, now);
    }

    /// How what it sends, and what it receives, has ended. What has come is read before that counts.
    fn ended(&self, world: &World) -> [Option<Ended>; 2] {
        let host = &world.hosts[self.host];
        let incoming = host.incoming(self.end);
        let unread = incoming.is_some_and(|i| i.ended() == Some(Ended::Complete) && !i.is_done());
        [host.outgoing(self.end).and_then(|o| o.ended()), incoming.and_then(|i| i.ended()).filter(|_| !unread)]
    }
}

/// Opens a flow from A to B.
fn sides(world: &mut World, there: Vec<u8>, back: Vec<u8>) -> [Side; 2] {
    let now = world.now;
    let end = world.hosts[A].connect(NodeId(B as u32), now);
    [Side::new(A, end, there), Side::new(B, other(end, A), back)]
}

/// Runs until both sides know how it has ended.
fn exchange(world: &mut World, sides: &mut [Side; 2]) -> [[Option<Ended>; 2]; 2] {
    for _ in 0..20_000 {
        sides.iter_mut().for_each(|side| side.act(world));
        let ended = [sides[0].ended(world), sides[1].ended(world)];
        if ended.iter().flatten().all(Option::is_some) {
            return ended;
        }
        let pause = Time(1_000_000_000 + below(&mut world.rng, 20_000_000_000));
        world.run(pause);
        world.tick();
    }
    let at = |s: &Side| (s.written, s.file.len(), s.got.len(), s.ended(world));
    panic!("it does not end: {:?}, {:?}", at(&sides[0]), at(&sides[1]));
}

const COMPLETE: [[Option<Ended>; 2]; 2] = [[Some(Ended::Complete); 2]; 2];

fn check(world: &mut World, mut sides: [Side; 2], what: &str) {
    let ended = exchange(world, &mut sides);
    let [a, b] = &sides;
    assert!(a.got == b.file, "{what}: {} of {} bytes back", a.got.len(), b.file.len());
    assert!(b.got == a.file, "{what}: {} of {} bytes there", b.got.len(), a.file.len());
    assert_eq!(ended, COMPLETE, "{what}");
}

#[test]
fn both_sides_get_what_the_other_has_sent() {
    for (i, scheme) in BOTH.into_iter().enumerate() {
        for harm in [0.0, 0.01] {
            let mut world = world(scheme, harm, 3 + i as u64);
            let sides = sides(&mut world, file(400_000, 1), file(300_000, 2));
            check(&mut world, sides, &format!("{scheme}, {harm}"));
        }
    }
}

/// A server that answers when it has seen the client's end; a client that waits for the server's.
#[test]
fn each_side_may_close_long_before_the_other() {
    for first in [A, B] {
        let mut world = world("cubic", 0.005, 9);
        let mut sides = sides(&mut world, file(50_000, 1), file(60_000, 2));
        let (a, b) = (sides[0].file.len(), sides[1].file.len());
        if first == A {
            sides[1].waits_for = a;
        } else {
            sides[0].waits_for = b;
            // A passive end can be written to when it is there.
            world.run(Time::from_ms(100));
        }
        // Longer than Linux lets an end wait for the other's FIN.
        for _ in 0..90 {
            world.run(Time::from_secs(1));
            world.tick();
        }
        check(&mut world, sides, if first == A { "the active side" } else { "the passive side" });
    }
}

/// Both FINs cross on the way.
#[test]
fn both_may_close_at_the_same_time() {
    let mut world = world("newreno", 0.0, 4);
    let sides = sides(&mut world, file(10_000, 1), file(10_000, 2));
    world.run(Time::from_ms(50));
    let now = world.now;
    for side in &sides {
        assert_eq!(world.hosts[side.host].write(side.end, &side.file, now), side.file.len());
        world.hosts[side.host].close(side.end, now);
    }
    let mut sides = sides;
    sides.iter_mut().for_each(|side| side.written = side.file.len());
    check(&mut world, sides, "at once");
    world.run(Time::from_secs(60));
    assert!([A, B].iter().all(|host| world.hosts[*host].node().endpoints().count() == 0), "nothing is left");
}

/// A side whose reader stops is sent what it has room for, while the other direction goes on.
#[test]
fn a_reader_that_stops_leaves_the_other_direction_alone() {
    let mut world = World::with("cubic", Windows::new(1 << 20, 100_000), 0.0, 1, true);
    let mut sides = sides(&mut world, file(1_000_000, 1), file(1_000_000, 2));
    while sides[1].got.len() < 100_000 {
        sides.iter_mut().for_each(|side| side.act(&mut world));
        world.run(Time::from_ms(10));
    }
    sides[1].stalled = Time::MAX;
    for _ in 0..3000 {
        sides.iter_mut().for_each(|side| side.act(&mut world));
        world.run(Time::from_ms(10));
    }
    assert_eq!(sides[0].got.len(), sides[1].file.len());
    assert!(sides[1].got.len() < sides[0].file.len());
    let held = world.hosts[B].incoming(sides[1].end).expect("it has come").readable();
    assert!(held > 30_000 && held <= 100_000, "{held}");
    sides[1].stalled = Time::ZERO;
    check(&mut world, sides, "after it has stopped");
}

/// Whoever gives a flow up, the other side is told on what it sends and on what it receives.
#[test]
fn a_flow_that_is_given_up_is_reset_both_ways() {
    for (i, (by, scheme)) in [A, B].into_iter().flat_map(|by| BOTH.map(|scheme| (by, scheme))).enumerate() {
        let mut world = world(scheme, 0.01, 11 + i as u64);
        let mut sides = sides(&mut world, file(3_000_000, 1), file(3_000_000, 2));
        // Both are open: a SYN may be lost.
        for i in 0.. {
            if i >= 30 && sides.iter().all(|side| !side.got.is_empty()) {
                break;
            }
            sides.iter_mut().for_each(|side| side.act(&mut world));
            world.run(Time::from_ms(10));
        }
        let (gone, left) = if by == A { (&sides[0], &sides[1]) } else { (&sides[1], &sides[0]) };
        let now = world.now;
        world.hosts[by].abort(gone.end, now);
        (0..100).for_each(|_| {
            world.run(Time::from_secs(1));
            world.tick();
        });
        assert_eq!(left.ended(&world), [Some(Ended::Reset); 2], "{scheme}, by {by}");
        assert_eq!(world.hosts[by].held(), [0; 3], "what was promised comes back");
    }
}

/// Questions and answers in turn: each acknowledges the other, so that nothing else is sent.
#[test]
fn acknowledgements_ride_on_data() {
    let mut world = world("cubic", 0.0, 4);
    let mut sides = sides(&mut world, file(100_000, 1), file(100_000, 2));
    for _ in 0..2000 {
        for i in [0, 1] {
            let now = world.now;
            let side = &mut sides[i];
            world.hosts[side.host].read(side.end, usize::MAX, &mut side.got, now);
            let asks = i == 0 && side.got.len() == side.written && side.written < 100_000;
            if asks || i == 1 && side.got.len() > side.written {
                let piece = &side.file[side.written..side.written + 1000];
                side.written += world.hosts[side.host].write(side.end, piece, now);
            }
        }
        world.run(Time::from_ms(1));
    }
    assert_eq!(sides.map(|side| side.got.len()), [100_000; 2]);
    let packets = world.hosts[A].counters().sent + world.hosts[B].counters().sent;
    // The handshake, and the last acknowledgement.
    assert!((200..210).contains(&packets), "{packets}");
}

/// RCP's SYN-ACK asks the network, too: the answer begins at its rate, not with a packet in a round trip of 12 ms.
#[test]
fn an_answer_begins_at_what_the_network_offers() {
    let mut world = World::with("rcp", Windows::ample(), 0.0, 4, true);
    let mut took = Time::ZERO;
    // The first answer is for the rate to grow.
    for bytes in [3_000_000, 100_000] {
        let mut sides = sides(&mut world, file(1000, 1), file(bytes, 2));
        sides[1].waits_for = 1000;
        let begun = world.now;
        while sides[0].got.len() < bytes {
            for i in [0, 1] {
                let now = world.now;
                let side = &mut sides[i];
                world.hosts[side.host].read(side.end, usize::MAX, &mut side.got, now);
                if side.got.len() >= side.waits_for {
                    side.written += world.hosts[side.host].write(side.end, &side.file[side.written..], now);
                }
            }
            world.run(Time::from_us(200));
        }
        took = world.now - begun;
    }
    // Two round trips, and 100 kB at 20 Mbps with their headers.
    assert!(took < Time::from_ms(24 + 48), "{took:?}");
}

/// Two ends that have nothing to say for ten minutes are still there; if one is cut off or was started
/// anew, the other is told.
#[test]
fn quiet_ends_stay_and_lost_ones_are_noticed() {
    let begin = || {
        let mut world = world("cubic", 0.0, 5);
        let mut sides = sides(&mut world, file(1000, 1), file(1000, 2));
        for _ in 0..100 {
            for side in &mut sides {
                let now = world.now;
                side.written += world.hosts[side.host].write(side.end, &side.file[side.written..], now);
            }
            world.run(Time::from_ms(1));
        }
        (world, sides)
    };
    let wait = |world: &mut World, seconds| {
        (0..seconds).for_each(|_| {
            world.run(Time::from_secs(1));
            world.tick();
        });
    };
    let (mut quiet, mut sides) = begin();
    wait(&mut quiet, 600);
    assert_eq!([sides[0].ended(&quiet), sides[1].ended(&quiet)], [[None; 2]; 2]);
    let sent: u64 = [A, B].iter().map(|host| quiet.hosts[*host].counters().sent).sum();
    assert!(sent < 100, "{sent} packets in ten minutes of silence");
    assert_eq!(exchange(&mut quiet, &mut sides), COMPLETE);

    let (mut cut, sides) = begin();
    let now = cut.now;
    cut.hosts[1].set_rate(PortId(0), None, now);
    cut.hosts[1].set_rate(PortId(1), None, now);
    wait(&mut cut, 20);
    assert_eq!([sides[0].ended(&cut), sides[1].ended(&cut)], [[Some(Ended::TimedOut); 2]; 2]);

    for anew in [0, 1] {
        let (mut world, sides) = begin();
        let host = sides[anew].host;
        world.hosts[host] = self::world("cubic", 0.0, 6).hosts.swap_remove(host);
        wait(&mut world, 6);
        assert_eq!(sides[1 - anew].ended(&world), [Some(Ended::Reset); 2]);
    }
}

/// The last acknowledgement is lost, and repeats of the FIN that ask for it: the end in TIME-WAIT is
/// still there, for a reset would say that data are lost.
#[test]
fn the_last_acknowledgement_may_be_lost() {
    let mut world = world("cubic", 0.0, 4);
    let mut sides = sides(&mut world, file(1000, 1), file(1000, 2));
    sides[0].close(&mut world);
    world.run(Time::from_ms(500));
    sides[1].close(&mut world);
    for _ in 0..1000 {
        let now = world.now;
        world.hosts[A].read(sides[0].end, usize::MAX, &mut sides[0].got, now);
        if sides[0].ended(&world) == COMPLETE[0] {
            break;
        }
        world.run(Time::from_us(100));
    }
    assert_eq!([sides[0].ended(&world), sides[1].ended(&world)], [COMPLETE[0], [None; 2]]);
    world.lose_all(Time::from_ms(1500));
    check(&mut world, sides, "after that");
}

/// After the close, all that the peer has ever sent comes again, FIN and data: both sides have ended as they
/// should, the end in TIME-WAIT answers no more than it gets, and takes a fraction of an open one's memory.
#[test]
fn what_comes_after_the_close_is_answered_by_little() {
    for scheme in BOTH {
        let mut world = world(scheme, 0.0, 4);
        let mut sides = sides(&mut world, file(50_000, 1), file(50_000, 2));
        world.seen = Some(Vec::new());
        let size = |world: &World| world.hosts[A].node().endpoints().map(|(.., e)| size_of_val(e)).sum::<usize>();
        world.run(Time::from_ms(50));
        let open = size(&world);
        sides[0].close(&mut world);
        // B reads what comes, so that A's end is there before B closes.
        for _ in 0..10 {
            world.run(Time::from_ms(50));
            let (end, now) = (sides[1].end, world.now);
            world.hosts[B].read(end, 50_000, &mut sides[1].got, now);
        }
        sides[1].close(&mut world);
        world.run(Time::from_ms(500));
        check(&mut world, sides, scheme);
        let closed = size(&world);
        // A third of what an open end took while it stood in one piece: what it has in boxes is not seen here.
        assert!(closed > 0 && closed <= 240 && closed < open, "{closed} of {open} bytes");
        let (came, before) = (world.hosts[A].counters().received, world.hosts[A].counters().sent);
        world.repeat(A);
        let came = world.hosts[A].counters().received - came;
        assert_eq!(size(&world), closed, "nothing is opened");
        world.run(Time::from_ms(100));
        let sent = world.hosts[A].counters().sent - before;
        assert!(came > 40 && sent > 30 && sent <= came, "{sent} answers to {came} packets");
        world.run(Time::from_secs(60));
        assert_eq!(world.hosts[A].node().endpoints().count(), 0, "it is over");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// Loss, repeats, reordering, corruption and late wake-ups: what comes out is what went in.
    #[test]
    fn nothing_is_ever_lost_or_made_up(
        there in 0usize..120_000, back in 0usize..120_000, harm in 0.0..0.06, seed in any::<u64>(), scheme in 0..BOTH.len(),
    ) {
        let mut world = world(BOTH[scheme], harm, seed);
        let mut sides = sides(&mut world, file(there, 1), file(back, 2));
        let ended = exchange(&mut world, &mut sides);
        for (got, file, how) in [(0, 1, ended[0][1]), (1, 0, ended[1][1])] {
            let (got, file) = (&sides[got].got, &sides[file].file);
            prop_assert!(file.starts_with(got));
            prop_assert!(how != Some(Ended::Complete) || got == file, "an end that is none: {:?}", ended);
        }
        // Where 4 % are lost or corrupted each way nobody gives up; else one of them may.
        prop_assert!(harm > 0.02 || ended == COMPLETE, "{:?}", ended);
    }
}
