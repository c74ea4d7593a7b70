//! Applications at both ends of flows, in virtual time: readers that are slow, writers that have
//! something now and then, flows that are given up, wires that lose, repeat, reorder and corrupt.
//! What comes out is what went in, or the application is told that it isn't.

mod both_ways;
mod one_connection;
mod world;

use midpath_core::packet::{NodeId, PortId};
use midpath_core::rng::below;
use midpath_core::roles::Ended;
use midpath_core::units::Time;
use midpath_node::bytes::Windows;

use world::{A, B, World, file, other};

/// A writer that has something now and then, a reader that takes something now and then. Returns
/// what the reader has got, and how each side was told that it ended.
fn transfer(world: &mut World, file: &[u8], stall: Time) -> (Vec<u8>, Option<Ended>, Option<Ended>) {
    let now = world.now;
    let end = world.hosts[A].connect(NodeId(B as u32), now);
    let (there, mut written, mut got) = (other(end, A), 0, Vec::new());
    let mut stalled = Time::ZERO;
    for _ in 0..100_000 {
        let now = world.now;
        let piece = (1 + below(&mut world.rng, 60_000) as usize).min(file.len() - written);
        written += world.hosts[A].write(end, &file[written..written + piece], now);
        if written == file.len() {
            world.hosts[A].close(end, now);
        }
        if now >= stalled {
            let most = 1 + below(&mut world.rng, 40_000) as usize;
            world.hosts[B].read(there, most, &mut got, now);
            if below(&mut world.rng, 50) == 0 {
                stalled = now + stall;
            }
        }
        let sent = world.hosts[A].outgoing(end).and_then(|o| o.ended());
        let incoming = world.hosts[B].incoming(there);
        let received = incoming.and_then(|i| i.ended());
        let over = received.is_some_and(|why| why != Ended::Complete) || incoming.is_some_and(|i| i.is_done());
        if over && sent.is_some() {
            return (got, sent, received);
        }
        let pause = Time(1_000_000_000 + below(&mut world.rng, 20_000_000_000));
        world.run(pause);
    }
    panic!("it does not end: {written} of {} written, {} read", file.len(), got.len());
}

/// Those whose packets carry bytes.
const CARRY: [&str; 6] = ["newreno", "cubic", "rcp", "fcp", "inrpp", "bolt"];

#[test]
fn what_comes_out_is_what_went_in() {
    for (i, scheme) in CARRY.into_iter().enumerate() {
        for harm in [0.0, 0.01] {
            let file = file(400_000, i as u64);
            let mut world = World::new(scheme, Windows::new(1 << 20, 1 << 18), harm, 3 + i as u64);
            let (got, sent, received) = transfer(&mut world, &file, Time::from_ms(700));
            assert!(got == file, "{scheme}, {harm}: {} of {} bytes", got.len(), file.len());
            assert_eq!([sent, received], [Some(Ended::Complete); 2], "{scheme}, {harm}");
        }
    }
}

/// A reader that stops makes the writer stop: what is promised is all that is held.
#[test]
fn a_reader_that_stops_makes_the_writer_stop() {
    for scheme in CARRY {
        let mut world = World::new(scheme, Windows::new(1 << 20, 100_000), 0.0, 1);
        let (file, now) = (file(3_000_000, 9), world.now);
        let end = world.hosts[A].connect(NodeId(B as u32), now);
        let mut written = world.hosts[A].write(end, &file, now);
        let (there, mut got) = (other(end, A), Vec::new());
        while got.len() < 60_000 {
            world.run(Time::from_ms(20));
            let now = world.now;
            world.hosts[B].read(there, usize::MAX, &mut got, now);
            written += world.hosts[A].write(end, &file[written..], now);
        }
        world.run(Time::from_secs(60));
        let now = world.now;
        let held = world.hosts[B].incoming(there).expect("it has come").readable();
        assert!(held > 60_000 && held <= 100_000, "{scheme}: {held}");
        assert!(world.hosts[B].held()[0] <= 100_000, "{scheme}");
        // After a minute of silence it goes on at once.
        let mut times = 0;
        while got.len() < file.len() {
            let now = world.now;
            world.hosts[B].read(there, usize::MAX, &mut got, now);
            written += world.hosts[A].write(end, &file[written..], now);
            world.run(Time::from_ms(20));
            times += 1;
            assert!(times < 5000, "{scheme}: {} bytes", got.len());
        }
        let rest = (world.now - now).as_secs_f64();
        assert!(got == file && rest < 30.0, "{scheme}: the rest took {rest} s");
    }
}

