//! Algorithm 1, "Processing of ACK Packets at an Interface", line by line. The paper's lines:
//!
//! | lines | what happens | here |
//! |---|---|---|
//! | 2–13 | the state follows the cache's occupancy S | [`next_state`] |
//! | 4, 8 | the ACK gets a cancellation or a slow-down | [`notification`] |
//! | 14–18 | a slow-down: its nonce is stored, one data packet is sent | [`process`] |
//! | 19–22 | it is not forwarded unless this interface is also in B | [`process`], then [`notification`] |
//! | 23–25 | a cancellation: its nonce is removed | [`process`] |
//! | 27 | the ACK goes on | the port's next step |
//!
//! If lines and text contradict each other, the text and figure 3 prevail, as noted at each such place.

use super::header::{Nonce, Slow};
use super::state::{Notification, State, Thresholds};

/// Lines 2 to 13: the state that follows `state` at occupancy `s`. `expired` says whether the timer
/// of line 5 has run out.
#[inline]
pub fn next_state(state: State, s: u64, t: &Thresholds, expired: bool) -> State {
    match state {
        // 2, 3: if i.state = B & S < S_low then i.state ← DB. An empty cache is below any S_low,
        // and below one of zero.
        State::Backpressure if s < t.low || s == 0 => State::DisableBackpressure,
        // Line 9 would leave B as soon as S is back at S_high, without a cancellation, and line 2
        // would then never hold. "Once the occupancy drops below S_low, interface i leaves the
        // Backpressure state" (§II-A.3).
        State::Backpressure => State::Backpressure,
        // 6, 7: else if S > S_high then i.state ← B. Also out of DB (§II-A.4).
        _ if s > t.high => State::Backpressure,
        // 5: until its timer expires.
        State::DisableBackpressure if !expired => State::DisableBackpressure,
        // 9, 10: else if S > 0 then i.state ← S&D.
        _ if s > 0 => State::StoreAndDetour,
        // 11, 12: else i.state ← P.
        _ => State::Push,
    }
}

/// Lines 4 and 8: what this interface has to say to the hop upstream. `cancelling` says whether it
/// has left B a short while ago.
#[inline]
pub fn notification(state: State, cancelling: bool) -> Option<Notification> {
    match state {
        // 8: p.notification.append(slow-down).
        State::Backpressure => Some(Notification::SlowDown),
        // 4: p.notification.append(cancel). On all ACKs for a while, not on the one of line 4: an
        // ACK may be lost.
        _ if cancelling => Some(Notification::Cancel),
        _ => None,
    }
}

/// What lines 14 to 25 need of interface i for the flow of an ACK.
pub trait Interface {
    /// i.stored-nonces.add: the flow is in closed loop from here on.
    fn add_nonce(&mut self, nonce: Nonce);
    /// Cache.get(p.flow) and forward: data for the ACK. One packet in the paper; with steering,
    /// what `slow` says.
    fn forward_data(&mut self, slow: Slow);
    /// i.stored-nonces.remove.
    fn remove_nonce(&mut self, nonce: Nonce);
}

/// Lines 14 to 26, on what the hop downstream has put on the ACK.
///
/// The slow-down is always taken off (line 21). Where this interface is in B, line 8 puts its own
/// on, under its own nonce: in the paper the one from downstream stays (lines 19 to 22), and a
/// cancellation of this interface's nonce would undo nothing upstream. An ACK may bring both, from
/// different hops; the paper's "else" on line 23 would lose one.
pub fn process(i: &mut impl Interface, slow: &mut Option<Slow>, cancel: Option<Nonce>) {
    // 14: if p.notification = slow-down then
    if let Some(slow) = slow.take() {
        // 15, 16
        i.add_nonce(slow.nonce);
        // 17, 18
        i.forward_data(slow);
    }
    // 23: else if p.notification = cancel then
    if let Some(nonce) = cancel {
        // 24, 25
        i.remove_nonce(nonce);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Thresholds = Thresholds { size: 100, high: 80, low: 40 };

    /// Figure 3, by hand: occupancies and the states that they lead to, the timer of line 5 running
    /// until told otherwise.
    #[test]
    fn the_states_of_figure_3() {
        use State::{Backpressure as B, DisableBackpressure as Db, Push as P, StoreAndDetour as Sd};
        let walk = [(0, P), (10, Sd), (80, Sd), (81, B), (80, B), (40, B), (39, Db), (10, Db), (81, B), (0, Db)];
        let mut state = P;
        for (s, next) in walk {
            state = next_state(state, s, &T, false);
            assert_eq!(state, next, "at {s}");
        }
        assert_eq!((next_state(Db, 10, &T, true), next_state(Db, 0, &T, true)), (Sd, P));
        assert_eq!(
            (notification(B, false), notification(Db, true), notification(Sd, false)),
            (Some(Notification::SlowDown), Some(Notification::Cancel), None)
        );
    }

    /// Writes down what it is asked for.
    #[derive(Default)]
    struct Script(Vec<String>);

    impl Interface for Script {
        fn add_nonce(&mut self, nonce: Nonce) {
            self.0.push(format!("add {}", nonce.0));
        }
        fn forward_data(&mut self, slow: Slow) {
            self.0.push(format!("forward {}", slow.release));
        }
        fn remove_nonce(&mut self, nonce: Nonce) {
            self.0.push(format!("remove {}", nonce.0));
        }
    }

    #[test]
    fn lines_14_to_26_by_hand() {
        let run = |slow: Option<u16>, cancel: Option<u16>| {
            let (mut i, mut slow) = (Script::default(), slow.map(|n| Slow { nonce: Nonce(n.into()), release: 1 }));
            process(&mut i, &mut slow, cancel.map(|n| Nonce(n.into())));
            assert_eq!(slow, None, "line 21");
            i.0
        };
        assert_eq!(run(Some(7), None), ["add 7", "forward 1"]);
        assert_eq!(run(None, Some(7)), ["remove 7"]);
        assert_eq!(run(Some(7), Some(9)), ["add 7", "forward 1", "remove 9"]);
        assert!(run(None, None).is_empty());
    }
}
