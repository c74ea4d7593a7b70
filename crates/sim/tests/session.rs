//! Messages sent at run time: the same times as a scenario's flows and collectives, whatever a program does.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;

use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{Ended, Host, RunOptions, Session, SessionError, run_text};
use proptest::prelude::*;

fn session_with(text: &str, options: &RunOptions) -> Result<Session, String> {
    Session::new(text, Path::new("."), options, &Catalogue::standard()).map_err(|e| e.to_string())
}

fn session(text: &str) -> Session {
    session_with(text, &RunOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Start in microseconds, sender, receiver, bytes.
type Message = (u64, usize, usize, u64);

/// Ends of messages in picoseconds.
type Ends = Rc<RefCell<Vec<u64>>>;

const WIRE: &str = "{ rate = \"100 Gbps\", delay = \"500 ns\", mtu = 4150 }";

fn leaf_spine(scheme: &str, (leaves, spines, per_leaf): (usize, usize, usize)) -> String {
    format!(
        "scheme = \"{scheme}\"\n[topology]\ngenerate = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\n\
         per_leaf = {per_leaf}\nlink = {WIRE}\naccess = {WIRE}\n"
    )
}

fn torus(scheme: &str, dims: (usize, usize)) -> String {
    format!("scheme = \"{scheme}\"\n[topology]\ngenerate = \"torus\"\ndims = [{}, {}]\nlink = {WIRE}\n", dims.0, dims.1)
}

fn star(scheme: &str, n: usize) -> String {
    format!("scheme = \"{scheme}\"\n[topology]\ngenerate = \"star\"\nn = {n}\naccess = {WIRE}\n")
}

/// The ends of a scenario's flows, by their order of start.
fn in_advance(network: &str, messages: &[Message]) -> Vec<u64> {
    let mut text = network.to_owned();
    for (start, from, to, bytes) in messages {
        let ends = format!("from = \"h{from}\"\nto = \"h{to}\"");
        write!(text, "[[flow]]\n{ends}\nsize = \"{bytes} B\"\nstart = \"{start} us\"\n").unwrap();
    }
    let out = run_text(&text, Path::new("."), &RunOptions::default(), &mut |_| true).unwrap().unwrap();
    ends_of(&out)
}

fn ends_of(out: &midpath_sim::RunOutput) -> Vec<u64> {
    let flows = out.table("flows").unwrap();
    let ends = flows.f64("start_s").iter().zip(flows.f64("fct_s"));
    ends.map(|(start, took)| ((start + took) * 1e12).round() as u64).collect()
}

/// The ends of the same messages, each sent when it is to start.
fn at_run_time(mut session: Session, messages: &[Message]) -> (Vec<u64>, Session) {
    let ends: Ends = Rc::new(RefCell::new(vec![0; messages.len()]));
    for (i, (start, from, to, bytes)) in messages.iter().copied().enumerate() {
        let ends = ends.clone();
        let host = |session: &Session, i| session.host(&format!("h{i}")).expect("a host");
        let send = move |session: &mut Session| {
            let note = Box::new(move |session: &mut Session| ends.borrow_mut()[i] = session.now().0);
            session.send(host(session, from), host(session, to), bytes, i as u64, note).unwrap();
        };
        session.schedule(Time::from_us(start), Box::new(send)).unwrap();
    }
    assert_eq!(session.run(), Ok(Ended::Idle));
    assert_eq!(session.under_way(), 0);
    let ends = ends.borrow().clone();
    (ends, session)
}

/// Of so many hosts, in order of start; the first is between the hosts that are farthest from each other, since schemes are
/// told of the longest round trip.
fn drawn(most: usize) -> impl Strategy<Value = Vec<(u64, usize, usize, u64)>> {
    let size = prop_oneof![1u64..2_000, 2_000u64..400_000];
    prop::collection::vec((0u64..60, 0usize..1000, 0usize..1000, size), 1..most)
}

fn placed(drawn: Vec<Message>, hosts: usize, far: usize) -> Vec<Message> {
    let mut messages = vec![(0, 0, far, 30_000)];
    let of_hosts = drawn.into_iter().map(|(start, from, to, size)| (start, from % hosts, to % hosts, size));
    messages.extend(of_hosts.filter(|(_, from, to, _)| from != to));
    messages.sort_by_key(|message| message.0);
    messages
}

/// Nanoseconds: a result has seconds in floating point.
fn same(advance: &[u64], run_time: &[u64]) {
    assert_eq!(advance.len(), run_time.len());
    let off = advance.iter().zip(run_time).position(|(a, b)| a.abs_diff(*b) > 1);
    assert_eq!(off, None, "{advance:?}\n{run_time:?}");
}

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

const SCHEMES: [&str; 7] = ["newreno", "cubic", "dctcp", "uec", "swift", "falcon", "inrpp"];

proptest! {
    #![proptest_config(cases(24))]

    /// In picoseconds to what a float of seconds keeps.
    #[test]
    fn messages_end_when_flows_of_a_leaf_spine_do(
        scheme in prop::sample::select(SCHEMES.to_vec()), shape in (2usize..4, 1usize..4, 1usize..4), drawn in drawn(20), wire: bool,
    ) {
        let (network, per_leaf) = (leaf_spine(scheme, shape), shape.2);
        let messages = placed(drawn, shape.0 * per_leaf, per_leaf);
        let options = RunOptions { wire, ..RunOptions::default() };
        let (ends, _) = at_run_time(session_with(&network, &options).unwrap(), &messages);
        same(&in_advance(&network, &messages), &ends);
    }

    #[test]
    fn messages_end_when_flows_of_a_torus_do(
        scheme in prop::sample::select(SCHEMES.to_vec()), dims in (2usize..5, 2usize..5), drawn in drawn(20),
    ) {
        let network = torus(scheme, dims);
        let far = dims.0 / 2 * dims.1 + dims.1 / 2;
        let messages = placed(drawn, dims.0 * dims.1, far);
        let (ends, _) = at_run_time(session(&network), &messages);
        same(&in_advance(&network, &messages), &ends);
    }
}

/// A rank of a ring that reduces: it sends step k + 1 when step k has come.
fn ring(session: &mut Session, rank: usize, step: usize, n: usize, share: u64, last: &Rc<Cell<Time>>) {
    if step == 2 * (n - 1) {
        return;
    }
    let (next, last) = ((rank + 1) % n, last.clone());
    let on_come = move |session: &mut Session| {
        last.set(session.now());
        ring(session, next, step + 1, n, share, &last);
    };
    session.recv(Host(rank), Host(next), share, step as u64, Box::new(on_come)).unwrap();
    session.send(Host(rank), Host(next), share, step as u64, Box::new(|_| {})).unwrap();
}

#[test]
fn a_ring_by_callbacks_takes_as_long_as_the_scenarios_own() {
    for (scheme, n, share) in
        [("dctcp", 8, 125_000), ("newreno", 5, 40_000), ("uec", 8, 125_000), ("falcon", 4, 33_333)]
    {
        for network in [star(scheme, n), leaf_spine(scheme, (n, 1, 1))] {
            let job =
                format!("[[job]]\ncollective = \"all-reduce\"\nhosts = [\"h*\"]\nsize = \"{} B\"\n", n as u64 * share);
            let out = run_text(&(network.clone() + &job), Path::new("."), &RunOptions::default(), &mut |_| true);
            let whole = ends_of(&out.unwrap().unwrap()).into_iter().max().unwrap();
            let (mut session, last) = (session(&network), Rc::new(Cell::new(Time::ZERO)));
            (0..n).for_each(|rank| ring(&mut session, rank, 0, n, share, &last));
            assert_eq!(session.run(), Ok(Ended::Idle));
            assert!(last.get().0.abs_diff(whole) <= 1, "{scheme} {n}: {} and {whole}\n{network}", last.get().0);
            // No ring is faster: each rank sends all its shares over its own link.
            let bound = (2 * (n as u64 - 1) * share * 8) * 10;
            assert!(last.get().0 > bound && last.get().0 < 4 * bound, "{} ps, {bound} at the least", last.get().0);
        }
    }
}

#[test]
fn what_is_done_twice_is_the_same_twice() {
    let network = leaf_spine("dctcp", (3, 3, 2));
    let message = |i: usize| (i as u64 / 20, i % 6, (i + 1 + i / 6) % 6, 5_000 * i as u64 + 1);
    let messages: Vec<Message> = (0..200).map(message).filter(|(_, from, to, _)| from != to).collect();
    let runs = [0, 1].map(|_| at_run_time(session(&network), &messages));
    assert_eq!(runs[0].0, runs[1].0);
    assert_eq!(runs[0].1.packet_hops(), runs[1].1.packet_hops());
}

fn nothing() -> midpath_sim::Callback {
    Box::new(|_| {})
}

/// Each mistake is one error, after which the session goes on as if it had not been made.
#[test]
fn mistakes_change_nothing() {
    let plain = {
        let (mut session, ends) = (session(&star("dctcp", 3)), Rc::new(Cell::new(Time::ZERO)));
        let note = ends.clone();
        session.send(Host(0), Host(1), 100_000, 1, Box::new(move |s| note.set(s.now()))).unwrap();
        session.run().unwrap();
        ends.get()
    };
    let (mut session, ends) = (session(&star("dctcp", 3)), Rc::new(Cell::new(Time::ZERO)));
    for (result, error) in [
        (session.send(Host(3), Host(1), 1, 1, nothing()), SessionError::NoHost(3, 3)),
        (session.send(Host(0), Host(usize::MAX), 1, 1, nothing()), SessionError::NoHost(usize::MAX, 3)),
        (session.recv(Host(7), Host(1), 1, 1, nothing()), SessionError::NoHost(7, 3)),
        (session.send(Host(0), Host(1), 0, 1, nothing()), SessionError::NoBytes),
        (session.recv(Host(0), Host(1), 0, 1, nothing()), SessionError::NoBytes),
        (session.send(Host(2), Host(2), 9, 1, nothing()), SessionError::Itself(2)),
        (session.schedule(Time::MAX, nothing()), SessionError::TooLate),
    ] {
        assert_eq!(result, Err(error));
    }
    assert_eq!((session.under_way(), session.waiting(), session.now()), (0, 0, Time::ZERO));
    let note = ends.clone();
    let on_done = move |session: &mut Session| {
        assert_eq!(session.run(), Err(SessionError::Nested));
        note.set(session.now());
    };
    session.send(Host(0), Host(1), 100_000, 1, Box::new(on_done)).unwrap();
    assert_eq!(session.run(), Ok(Ended::Idle));
    assert_eq!(ends.get(), plain);
    assert_eq!((session.host("r0"), session.host("h2"), session.name(Host(2))), (None, Some(Host(2)), Some("h2")));
    assert_eq!(SessionError::NoHost(3, 3).to_string(), "there is no host 3; the fabric has 3, numbered from 0");
}

#[test]
fn scenarios_without_messages_are_refused() {
    let refused = |text: &str, options: &RunOptions| session_with(text, options).err().unwrap();
    let star = |scheme| star(scheme, 3);
    let several = RunOptions { threads: 2, ..RunOptions::default() };
    assert!(refused(&star("dctcp"), &several).contains("a session runs in one thread"));
    assert!(refused(&star("ideal"), &RunOptions::default()).contains("`ideal` is a fluid model"));
    assert!(refused(&star("rpm"), &RunOptions::default()).contains("carries no flows"));
    assert!(refused("scheme = 3", &RunOptions::default()).contains("line 1"));
}

/// Whichever comes first, and however the bytes are cut.
#[test]
fn receives_are_served_in_order() {
    let mut session = session(&star("dctcp", 3));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = seen.clone();
        Box::new(move |session: &mut Session| seen.borrow_mut().push((name, session.now())))
    };
    session.recv(Host(0), Host(1), 700, 5, note("first")).unwrap();
    session.recv(Host(0), Host(1), 900, 5, note("second")).unwrap();
    session.send(Host(0), Host(1), 1_000, 5, note("sent")).unwrap();
    session.send(Host(0), Host(1), 1_000, 6, note("other tag")).unwrap();
    assert_eq!(session.run(), Ok(Ended::Idle));
    assert_eq!(session.waiting(), 1, "600 bytes are missing");
    let late = session.now();
    session.send(Host(0), Host(1), 1_000, 5, nothing()).unwrap();
    session.run().unwrap();
    let end = session.now();
    // 400 bytes of tag 5 and 1000 of tag 6 are there: at once.
    session.recv(Host(0), Host(1), 400, 5, note("rest")).unwrap();
    session.recv(Host(0), Host(1), 1_000, 6, note("of the other")).unwrap();
    session.recv(Host(1), Host(0), 1, 5, note("never")).unwrap();
    assert_eq!(session.run(), Ok(Ended::Idle));
    assert_eq!((session.now(), session.waiting()), (end, 1));
    let seen = seen.borrow();
    let names: Vec<_> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["sent", "first", "other tag", "second", "rest", "of the other"]);
    assert_eq!(seen[0].1, seen[1].1);
    assert!(seen[2].1 == late && seen[3].1 == end && seen[5].1 == end);
}

