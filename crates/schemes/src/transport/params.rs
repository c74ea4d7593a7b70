//! The parameters that all TCPs share. Each names where its default comes from.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use serde::{Deserialize, Deserializer, Serialize};

use super::ecn::EcnMode;
use crate::params::require;

/// What is wrong with the ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MisbehavingReceiver {
    /// Each is divided into 16 that acknowledge a part: who counts ACKs opens its window faster.
    DividesAcks,
    /// They acknowledge all below the newest segment, lost or not, and then two segments that have not come: who
    /// believes them hears of no loss. What was lost is never repeated, and the flow never ends.
    OptimisticAcks,
}

/// What all TCPs have in common.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TcpParams {
    /// Selective acknowledgements (RFC 2018). Off: loss recovery by RFC 6582. On in all deployed stacks.
    pub sack: bool,
    /// Timestamps (RFC 7323): 12 bytes in every packet, every ACK is a round-trip sample. On, as in
    /// Linux and ns-3.
    pub timestamps: bool,
    /// Segments per ACK: `true` is 2 (RFC 5681, §4.2), `false` is 1, or a number.
    pub delayed_ack: DelayedAck,
    /// Longest delay of an ACK. RFC 5681, §4.2 allows 500 ms; 200 ms is ns-3's and the BSD
    /// default.
    pub delack_timeout: Time,
    /// Minimum retransmission timeout. 1 s is RFC 6298, (2.4); Linux uses 200 ms.
    pub min_rto: Time,
    /// Minimum of RTO − SRTT. 0 is RFC 6298, (2.3): four times RTTVAR, however small. Linux has 200 ms: its
    /// `tcp_rto_min` bounds this difference, not the RTO.
    pub rto_margin: Time,
    /// Maximum retransmission timeout. 60 s is the minimum of RFC 6298, (2.5).
    pub max_rto: Time,
    /// Retransmission timeout before the first round-trip sample. 1 s is RFC 6298, (2.1).
    pub initial_rto: Time,
    /// Initial window in segments. 10 is RFC 6928, §2.
    pub initial_window: u32,
    /// Sending rule of fast recovery with SACK. PRR is in Linux, FreeBSD and ns-3.
    pub recovery: Recovery,
    /// Loss detection before the retransmission timeout, with SACK: by send times (RFC 8985), with D-SACKs and undo,
    /// as in Linux; or by RFC 6675.
    pub loss_detection: LossDetection,
    /// Byte counting of ACKs in window growth.
    pub growth: GrowthRule,
    /// With `growth = "abc"`: maximum segments added per ACK in slow start (RFC 3465, §2.3: L =
    /// 2).
    pub abc_limit: u32,
    /// Leave slow start before a loss: `true` is HyStart++ (RFC 9406), on a rising RTT, in the first slow start.
    /// `"linux"` is Linux 6.1's: at once on a rising RTT or an ACK train of half the RTT; with CUBIC in each slow
    /// start, followed by 5 % growth per RTT until a loss. Unset: `true` for CUBIC (RFC 9438, §4.10), off for the
    /// others.
    pub hystart: Option<HyStartRule>,
    /// Explicit congestion notification: `true` is RFC 3168, `"accurate"` RFC 9768. Unset: `true`
    /// for DCTCP, off for the others, as in Linux and ns-3.
    pub ecn: Option<EcnMode>,
    /// Spread packets over the round trip instead of sending bursts. Off, as in Linux without `fq`
    /// and in ns-3.
    pub pacing: bool,
    /// With `pacing`: the rate in slow start as a multiple of cwnd/SRTT. 2 is Linux's
    /// `tcp_pacing_ss_ratio`.
    pub pacing_slow_start: f64,
    /// With `pacing`: the rate in congestion avoidance as a multiple of cwnd/SRTT. 1.2 is Linux's
    /// `tcp_pacing_ca_ratio`.
    pub pacing_avoidance: f64,
    /// Receive window. 1 GiB, the maximum of RFC 7323, §2.3, never limits.
    pub receive_window: Bytes,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that signal loss. 3 is RFC 5681, §3.2.
    pub dup_thresh: u32,
    /// Consecutive timeouts before giving up. 15 is Linux's `tcp_retries2`.
    pub max_retries: u32,
    /// Retransmissions of a SYN, SYN-ACK or the receiver's FIN before giving up. 6 is Linux's
    /// `tcp_syn_retries`.
    pub syn_retries: u32,
    /// A receiver that does not comply (Savage et al., 1999), to see what senders make of it. Unset: it complies.
    #[cfg_attr(feature = "schema", schemars(transform = unset))]
    pub receiver: Option<MisbehavingReceiver>,
}

