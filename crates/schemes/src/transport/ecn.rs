//! What two ends agree on about ECN, and how marks are counted: RFC 3168, §6.1.1; RFC 9768, §3.1
//! and §3.2.
//!
//! Accurate ECN (RFC 9768) makes one number of the flags AE, CWR and ECE. On SYN and SYN-ACK it
//! says who understands what; on every later segment it is ACE, the number of packets that came
//! with a CE mark, modulo 8. The TCP option with byte counters is optional, and left out.

use midpath_core::packet::{Ecn, Flags};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which ECN an end asks for, and grants to those who ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// None.
    #[default]
    Off,
    /// RFC 3168. Receivers echo marks as the controller wants it: until CWR, or exactly (RFC 8257).
    Classic,
    /// RFC 9768: receivers count marks. Classic with a peer that knows no better.
    Accurate,
}

/// What both ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Agreed {
    /// No ECN.
    #[default]
    None,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// Both ends' counters begin at 5, which no broken middlebox or peer makes of them by accident (RFC
/// 9768, §3.2.1).
pub const FIRST: u64 = 5;

/// The number that AE, CWR and ECE are together (RFC 9768, figure 3).
pub const fn number(flags: Flags) -> u8 {
    (flags.has(Flags::AE) as u8) << 2 | (flags.has(Flags::CWR) as u8) << 1 | flags.has(Flags::ECE) as u8
}

/// The flags for a number, of which the lowest three bits count.
pub const fn flags(number: u64) -> Flags {
    let mut flags = Flags(0);
    if number & 4 != 0 {
        flags = flags.with(Flags::AE);
    }
    if number & 2 != 0 {
        flags = flags.with(Flags::CWR);
    }
    if number & 1 != 0 {
        flags = flags.with(Flags::ECE);
    }
    flags
}

/// What a SYN asks for when it is sent for the `n`th time, from 0. RFC 9768, §3.1.4.1: twice for
/// accurate ECN, then for none.
pub const fn ask(mode: EcnMode, n: u32) -> Flags {
    match mode {
        EcnMode::Off => Flags(0),
        EcnMode::Classic => flags(0b011),
        EcnMode::Accurate => flags(if n < 2 { 0b111 } else { 0 }),
    }
}

/// What an end in `mode` makes of a SYN: RFC 9768, table 2 and §3.1.3.
pub const fn on_syn(mode: EcnMode, syn: Flags) -> Agreed {
    match (mode, number(syn)) {
        (EcnMode::Off, _) | (EcnMode::Accurate, 0b000) => Agreed::None,
        // RFC 3168, §6.1.1 knows no AE.
        (EcnMode::Classic, n) if n & 0b011 == 0b011 => Agreed::Classic,
        (EcnMode::Classic, _) => Agreed::None,
        (EcnMode::Accurate, 0b011) => Agreed::Classic,
        // Including what is reserved for later.
        (EcnMode::Accurate, _) => Agreed::Accurate,
    }
}

/// What the SYN-ACK says, sent for the `n`th time, in answer to a SYN that arrived as `syn`: RFC
/// 9768, table 2. After two that were lost, no ECN, in case something on the way minds
/// (§3.2.3.2.2).
pub const fn grant(agreed: Agreed, syn: Ecn, n: u32) -> Flags {
    match agreed {
        Agreed::None => Flags(0),
        Agreed::Classic => flags(0b001),
        Agreed::Accurate if n < 2 => flags(arrived_as(syn)),
        Agreed::Accurate => Flags(0),
    }
}

/// On a SYN-ACK, a combination for later uses that says nothing bad of the SYN (RFC 9768, §3.1.3).
pub const RESERVED: u64 = 0b101;