#[test]
fn callbacks_are_called_in_order_of_time_and_of_asking() {
    let mut session = session(&star("dctcp", 3));
    let seen = Rc::new(RefCell::new(Vec::new()));
    for (i, us) in [5u64, 3, 5, 0, 3].into_iter().enumerate() {
        let seen = seen.clone();
        let again = move |session: &mut Session| {
            seen.borrow_mut().push((session.now(), i));
            let seen = seen.clone();
            session.schedule(Time::ZERO, Box::new(move |s| seen.borrow_mut().push((s.now(), 10 + i)))).unwrap();
        };
        session.schedule(Time::from_us(us), Box::new(again)).unwrap();
    }
    assert_eq!(session.run(), Ok(Ended::Idle));
    let order: Vec<usize> = seen.borrow().iter().map(|(_, i)| *i).collect();
    assert_eq!(order, [3, 13, 1, 4, 11, 14, 0, 2, 10, 12]);
    assert_eq!(session.now(), Time::from_us(5));
}

#[test]
fn it_halts_stops_and_says_that_it_is_stuck() {
    let count = Rc::new(Cell::new(0));
    fn again(count: Rc<Cell<u32>>) -> midpath_sim::Callback {
        Box::new(move |session| {
            count.set(count.get() + 1);
            if count.get() == 3 {
                session.halt();
            }
            session.send(Host(0), Host(1), 10_000, 1, again(count.clone())).unwrap();
        })
    }
    let mut session = session(&(String::from("stop = \"1 ms\"\n") + &star("dctcp", 3)));
    session.halt();
    session.send(Host(0), Host(1), 10_000, 1, again(count.clone())).unwrap();
    assert_eq!((session.run(), count.get(), session.under_way()), (Ok(Ended::Halted), 3, 1));
    assert!(session.now() < Time::from_ms(1));
    assert_eq!(session.run(), Ok(Ended::Stopped));
    assert_eq!((session.now(), session.under_way()), (Time::from_ms(1), 1));
    assert!(count.get() > 10);
    let over = Err(SessionError::Over(Time::from_ms(1)));
    assert_eq!(session.send(Host(0), Host(1), 1, 1, nothing()), over);
    assert_eq!(session.recv(Host(0), Host(1), 1, 1, nothing()), over);
    assert_eq!(session.schedule(Time::ZERO, nothing()), over);
    assert_eq!(session.run(), over.map(|()| Ended::Idle));
    // A datagram that the network loses is not sent again.
    let dead = "[[fault]]\nat = \"0 s\"\nkind = \"link-down\"\nlink = [\"h1\", \"r0\"]\n";
    let mut session = self::session(&(star("udp", 3) + "[schemes.udp]\nrate = \"1 Gbps\"\n" + dead));
    session.send(Host(0), Host(1), 1_000, 1, nothing()).unwrap();
    assert_eq!(session.run(), Ok(Ended::Stuck(1)));
}