/// Results name a digest of the defaults that schemas have: a parameter that is unset is none of them.
#[cfg(feature = "schema")]
fn unset(schema: &mut schemars::Schema) {
    schema.remove("default");
}

impl Default for TcpParams {
    fn default() -> TcpParams {
        TcpParams {
            sack: true,
            timestamps: true,
            delayed_ack: DelayedAck(2),
            delack_timeout: Time::from_ms(200),
            min_rto: Time::from_secs(1),
            rto_margin: Time::ZERO,
            max_rto: Time::from_secs(60),
            initial_rto: Time::from_secs(1),
            initial_window: 10,
            recovery: Recovery::Prr,
            loss_detection: LossDetection::RackTlp,
            growth: GrowthRule::Abc,
            abc_limit: 2,
            hystart: None,
            ecn: None,
            pacing: false,
            pacing_slow_start: 2.0,
            pacing_avoidance: 1.2,
            receive_window: Bytes(1 << 30),
            limited_transmit: true,
            dup_thresh: 3,
            max_retries: 15,
            syn_retries: 6,
            receiver: None,
        }
    }
}

impl TcpParams {
    /// Whether a connection can live by these.
    pub fn check(&self) -> Result<(), SpecError> {
        require(self.initial_window >= 1, "initial_window", "at least 1 segment")?;
        require(self.abc_limit >= 1, "abc_limit", "at least 1 segment")?;
        require(self.dup_thresh >= 1, "dup_thresh", "at least 1")?;
        require(!self.initial_rto.is_zero(), "initial_rto", "above zero")?;
        require(!self.min_rto.is_zero(), "min_rto", "above zero")?;
        require(self.max_rto >= self.min_rto.max(self.initial_rto), "max_rto", "at least min_rto and initial_rto")?;
        require(self.rto_margin <= self.max_rto, "rto_margin", "at most max_rto")?;
        require(self.max_rto <= Time::from_secs(86_400), "max_rto", "at most a day")?;
        require(self.delack_timeout <= Time::from_secs(3600), "delack_timeout", "at most an hour")?;
        let gain = |g: f64| g.is_finite() && g > 0.0;
        require(gain(self.pacing_slow_start), "pacing_slow_start", "a positive number")?;
        require(gain(self.pacing_avoidance), "pacing_avoidance", "a positive number")?;
        // SACK blocks are 32-bit distances above the acknowledgement number.
        let window = self.receive_window.0;
        require(
            (1..=1 << 30).contains(&window),
            "receive_window",
            "from 1 B to 1 GiB, which is all that RFC 7323 can express",
        )
    }

    /// Whether nobody answers a SYN or SYN-ACK, repeated so often, with this timeout now: it was repeated
    /// as often as said, and for as long as that takes from RFC 6298's first timeout of 1 s on. A first
    /// timeout far below the round trip ends no connection.
    pub(super) fn gives_up_opening(&self, retries: u32, rto: Time) -> bool {
        let last = Time::from_secs(1 << self.syn_retries.min(16)).min(self.max_rto);
        retries >= self.syn_retries && rto >= last
    }

    /// Bytes of headers on a data packet: IPv4 (20), TCP (20), and the timestamp option with its
    /// padding (12).
    pub const fn overhead(&self) -> u32 {
        if self.timestamps { 52 } else { 40 }
    }

    /// Payload of a full packet on a path with this MTU.
    pub fn mss(&self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.overhead()).clamp(1, u32::from(u16::MAX))
    }
}

