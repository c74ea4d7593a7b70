//! INRPP's parameters, each with the origin of its default.

use midpath_core::queue::Limit;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::header::{SIZE, SIZE_ON_DATA};
use crate::params::{Text, Texts, require, share, without};
use crate::transport::TcpParams;
use crate::transport::params::DelayedAck;

/// How slow-down and cancel reach the sender's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// On ACKs that come back through the congested port, to the hop upstream (§II-A.3). Needs
    /// symmetric paths.
    #[default]
    Acks,
    /// On data, echoed by the receiver, to the sender only (§II-A, note): for asymmetric paths.
    Data,
}

impl Notify {
    /// Bytes that INRPP's header takes at most on data.
    pub const fn header(self) -> u32 {
        match self {
            Notify::Acks => SIZE,
            Notify::Data => SIZE_ON_DATA,
        }
    }
}

/// What we add to the paper, each with what happens without it. `text = "paper"` turns all of it off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// An unset S_high leaves room for what the router's other links bring in within two round trips with full
    /// buffers, where that is more than RTT × C (§IV-E), and at most half of the cache. Without: RTT × C (§II-B),
    /// however small the cache is.
    pub margin: bool,
    /// An unset S_high is at most [`STANDING`] of the cache. Without: what ended flows leave drains slowly.
    pub standing: bool,
    /// In backpressure, steer flows towards equal shares of the cache: above S_high an ACK releases nothing for a
    /// flow above its share, two packets for one below half of it, and new flows start in closed loop. Without: one
    /// packet per ACK, so a cache never drains, each new flow adds an RTT of its host's rate, and a flow with few
    /// packets in its loop keeps few.
    pub steer: bool,
    /// The sum of starting flows' allowances never exceeds the cache's free space, and a flow in open loop has at
    /// most its promise plus acknowledged data in flight. Without: each starting flow gets half of the free space,
    /// and a released flow sends at its share regardless. Needs `steer`.
    pub promises: bool,
    /// The buffer counts as occupancy if buffer and cache share memory. Without, S is the cache's: a memory of a few
    /// packets is nearly all buffer, and its cache never fills beyond S_high.
    pub count_buffer: bool,
    /// Withhold at most (occupancy − S_high) packets per round trip; a withheld packet counts for one RTT. Without:
    /// each ACK withholds one for a round trip, until too few are left and the link idles. Needs `promises`.
    pub count_cuts: bool,
    /// Shares below one packet per RTT: if equal shares of the cache are less than a packet, an ACK releases nothing
    /// for flows with a packet here and, while the cache is nearly full, for others; a sender with nothing in flight
    /// then doubles its packet gap. Without: the flows with a packet in their loops keep all space, and others time
    /// out. Needs `promises`.
    pub sparse: bool,
    /// Packets queued for a failed link take the detour, including ACKs, and ACKs that arrive by the detour count as
    /// if they had come over the link. Without: only data take detours, and a port with a failed link gets no
    /// feedback.
    pub around_outages: bool,
    /// [`SHUFFLE`] of a link's detoured load moves between detours per interval. Without: who came late to a detour
    /// gets no share of it.
    pub shuffle: bool,
    /// Senders repeat what has been overtaken by what was sent later, as SACK shows it, and restart at the RTT without
    /// queues. Without: nothing before a timeout that follows the round trip (§III-C).
    pub repair: bool,
}

/// Largest share of the cache for an unset S_high, if enough to keep the link busy: what ended flows leave drains
/// faster than a tenth of the cache.
pub const STANDING: f64 = 0.05;

/// Share of a link's detoured load that moves between detours per interval: γ of XCP's shuffling (Katabi et al., 2002,
/// §3.5.2).
pub const SHUFFLE: f64 = 0.1;

impl Default for Additions {
    fn default() -> Additions {
        Additions {
            margin: true,
            standing: true,
            steer: true,
            promises: true,
            count_buffer: true,
            count_cuts: true,
            sparse: true,
            around_outages: true,
            shuffle: true,
            repair: true,
        }
    }
}

impl Additions {
    /// Without those that need one that is off.
    pub fn settled(self) -> Additions {
        let promises = self.steer && self.promises;
        Additions { promises, count_cuts: promises && self.count_cuts, sparse: promises && self.sparse, ..self }
    }
}