/// Four thousand at once, from callbacks in callbacks.
#[test]
fn thousands_may_be_under_way() {
    let mut session = session(&star("dctcp", 8));
    let come = Rc::new(Cell::new(0u32));
    for i in 0..2_000u64 {
        let (from, to) = (Host(i as usize % 8), Host((i as usize + 1 + i as usize / 8 % 7) % 8));
        let come = come.clone();
        let on_done = move |session: &mut Session| {
            come.set(come.get() + 1);
            let come = come.clone();
            session.send(to, from, 2_000, i, Box::new(move |_| come.set(come.get() + 1))).unwrap();
        };
        session.recv(from, to, 3_000, i, Box::new(on_done)).unwrap();
        session.send(from, to, 3_000, i, nothing()).unwrap();
    }
    assert_eq!(session.under_way(), 2_000);
    assert_eq!((session.run(), come.get()), (Ok(Ended::Idle), 4_000));
    assert_eq!((session.under_way(), session.waiting()), (0, 0));
}

/// Those that wait for others, and those of a job, run as in a scenario that has the message, too.
#[test]
fn a_scenarios_own_flows_run_beside_messages() {
    let own = "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"300 kB\"\ngroup = \"a\"\n\
               [[flow]]\nfrom = \"h1\"\nto = \"h2\"\nsize = \"200 kB\"\nafter = [\"a\"]\n\
               [[job]]\ncollective = \"all-reduce\"\nhosts = [\"h*\"]\nsize = \"90 kB\"\niterations = 3\n";
    let network = star("dctcp", 3) + own;
    let (ends, session) = at_run_time(session(&network), &[(10, 2, 1, 400_000)]);
    let message = "[[flow]]\nfrom = \"h2\"\nto = \"h1\"\nsize = \"400 kB\"\nstart = \"10 us\"\n";
    let out = run_text(&(network + message), Path::new("."), &RunOptions::default(), &mut |_| true).unwrap().unwrap();
    assert!(ends_of(&out).iter().any(|end| end.abs_diff(ends[0]) <= 1), "{ends:?} {:?}", ends_of(&out));
    assert!(session.packet_hops() > 1_000);
}
