//! Memory of messages that have come: none. In a test of its own, for allocations of all threads are counted.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use cap::Cap;
use midpath_schemes::Catalogue;
use midpath_sim::{Host, RunOptions, Session};

#[global_allocator]
static ALLOCATED: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Sends one message after the other, and notes what is allocated after each `every`.
fn chain(session: &mut Session, left: u32, marks: &Rc<RefCell<Vec<usize>>>, every: u32) {
    if left.is_multiple_of(every) {
        marks.borrow_mut().push(ALLOCATED.allocated());
    }
    if left > 0 {
        let (marks, from, to) = (marks.clone(), Host(left as usize % 3), Host((left as usize + 1) % 3));
        session.recv(from, to, 1_000, 0, Box::new(move |s| chain(s, left - 1, &marks, every))).unwrap();
        session.send(from, to, 1_000, 0, Box::new(|_| {})).unwrap();
    }
}

/// Allocated bytes after each part of so many messages.
fn allocated(scheme: &str, messages: u32, every: u32) -> Vec<usize> {
    let network = format!(
        "scheme = \"{scheme}\"\n[topology]\ngenerate = \"star\"\nn = 3\naccess = {{ rate = \"100 Gbps\", delay = \"500 ns\" }}\n"
    );
    // TCP leaves an end in TIME-WAIT and a timer, each for a time, here a short one.
    let short =
        if scheme == "dctcp" { "[schemes.dctcp]\nmin_rto = \"100 us\"\ninitial_rto = \"100 us\"\n" } else { "" };
    let (options, catalogue) = (RunOptions::default(), Catalogue::standard());
    let mut session = Session::new(&(network + short), Path::new("."), &options, &catalogue).unwrap();
    let marks = Rc::new(RefCell::new(Vec::with_capacity(100)));
    chain(&mut session, messages, &marks, every);
    session.run().unwrap();
    assert!(session.known() < 10, "{} are known", session.known());
    marks.take()
}

/// A host remembers the number of each of the last 65,536 flows that it has received; their ends are gone.
#[test]
fn messages_that_have_come_take_no_memory() {
    for scheme in ["uec", "dctcp"] {
        let marks = allocated(scheme, 16_000, 8_000);
        let each = (marks[2] as i64 - marks[1] as i64) / 8_000;
        assert!(each < 40, "{each} B a message of {scheme}");
    }
}

/// `cargo test -p midpath-sim --test session_memory -- --ignored --nocapture`
#[test]
#[ignore = "nightly"]
fn a_million_messages_take_as_much_memory_as_four_hundred_thousand() {
    let marks = allocated("uec", 1_000_000, 200_000);
    println!("{marks:?} B");
    assert!(marks[5] <= marks[2], "{marks:?}");
}