/// How the ECN field of a packet of the handshake is told to its sender: RFC 9768, tables 2 and 3.
pub const fn arrived_as(field: Ecn) -> u64 {
    match field {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// What an end that has asked for `mode` makes of the SYN-ACK: RFC 9768, table 2.
pub const fn on_syn_ack(mode: EcnMode, syn_ack: Flags) -> Agreed {
    match (mode, number(syn_ack)) {
        (EcnMode::Off, _) => Agreed::None,
        // RFC 3168, §6.1.1: ECE without CWR.
        (EcnMode::Classic, n) if n & 0b011 == 0b001 => Agreed::Classic,
        (EcnMode::Classic, _) => Agreed::None,
        // The last is a SYN reflected by a broken peer.
        (EcnMode::Accurate, 0b000 | 0b111) => Agreed::None,
        (EcnMode::Accurate, 0b001) => Agreed::Classic,
        (EcnMode::Accurate, _) => Agreed::Accurate,
    }
}

/// What a sender knows of the receiver's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// s.cep: packets that were reported as marked, from [`FIRST`] on.
    count: u64,
    /// SND.NXT when the last mark was reported.
    recent: u64,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks::NONE
    }
}

impl Marks {
    /// None has been reported.
    pub const NONE: Marks = Marks { count: FIRST, recent: 0 };

    /// The receiver has counted the SYN-ACK (RFC 9768, §3.2.2.1).
    pub fn after_a_marked_syn_ack() -> Marks {
        Marks { count: FIRST + 1, recent: 0 }
    }

    /// The count, modulo nothing.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many more packets were marked, as an ACK with this ACE field says that acknowledges up
    /// to `una` of `nxt` and reports `packets` for the first time.
    ///
    /// RFC 9768, §3.2.2.5.2: with more than seven packets the counter may have gone round. The
    /// safest case that is likely: it did as often as it can have, if anything was marked lately,
    /// within the window of data before this ACK.
    pub fn report(&mut self, ace: u8, packets: u64, una: u64, nxt: u64) -> u64 {
        let least = u64::from(ace).wrapping_sub(self.count) & 7;
        let marked_lately = least > 0 || una <= self.recent;
        let most = least + (packets.saturating_sub(least) & !7);
        let marks = if marked_lately { most } else { least };
        if marks > 0 {
            self.recent = nxt;
        }
        self.count += marks;
        marks
    }
}

impl Serialize for EcnMode {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            EcnMode::Off => s.serialize_bool(false),
            EcnMode::Classic => s.serialize_bool(true),
            EcnMode::Accurate => s.serialize_str("accurate"),
        }
    }
}