/// How much a sender sends during fast recovery when SACK is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Proportional rate reduction (RFC 9937, first RFC 6937): the window shrinks in proportion to
    /// what is delivered.
    #[default]
    Prr,
    /// The window is halved at once; sending resumes when the pipe has drained to it (RFC 6675,
    /// §5).
    Rfc6675,
}

/// How losses are found when SACK is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By what is reported above a hole (RFC 6675, IsLost). Packets that are reordered by more than `dup_thresh` are
    /// repeated, and the window is reduced for them. Receivers send no D-SACKs.
    Rfc6675,
    /// By when it was sent, and with a probe where nothing comes back (RFC 8985, RACK-TLP). Receivers report duplicates
    /// (RFC 2883). Where these, timestamps (RFC 3522) or what arrives after a timeout (RFC 5682) show that nothing was
    /// lost, the window is what it was (RFC 4015).
    #[default]
    RackTlp,
}

/// Byte counting of ACKs in window growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GrowthRule {
    /// By bytes (RFC 3465; recommended by RFC 5681, §3.1), as Linux: delayed ACKs do not slow it
    /// down.
    #[default]
    Abc,
    /// By ACKs (RFC 5681, equations 2 and 3), as ns-3's TcpNewReno: delayed ACKs halve the growth.
    PerAck,
}

/// What ends slow start before a loss does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HyStartRule {
    /// Nothing.
    Off,
    /// HyStart++ (RFC 9406).
    Rfc9406,
    /// HyStart as in Linux 6.1.
    Linux,
}

impl Serialize for HyStartRule {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            HyStartRule::Off => s.serialize_bool(false),
            HyStartRule::Rfc9406 => s.serialize_bool(true),
            HyStartRule::Linux => s.serialize_str("linux"),
        }
    }
}

impl<'de> Deserialize<'de> for HyStartRule {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<HyStartRule, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Switch(bool),
            Text(String),
        }
        let accepted = || serde::de::Error::custom("must be true (HyStart++, RFC 9406), false, or \"linux\"");
        match Form::deserialize(d).map_err(|_| accepted())? {
            Form::Switch(false) => Ok(HyStartRule::Off),
            Form::Switch(true) => Ok(HyStartRule::Rfc9406),
            Form::Text(s) if s == "linux" => Ok(HyStartRule::Linux),
            Form::Text(_) => Err(accepted()),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for HyStartRule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HyStartRule".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "boolean"}, {"const": "linux"}],
            "description": "true is HyStart++ (RFC 9406), \"linux\" what Linux 6.1 has",
        })
    }
}

/// How many segments one ACK covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck(pub u32);

impl Serialize for DelayedAck {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for DelayedAck {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<DelayedAck, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Switch(bool),
            Segments(u32),
        }
        let accepted =
            || serde::de::Error::custom("must be true (2 segments), false (1), or a number of segments from 1");
        match Form::deserialize(d).map_err(|_| accepted())? {
            Form::Switch(on) => Ok(DelayedAck(if on { 2 } else { 1 })),
            Form::Segments(0) => Err(accepted()),
            Form::Segments(n) => Ok(DelayedAck(n)),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DelayedAck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DelayedAck".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 1}],
            "description": "segments per ACK: true is 2, false is 1, or a number",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in a scenario and means each, and what its schema says of that.
    #[test]
    fn hystart_is_written_as_a_switch_or_a_name() {
        for (text, rule) in
            [("false", HyStartRule::Off), ("true", HyStartRule::Rfc9406), ("\"linux\"", HyStartRule::Linux)]
        {
            assert_eq!(serde_json::from_str::<HyStartRule>(text).expect("valid"), rule);
            assert_eq!(serde_json::to_string(&rule).expect("JSON"), text);
        }
        assert!(serde_json::from_str::<HyStartRule>("\"bsd\"").is_err());
        #[cfg(feature = "schema")]
        {
            let schema = schemars::schema_for!(HyStartRule).to_value();
            let forms = schema["anyOf"].as_array().expect("forms");
            assert!(
                forms.iter().any(|form| form["type"] == "boolean") && forms.iter().any(|form| form["const"] == "linux")
            );
        }
    }
}