/// The parameters of `inrpp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Params {
    /// "ours", or "paper" for the paper's text alone: without any addition, cache = "20 s", buffer and tcp_cache =
    /// "50 ms", unless a key says otherwise.
    pub text: Text,
    /// Names of our additions to leave out.
    #[serde(rename = "without", with = "without")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "without::schema::<Additions>"))]
    pub additions: Additions,
    /// Size of a port's cache: bytes, packets of 1500 bytes, or a time at the link's rate. Unset: buffer, cache and
    /// partition share the limit of the scenario's queue, as for other schemes. The authors' public code has S_high
    /// at 10 s of the link's rate and twice that size.
    pub cache: Option<Limit>,
    /// S_high. Unset: size − RTT × C (§II-B), with the longest unloaded RTT of the run's flows, or less with a
    /// larger inflow (§IV-E).
    pub high: Option<Limit>,
    /// S_low as a share of S_high. Half, as in the evaluation (§II-B).
    #[serde(deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub low: f64,
    /// A port's buffer before its cache (§II-A.1). Unset: with a `cache`, the limit of the scenario's queue, by
    /// default 50 ms of the link's rate, as in §IV-A; else a sixteenth of it, at most 50 ms.
    pub buffer: Option<Limit>,
    /// The partition for other traffic. Unset: with a `cache`, 50 ms of the link's rate (§V-A); else one to three
    /// quarters of the queue's limit, if there is such traffic.
    pub tcp_cache: Option<Limit>,
    /// Detours: 0 (off), 1 (1-hop, the paper's) or 2 (2-hop where there is no 1-hop detour; beyond
    /// the paper).
    pub detours: u8,
    /// Names of routers without detours: an AS's border (§V-B).
    pub no_detours_at: Vec<String>,
    /// Carry plain TCP from ingress to egress as INRPP, slowed down at the ingress by the advertised window (§V-B).
    /// Off: it uses a separate partition (§V-A).
    pub carry_tcp: bool,
    /// Backpressure. Off: the cache alone, for comparison.
    pub backpressure: bool,
    /// Packets that carry slow-downs and cancellations: "acks" (symmetric paths) or "data" (asymmetric ones).
    pub notify: Notify,
    /// T_p, probing interval of detours. 10 ms (§III-A).
    pub probe_interval: Time,
    /// T_d, interval of decisions on detours' rates. 50 ms, at least five times T_p (§III-A).
    pub decision_interval: Time,
    /// Averaging span of load, in intervals T_p. 5 (§III-B).
    pub average: u32,
    /// α of equation (1), below π/(4√2) ≈ 0.555 (§III-B); β = α²√2 follows. 0.4, as in TeXCP and
    /// XCP, which the equations come from.
    pub alpha: f64,
    /// Maximum nonces stored per port, LRU (§V-C). Ours: 1024,
    /// above any router's number of ports.
    pub nonces: usize,
    /// Lifetime of a slow-down without renewal. Ours: 1 s, the minimum RTO (RFC 6298), after which senders also stop
    /// waiting.
    pub expiry: Time,
    /// Duration of the state Disable-Backpressure (algorithm 1, line 5). Ours: 100 ms, an RTT of most networks.
    /// Cancellations are sent for `expiry`, after which no upstream port waits for one.
    pub linger: Time,
    /// Authentication of notifications between neighbours (§V-C).
    pub auth: bool,
    /// The domain's secret, from which the neighbours' keys are derived.
    pub secret: String,
    /// Where the numbers of what is signed begin, above 0 for a node that has used some in an earlier
    /// run. No key of scenarios: it is a process's own business ([`super::build_after`]).
    #[serde(skip)]
    pub first_number: u64,
    /// Segments per ACK: `true` is 2, `false` is 1. 1, because one packet is released per ACK, and
    /// Fig. 11 shows equal rates in and out.
    pub delayed_ack: DelayedAck,
    /// Groups of flows whose senders ignore feedback (§V-C): they send at their own link's share regardless, and
    /// echo no nonce.
    pub non_cooperative: Vec<String>,
    /// Ports drop what a flow above its cache share sends beyond the releases of its ACKs, from two round trips
    /// after it exceeded its share. Ours: §V-C names senders that ignore feedback, without a remedy. Needs `notify =
    /// "acks"`.
    pub enforcement: bool,
    /// Smallest retransmission timeout. 1 s is RFC 6298, (2.4).
    pub min_rto: Time,
    /// Retransmission timeout before the first round-trip sample. Unset: `min_rto`, 1 s at most. RFC
    /// 6298 has one value for both, (2.1) and (2.4), and RFC 8961, §4, (1) allows less if the network is known, as a
    /// smaller `min_rto` implies.
    pub initial_rto: Option<Time>,
    /// Receive window. 1 GiB never limits.
    pub receive_window: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            text: Text::Ours,
            additions: Additions::default(),
            cache: None,
            high: None,
            low: 0.5,
            buffer: None,
            tcp_cache: None,
            detours: 1,
            no_detours_at: Vec::new(),
            carry_tcp: false,
            backpressure: true,
            notify: Notify::Acks,
            probe_interval: Time::from_ms(10),
            decision_interval: Time::from_ms(50),
            average: 5,
            alpha: 0.4,
            nonces: 1024,
            expiry: Time::from_secs(1),
            linger: Time::from_ms(100),
            auth: true,
            secret: "midpath".to_owned(),
            first_number: 0,
            delayed_ack: DelayedAck(1),
            non_cooperative: Vec::new(),
            enforcement: false,
            min_rto: Time::from_secs(1),
            initial_rto: None,
            receive_window: Bytes(1 << 30),
        }
    }
}

impl Texts for Params {
    fn paper() -> Value {
        json!({
            "without": without::names::<Additions>(),
            // The authors' public code: S_high at 10 s of the link's rate, the size twice that.
            "cache": "20 s",
            "buffer": "50 ms",    // §IV-A
            "tcp_cache": "50 ms", // §V-A
        })
    }
}