impl<'de> Deserialize<'de> for EcnMode {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<EcnMode, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Switch(bool),
            Text(String),
        }
        let accepted = || serde::de::Error::custom("must be true (RFC 3168), false, or \"accurate\" (RFC 9768)");
        match Form::deserialize(d).map_err(|_| accepted())? {
            Form::Switch(false) => Ok(EcnMode::Off),
            Form::Switch(true) => Ok(EcnMode::Classic),
            Form::Text(s) if s == "accurate" => Ok(EcnMode::Accurate),
            Form::Text(_) => Err(accepted()),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for EcnMode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EcnMode".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "boolean"}, {"const": "accurate"}],
            "description": "true is RFC 3168, \"accurate\" RFC 9768",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_flags_and_back() {
        assert!((0..8).all(|n| u64::from(number(flags(n))) == n));
        assert_eq!((flags(0b100), flags(0b011)), (Flags::AE, Flags::CWR.with(Flags::ECE)));
        assert_eq!(number(Flags::SYN.with(Flags::ACK)), 0);
    }

    /// RFC 9768, table 2, row by row: what A asks for, what B can do, what B answers, what both end
    /// in.
    #[test]
    fn the_handshake_ends_as_in_table_2() {
        use EcnMode::{Accurate, Classic, Off};
        let rows = [
            (Accurate, Accurate, 0b010, Agreed::Accurate),
            (Accurate, Classic, 0b001, Agreed::Classic),
            (Accurate, Off, 0b000, Agreed::None),
            (Classic, Accurate, 0b001, Agreed::Classic),
            (Off, Accurate, 0b000, Agreed::None),
            (Classic, Classic, 0b001, Agreed::Classic),
        ];
        for (a, b, answer, end) in rows {
            let at_b = on_syn(b, ask(a, 0));
            let said = grant(at_b, Ecn::NotEct, 0);
            assert_eq!((number(said), at_b, on_syn_ack(a, said)), (answer, end, end), "{a:?} to {b:?}");
        }
        let said = |field| number(grant(Agreed::Accurate, field, 0));
        assert_eq!([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(said), [0b010, 0b011, 0b100, 0b110]);
        assert_eq!(on_syn_ack(Accurate, flags(0b111)), Agreed::None, "reflected: broken");
        assert_eq!(on_syn_ack(Accurate, flags(0b101)), Agreed::Accurate, "reserved, §3.1.3");
        assert!([0b001, 0b010, 0b100, 0b101, 0b110].iter().all(|n| on_syn(Accurate, flags(*n)) == Agreed::Accurate));
    }

    #[test]
    fn what_is_repeated_falls_back() {
        let asked = |n| number(ask(EcnMode::Accurate, n));
        assert_eq!([asked(0), asked(1), asked(2), asked(6)], [0b111, 0b111, 0, 0]);
        let granted = |n| number(grant(Agreed::Accurate, Ecn::NotEct, n));
        assert_eq!([granted(0), granted(1), granted(2)], [0b010, 0b010, 0]);
    }

    /// By hand: the count starts at 5, so that ACE is 5, and goes round at 8.
    #[test]
    fn marks_are_counted_modulo_eight() {
        let mut marks = Marks::default();
        assert_eq!(marks.report(5, 2, 100, 200), 0);
        assert_eq!(marks.report(6, 2, 110, 200), 1);
        assert_eq!(marks.report(0, 2, 120, 210), 2, "6, 7, 8");
        assert_eq!(marks.report(7, 7, 130, 210), 7, "seven packets at most are told apart");
        assert_eq!(marks.count(), 15);
    }

    /// By hand: ten packets in one ACK and a step of 2 may be 2 or 10 marks (RFC 9768, appendix
    /// A.2).
    #[test]
    fn when_the_counter_may_have_gone_round_it_has() {
        let mut marks = Marks::default();
        assert_eq!(marks.report(7, 10, 100, 200), 10);
        // Nothing new, but marks were reported within this window of data: eight of these nine may
        // be marked.
        assert_eq!(marks.report(7, 9, 150, 300), 8);
        // Two windows later nothing says so.
        assert_eq!(marks.report(7, 9, 301, 400), 0);
        // More marks than packets: control packets are not counted here.
        assert_eq!(marks.report(0, 0, 302, 400), 1);
        // One mark is enough to have been lately.
        assert_eq!(marks.report(0, 9, 350, 500), 8);
    }

    proptest! {
        /// However many ACKs get lost: what arrives agrees with the receiver's count modulo 8, and
        /// exactly as long as no two ACKs that arrive are more than seven packets apart.
        #[test]
        fn both_ends_counts_agree_as_far_as_three_bits_tell(
            packets in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.3)), 1..200),
        ) {
            let (mut marks, mut received, mut sent) = (Marks::default(), FIRST, 0);
            let (mut covered, mut exact) = (0, true);
            for (i, (marked, acked)) in packets.iter().enumerate() {
                received += u64::from(*marked);
                sent += 1;
                if *acked {
                    let una = i as u64 + 1;
                    exact &= sent - covered <= 7;
                    let before = marks.count();
                    let new = marks.report((received & 7) as u8, sent - covered, una, una + 10);
                    prop_assert_eq!(marks.count(), before + new);
                    prop_assert!(new <= (sent - covered).max(7));
                    covered = sent;
                    prop_assert_eq!(marks.count() & 7, received & 7);
                    prop_assert!(!exact || marks.count() == received);
                }
            }
        }
    }
}