/// Whoever gives a flow up, the other side is told, and never that it is complete.
#[test]
fn a_flow_that_is_given_up_is_reset() {
    for (i, scheme) in CARRY.into_iter().enumerate() {
        for by in [A, B] {
            for after in [0, 3, 40, 300] {
                let mut world = World::new(scheme, Windows::default(), 0.01, 11 + i as u64 + after);
                let (file, now) = (file(3_000_000, 1), world.now);
                let end = world.hosts[A].connect(NodeId(B as u32), now);
                world.hosts[A].write(end, &file, now);
                world.run(Time::from_ms(after));
                let (there, now) = (other(end, A), world.now);
                if by == B && world.hosts[B].incoming(there).is_none() {
                    continue; // it has not come yet
                }
                world.hosts[by].abort(if by == A { end } else { there }, now);
                // The reset may be lost; then the silence is noticed.
                (0..100).for_each(|_| {
                    world.run(Time::from_secs(1));
                    world.tick();
                });
                let told = match by {
                    A => world.hosts[B].incoming(there).map(|i| i.ended()),
                    _ => world.hosts[A].outgoing(end).map(|o| o.ended()),
                };
                // A flow that was given up before its SYN arrived is one that nobody knows of.
                let expected = [None, Some(Some(Ended::Reset)), Some(Some(Ended::Refused))];
                let unknown = after < 10 && told.is_none();
                assert!(unknown || told.is_some() && expected.contains(&told), "{scheme}, {by}, {after}: {told:?}");
                assert_eq!(world.hosts[by].held()[0], 0, "{scheme}: what was promised comes back");
            }
        }
    }
}

/// A peer that falls silent is given up; one that was started anew says that it knows nothing of the
/// flow; one that has nothing to say for an hour is still there.
#[test]
fn a_peer_that_is_gone_is_noticed_and_one_that_is_quiet_is_not_given_up() {
    for scheme in CARRY {
        let begin = || {
            let mut world = World::new(scheme, Windows::default(), 0.0, 5);
            let now = world.now;
            let end = world.hosts[A].connect(NodeId(B as u32), now);
            world.hosts[A].write(end, &file(10_000, 1), now);
            world.run(Time::from_secs(1));
            (world, end)
        };
        let ended = |world: &World, end| world.hosts[B].incoming(other(end, A)).expect("it has come").ended();
        let (mut quiet, end) = begin();
        for _ in 0..3600 {
            quiet.run(Time::from_secs(1));
            quiet.tick();
        }
        assert_eq!(ended(&quiet, end), None, "{scheme}");
        let now = quiet.now;
        quiet.hosts[A].close(end, now);
        quiet.run(Time::from_secs(1));
        assert_eq!(ended(&quiet, end), Some(Ended::Complete), "{scheme}");

        let (mut silent, end) = begin();
        let now = silent.now;
        silent.hosts[A].set_rate(PortId(0), None, now);
        (0..15).for_each(|_| {
            silent.run(Time::from_secs(1));
            silent.tick();
        });
        assert_eq!(ended(&silent, end), Some(Ended::TimedOut), "{scheme}");

        let (mut anew, end) = begin();
        anew.hosts[A] = World::new(scheme, Windows::default(), 0.0, 6).hosts.swap_remove(A);
        (0..5).for_each(|_| {
            anew.run(Time::from_secs(1));
            anew.tick();
        });
        assert_eq!(ended(&anew, end), Some(Ended::Reset), "{scheme}");
    }
}