/// RFC 6298, (2.1): the retransmission timeout of who knows nothing of the path.
const FIRST_RTO: Time = Time::from_secs(1);

/// §III-B: α must be below π/(4√2).
const MAX_ALPHA: f64 = std::f64::consts::PI / (4.0 * std::f64::consts::SQRT_2);

fn is_zero(limit: Limit) -> bool {
    matches!(limit, Limit::Bytes(0) | Limit::Packets(0) | Limit::Time(Time::ZERO))
}

/// Whether one limit is above another on any link; what depends on the link's rate is for its port
/// to say.
fn exceeds(a: Limit, b: Limit) -> bool {
    match (a, b) {
        (Limit::Bytes(a), Limit::Bytes(b)) | (Limit::Packets(a), Limit::Packets(b)) => a > b,
        (Limit::Time(a), Limit::Time(b)) => a > b,
        _ => false,
    }
}

impl Params {
    /// Whether the network can live by these.
    pub fn check(&self) -> Result<(), SpecError> {
        require(!self.cache.is_some_and(is_zero), "cache", "above zero: custody needs room")?;
        let above = self.high.zip(self.cache).is_some_and(|(high, cache)| exceeds(high, cache));
        require(!above, "high", "at most `cache`: S_high is a part of it (§II-B)")?;
        require((0.0..1.0).contains(&self.low), "low", "a share from 0 to below 1")?;
        require(self.detours <= 2, "detours", "0, 1 or 2")?;
        require(self.probe_interval >= Time::from_us(1), "probe_interval", "at least 1 us")?;
        let spaced = self.decision_interval.0 >= self.probe_interval.0.saturating_mul(5);
        require(spaced, "decision_interval", "at least five times probe_interval (§III-A)")?;
        require(self.decision_interval <= Time::from_secs(3600), "decision_interval", "at most an hour")?;
        require((1..=1000).contains(&self.average), "average", "from 1 to 1000 intervals")?;
        let stable = self.alpha > 0.0 && self.alpha < MAX_ALPHA;
        require(stable, "alpha", "above 0 and below π/(4√2) = 0.5553 (§III-B)")?;
        let by_acks = !self.enforcement || self.notify == Notify::Acks;
        require(by_acks, "enforcement", "false with `notify` = \"data\", where ports release nothing")?;
        require((1..=1 << 20).contains(&self.nonces), "nonces", "from 1 to 1048576")?;
        require(
            !self.expiry.is_zero() && self.expiry <= Time::from_secs(3600),
            "expiry",
            "above zero, at most an hour",
        )?;
        require(!self.linger.is_zero() && self.linger <= self.expiry, "linger", "above zero, at most expiry")
    }

    /// What the two ends take from TCP.
    pub fn tcp(&self) -> TcpParams {
        TcpParams {
            delayed_ack: self.delayed_ack,
            min_rto: self.min_rto,
            initial_rto: self.initial_rto.unwrap_or(self.min_rto.min(FIRST_RTO)),
            receive_window: self.receive_window,
            // §III-C: "the fast-recovery mechanism at the sender is disabled". No number of
            // duplicate ACKs means loss.
            dup_thresh: u32::MAX,
            ..TcpParams::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inrpp::state::Thresholds;
    use crate::params::read_text;

    #[test]
    fn s_low_is_half_of_s_high() {
        let t = Thresholds::given(Bytes(100), Bytes(80), Params::default().low);
        assert_eq!((t.high, t.low), (80, 40));
    }

    #[test]
    fn the_first_timeout_follows_the_least() {
        let first = |value| read_text::<Params>(&value).unwrap().tcp().initial_rto;
        let (ms, second) = (Time::from_ms, Time::from_secs(1));
        assert_eq!(first(json!({})), second, "RFC 6298");
        assert_eq!(first(json!({ "min_rto": "10 ms" })), ms(10));
        assert_eq!(first(json!({ "min_rto": "3 s" })), second);
        assert_eq!(first(json!({ "min_rto": "10 ms", "initial_rto": "40 ms" })), ms(40));
    }

    #[test]
    fn the_papers_text_is_one_switch_and_a_key_beside_it_counts() {
        let ours: Params = read_text(&json!({})).unwrap();
        assert_eq!(ours, Params::default());
        let paper: Params = read_text(&json!({ "text": "paper" })).unwrap();
        assert_eq!(json!(paper)["without"], json!(without::names::<Additions>()));
        assert_eq!(paper.cache, Some(Limit::Time(Time::from_secs(20))));
        let fifty = Some(Limit::Time(Time::from_ms(50)));
        assert_eq!((paper.buffer, paper.tcp_cache), (fifty, fifty));
        paper.check().unwrap();
        let one: Params = read_text(&json!({ "text": "paper", "without": ["steer"], "cache": "1 MB" })).unwrap();
        let additions = Additions { steer: false, ..Additions::default() };
        let differs = Params { additions, cache: Some(Limit::Bytes(1_000_000)), ..paper };
        assert_eq!(one, differs);
    }
}