/// Two hosts that open the same number toward a third one, and this one toward them.
#[test]
fn flows_of_one_number_between_other_nodes_are_other_flows() {
    let mut world = World::new("cubic", Windows::default(), 0.0, 5);
    let now = world.now;
    // All hosts count from the same number: `a` and `r` open the same flow to `b`.
    let ends = [A, 1].map(|from| (from, world.hosts[from].connect(NodeId(B as u32), now)));
    assert_eq!(ends[0].1.flow, ends[1].1.flow);
    let back = world.hosts[B].connect(NodeId(A as u32), now);
    for (from, end) in ends.into_iter().chain([(B, back)]) {
        let file = file(50_000, from as u64);
        world.hosts[from].write(end, &file, now);
        world.hosts[from].close(end, now);
    }
    let all = [(A, ends[0].1, B), (1, ends[1].1, B), (B, back, A)];
    let mut got = [(); 3].map(|()| Vec::new());
    for _ in 0..200 {
        world.run(Time::from_ms(100));
        let now = world.now;
        for ((from, end, to), got) in all.iter().zip(&mut got) {
            world.hosts[*to].read(other(*end, *from), usize::MAX, got, now);
        }
    }
    for ((from, ..), got) in all.iter().zip(got) {
        let from = *from;
        assert!(got == file(50_000, from as u64), "from {from}: {} bytes", got.len());
    }
}

/// When both applications are done with their flows, nothing is left of them on either side.
#[test]
fn nothing_is_left_of_flows_that_have_ended() {
    for scheme in CARRY {
        let mut world = World::new(scheme, Windows::default(), 0.01, 21);
        for round in 0..12 {
            let now = world.now;
            let end = world.hosts[A].connect(NodeId(B as u32), now);
            world.hosts[A].write(end, &file(30_000, 1), now);
            if round % 3 != 0 {
                world.hosts[A].close(end, now);
            }
            world.run(Time::from_ms(200 * (round % 4)));
            let (there, now) = (other(end, A), world.now);
            world.hosts[B].read(there, usize::MAX, &mut Vec::new(), now);
            if round % 2 == 0 {
                world.run(Time::from_secs(20));
            }
            // Either side may be done first, in the middle or at the end.
            let now = world.now;
            for (host, end) in [(A, end), (B, there)].into_iter().skip((round % 2) as usize) {
                world.hosts[host].forget(end, now);
            }
            world.run(Time::from_secs(1));
            let now = world.now;
            world.hosts[A].forget(end, now);
        }
        for _ in 0..200 {
            world.run(Time::from_secs(1));
            world.tick();
            let now = world.now;
            for host in [A, B] {
                world.hosts[host].take_changed().into_iter().for_each(|end| world.hosts[host].forget(end, now));
            }
        }
        for host in [A, B] {
            let ends = world.hosts[host].node().endpoints().count();
            assert_eq!((world.hosts[host].held(), ends), ([0, 0, 0], 0), "{scheme}, host {host}");
        }
    }
}

/// What strangers send costs what it costs, and nothing stays.
#[test]
fn a_thousand_flows_that_say_nothing_stay_within_the_budget() {
    let mut world = World::new("newreno", Windows::new(1 << 20, 1 << 18), 0.0, 5);
    for _ in 0..1000 {
        let now = world.now;
        let end = world.hosts[A].connect(NodeId(B as u32), now);
        world.hosts[A].write(end, &[7; 2000], now);
        world.run(Time::from_ms(2));
    }
    world.run(Time::from_secs(30));
    let [promised, on_packets, _] = world.hosts[B].held();
    assert!(promised <= 1 << 20 && on_packets == 0, "{promised}, {on_packets}");
}

/// Connections are mostly silent. A sender of INRPP shared its host's line with seven silent flows in
/// equal parts, and got an eighth of it.
#[test]
fn silent_flows_take_nothing_from_one_that_sends() {
    let took = |silent: usize| {
        let mut world = World::new("inrpp", Windows::new(8 << 20, 1 << 20), 0.0, 5);
        let now = world.now;
        for _ in 0..silent {
            world.hosts[A].connect(NodeId(B as u32), now);
        }
        world.run(Time::from_secs(1));
        let begun = world.now;
        let file = file(2_000_000, 5);
        assert!(transfer(&mut world, &file, Time::ZERO).0 == file);
        world.now.saturating_sub(begun).as_secs_f64()
    };
    let (alone, beside) = (took(0), took(7));
    assert!(beside <= 1.2 * alone, "{beside} s, alone {alone} s");
}
