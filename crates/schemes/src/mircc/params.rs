//! The parameters of MIRCC's links and consumers. The paper says β' = 0.1 and the EWMA's 0.5 and
//! leaves the rest open; each other default says where it comes from. "The model" is
//! `evidence/papers/mircc/ERRATA.md`.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::icn::params::{ForwarderParams, MANY, Outage, PathSelection, ShaperParams, Steering};
use crate::params::{Text, Texts, require, share, without};

/// The equation that a link's rate follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// (2)–(5), and (6)–(16) for two classes.
    #[default]
    Mircc,
    /// (1), the baseline of §3.2. It has one class; the secondary rate stays at the floor.
    Rcp,
}

/// What footnote 3's α is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// Nothing: the paper's text.
    #[default]
    Printed,
    /// min(1, T/d), ours: stable for any T, however short.
    Scaled,
}

/// T, how often a link's rates are computed (§3.1.2: "as short as possible, and no greater than
/// RTT").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Interval {
    /// What the link's traffic says.
    Of(RttOf),
    /// A time.
    Fixed(Time),
}

/// One RTT for all of a link's traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RttOf {
    /// d(t), the mean over the packets: the longest T that §3.1.2 allows.
    Mean,
    /// The largest of late.
    Largest,
}

/// Whose RTT d(t) is. The paper says "the EWMA of the per-packet RTT" and not who measures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RttSource {
    /// The least RTT of late of the Interest's path, which the Interest tells, less what lies above
    /// the link where `outstanding = "due"` knows it: the loop runs downstream of the link. What
    /// waits in shapers is not in it. Where d divides q, the link adds the wait in its own shaper.
    #[default]
    Least,
    /// The smoothed RTT of the Interest's path, which the Interest tells.
    Average,
    /// What the forwarder measures from an Interest to its Data: upstream of itself, where the loop
    /// is not. For comparison.
    Upstream,
}

/// In which time (3), (7) and (13) drain β of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// d(t), or T where that is longer: in T no more is drained than waits. Ours.
    #[default]
    Interval,
    /// d(t): the paper's text, whose T is no longer.
    RoundTrip,
}

/// How an equation of the paper is read that contradicts its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// As the text around it wants it.
    #[default]
    Corrected,
    /// As it is printed.
    Printed,
}

/// C of the equations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Capacity {
    /// What the Interests that come in over the link leave of it: Data can have no more.
    #[default]
    Left,
    /// The link's rate, the paper's text.
    Link,
}

/// At what rates a consumer sends (§4.1, §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sending {
    /// Primary Interests at the best subflow's rate, secondary ones at the sum of the secondary
    /// rates (§4.2).
    #[default]
    DualClass,
    /// The best subflow's rate only (§4.1).
    BestSubflow,
    /// The sum of the subflows' rates (§4.1).
    TotalPerSubflow,
}

/// How a consumer splits its primary Interests over its paths (§4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// In proportion to the paths' rates, and no link carries more than its stamp: the paper's text.
    /// Paths with one stamp are taken to share the link that gave it.
    Links,
    /// In proportion to the paths' rates, and no path carries more than its R_p with both classes. Ours.
    #[default]
    Paths,
}

/// What a link's rates are computed by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RateParams {
    /// "mircc" or "rcp".
    pub update: Update,
    /// η, allocated share of the link. Ours: 0.95. It must stay below the shaper's
    /// headroom, and the other 5 % drain a queue of one RTT in 20 RTTs. The paper derates by η
    /// without a number.
    #[serde(deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub eta: f64,
    /// β', minimum β(t). 0.1 (§3.1.1).
    pub beta: f64,
    /// α of the EWMA of base_rate and excess_rate. 0.5 (§3.1.1).
    #[serde(deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub weight: f64,
    /// "printed", or "scaled" by T/d.
    pub gain: Gain,
    /// T: "mean" or "largest" (RTT), or a time. Ours: "mean", the longest that §3.1.2 allows, with
    /// which every mix of RTTs in the model settles; a T far below the RTT does not.
    pub interval: Interval,
    /// Minimum T, in Data of the link, as y(t) counts whole Interests. Ours:
    /// 10, with which R deviates by less than 5 % in the model (2: by 70 %).
    pub min_packets: f64,
    /// Lower bound on the Data per T used to update R_s; limits the step caused by one Interest to alpha/N. Steps up
    /// and down are equal, and both classes drain the minimum queue of T. 10, ours, brings R_s to its fixed point. 0: the
    /// paper's text.
    pub secondary_packets: f64,
    /// T is at least the time between two Interests of a flow at R_p. A flow learns rates from its own Data only, so
    /// with a share below one per RTT the loop is that long. A fixed `interval` stays. By [`Additions`].
    #[serde(skip)]
    pub sparse: bool,
    /// In which time queues drain. By [`Additions`].
    #[serde(skip)]
    pub drain: Drain,
    /// Maximum T and accepted RTT. By [`Additions`].
    #[serde(skip)]
    pub max_interval: Time,
    /// "least", "average" or "upstream".
    pub rtt: RttSource,
    /// d(t) before any reported RTT. Ours: 100 ms, as T follows it.
    pub initial_rtt: Time,
    /// Maximum R as a share of ηC. Ours: 1, the share of a single flow; figure 6's 12 + 3 needs it. 0: none but
    /// `largest_rate`, the paper's text.
    pub cap: f64,
    /// Minimum R_p as a share of C. By [`Additions`].
    #[serde(skip)]
    pub floor: f64,
    /// Minimum R_s as a share of C. By [`Additions`].
    #[serde(skip)]
    pub secondary_floor: f64,
    /// The rate that producers put on Data (§3.1, *MaxRate*): above every link's. Ours: 10 Tbps.
    pub largest_rate: Rate,
    /// Equation (11). "corrected": C_s = C − y_p/η, the remainder of ηC. "printed":
    /// C − y_p, which is also η(1 − η)C of a link that the primary class fills.
    pub residual: Reading,
    /// The rate that equation (12) divides by. "corrected": R_s(t−T), as (6) has R_p. "printed":
    /// R(t−T), which can only be R_p(t−T).
    pub secondary_count: Reading,
    /// C: "left" or "link".
    pub capacity: Capacity,
    /// α of (1). 0.4: the default of the RCP authors' simulator.
    pub rcp_alpha: f64,
    /// β of (1). 0.4: the same. They also published (0.4, 1) and (0.1, 1); 0.226 is XCP's.
    pub rcp_beta: f64,
}

impl Default for RateParams {
    fn default() -> RateParams {
        RateParams {
            update: Update::Mircc,
            eta: 0.95,
            beta: 0.1,
            weight: 0.5,
            gain: Gain::Printed,
            interval: Interval::Of(RttOf::Mean),
            min_packets: 10.0,
            secondary_packets: 10.0,
            sparse: true,
            drain: Drain::Interval,
            max_interval: LONGEST,
            rtt: RttSource::Least,
            initial_rtt: Time::from_ms(100),
            cap: 1.0,
            floor: FLOORS[0],
            secondary_floor: FLOORS[1],
            largest_rate: Rate::from_gbps(10_000),
            residual: Reading::Corrected,
            secondary_count: Reading::Corrected,
            capacity: Capacity::Left,
            rcp_alpha: 0.4,
            rcp_beta: 0.4,
        }
    }
}

impl RateParams {
    /// Whether a link can live by these.
    pub fn check(&self) -> Result<(), SpecError> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let whole = |x: f64| positive(x) && x <= 1.0;
        let time = |t: Time| (Time::from_us(1)..=Time::from_secs(60)).contains(&t);
        require(whole(self.eta), "eta", "above 0 and at most 1")?;
        require(self.beta.is_finite() && self.beta >= 0.0, "beta", "a number from 0")?;
        require(whole(self.weight), "weight", "above 0 and at most 1")?;
        if let Interval::Fixed(t) = self.interval {
            require(time(t), "interval", "\"mean\", \"largest\" or from 1 us to 60 s")?;
        }
        for (key, packets) in [("min_packets", self.min_packets), ("secondary_packets", self.secondary_packets)] {
            require((0.0..=1e6).contains(&packets), key, "from 0 to 1000000")?;
        }
        require(time(self.initial_rtt), "initial_rtt", "from 1 us to 60 s")?;
        require(self.cap.is_finite() && self.cap >= 0.0, "cap", "a share of ηC, or 0 for none")?;
        require(self.cap == 0.0 || self.cap > FLOORS[0], "cap", "above 0.0001, or 0 for none")?;
        require(self.largest_rate.0 > 0, "largest_rate", "above zero")?;
        require(positive(self.rcp_alpha), "rcp_alpha", "a positive number")?;
        require(self.rcp_beta.is_finite() && self.rcp_beta >= 0.0, "rcp_beta", "a number from 0")
    }
}

/// How large the Data are that an Interest asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Inflation {
    /// As large as a manifest says (§3.1.2): the consumer tells it in its Interest.
    #[default]
    Told,
    /// As consumers and forwarders have seen it (§3.1.1): its size times the ratio of the mean sizes of Data and
    /// Interests.
    Average,
}

/// How a consumer finds what was lost. The paper does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// By later Data of the same path, as by duplicate ACKs; where nothing is left to ask for, two round trips after
    /// the last Interest; by timeouts otherwise. Ours.
    #[default]
    LaterData,
    /// By timeouts alone.
    Timeout,
}

/// What we add to the paper, each with what happens without it. `text = "paper"` turns all of it off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Additions {
    /// T is at least the time between two Interests of a flow at R_p ([`RateParams::sparse`]). Without: R oscillates
    /// below a packet per RTT.
    pub sparse: bool,
    /// The queue is drained in T where T is longer than d ([`Drain`]). Without: more is drained than waits.
    pub drain: bool,
    /// T is at most [`LONGEST`], and no longer RTT is believed, so that no consumer can stop a link's clock. Without:
    /// [`BELIEVED`].
    pub max_interval: bool,
    /// R_p and R_s are at least [`FLOORS`]. Without: zero is absorbing.
    pub floors: bool,
    /// [`HEADROOM`](crate::icn::params::HEADROOM) of both directions may be booked. Without: all, for (11) as printed leaves the secondary class so
    /// much that both come to η + η(1 − η) of the link, more than that.
    pub headroom: bool,
    /// At most [`PASSING`](crate::icn::params::PASSING) forwarded Interests wait at a port. Without: as many as of any others.
    pub passing: bool,
    /// No path carries more than its R_p with both classes. Without: "no path and no link carry more than their
    /// stamping rate" ([`Split`]).
    pub split: bool,
    /// Randomise a flow's first Interest, and keep its phase when rates change. Without: each rate counts from the
    /// last Interest, and falling rates synchronise flows, until more Interests arrive at once than a port can
    /// queue.
    pub spread: bool,
    /// Data overtaken by later ones are lost ([`Repair`]). Without: what is lost is found by timeouts.
    pub repair: bool,
    /// With `secondary_packets`, Interests without a hint become rare after 10 s, and forwarders draw next hops evenly for
    /// one in [`LONGEST`]. Without: a share of the primary ones, in proportion to bandwidth (§4.3.3).
    pub explore: bool,
    /// Flows ask at least each [`LONGEST`] at any rate. Without: each [`BELIEVED`], for nothing happens if never.
    pub probe: bool,
}

/// Upper bound of T, of accepted RTTs, and of the time between two Interests of a flow. Ours.
pub const LONGEST: Time = Time::from_secs(1);

/// The same bound without the addition: the longest RTT that is accepted from any peer.
pub const BELIEVED: Time = Time::from_secs(60);

/// Least R_p and R_s as shares of C. 10⁻⁴: the share of one of ten thousand flows. 10⁻⁶: on a full link each subflow
/// has it, and a thousand of them take a thousandth of the link. Ours.
pub const FLOORS: [f64; 2] = [1e-4, 1e-6];

impl Default for Additions {
    fn default() -> Additions {
        Additions {
            sparse: true,
            drain: true,
            max_interval: true,
            floors: true,
            headroom: true,
            passing: true,
            split: true,
            spread: true,
            repair: true,
            explore: true,
            probe: true,
        }
    }
}

/// The parameters of `mircc`: those of links and shapers, and these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MirccParams {
    /// "ours", or "paper": no additions except those set by keys.
    pub text: Text,
    /// Names of our additions to leave out.
    #[serde(rename = "without", with = "without")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "without::schema::<Additions>"))]
    pub additions: Additions,
    /// Those of a link's rates.
    #[serde(flatten)]
    pub rates: RateParams,
    /// Those of a port's shaper.
    #[serde(flatten)]
    pub shaper: ShaperParams,
    /// "all" or "one".
    pub paths: PathSelection,
    /// With "all": maximum path cost, as a multiple of the shortest path's by the scenario's metric. Ours: 1,
    /// shortest paths only.
    pub stretch: f64,
    /// With "all": "shortcut", "bloom-filter" or "random-value".
    pub steering: Steering,
    /// "wait" or "around".
    pub outage: Outage,
    /// "dual-class", "best-subflow" or "total-per-subflow".
    pub sending: Sending,
    /// How primary Interests are split. By `Additions`.
    #[serde(skip)]
    pub split: Split,
    /// Share of a flow's primary Interests without a hint. 3 % (§4.3.3).
    #[serde(deserialize_with = "share")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub hintless: f64,
    /// Size of an Interest, at least its headers. Ours: its headers only.
    pub interest: Bytes,
    /// "told" or "average".
    pub inflation: Inflation,
    /// How losses are found. By `Additions`.
    #[serde(skip)]
    pub repair: Repair,
    /// Minimum retransmission timeout of an Interest whose loss no later Data reveal. 1 s: RFC 6298, §2.4.
    pub min_rto: Time,
    /// Maximum time between two Interests of a flow at any rate, as only Data report better rates. By `Additions`.
    #[serde(skip)]
    pub probe: Time,
    /// Lifetime of a pending Interest at a forwarder. 4 s: NDN's packet specification,
    /// InterestLifetime.
    pub lifetime: Time,
    /// Segments in a forwarder's PIT; its steering remembers a quarter as many paths. Ours: 2¹⁸, 100 ms of 30 Gbps.
    pub pit: usize,
    /// Interests that a host may have pending at its router before some are answered: plus one for each answer,
    /// halved for unanswered ones. 0: no bound. Ours: 0, as an honest consumer starts at the path's full rate.
    pub unproven: u32,
    /// Bytes of Data in a router's content store (LRU). Ours: 0, none.
    pub store: Bytes,
}

impl Default for MirccParams {
    fn default() -> MirccParams {
        MirccParams {
            text: Text::Ours,
            additions: Additions::default(),
            rates: RateParams::default(),
            shaper: ShaperParams::default(),
            paths: PathSelection::All,
            stretch: 1.0,
            steering: Steering::Shortcut,
            outage: Outage::Wait,
            sending: Sending::DualClass,
            split: Split::Paths,
            hintless: 0.03,
            interest: Bytes(0),
            inflation: Inflation::Told,
            repair: Repair::LaterData,
            min_rto: Time::from_secs(1),
            probe: LONGEST,
            lifetime: Time::from_secs(4),
            pit: 1 << 18,
            unproven: 0,
            store: Bytes(0),
        }
    }
}

/// The paper's text. What it leaves open stays as it is: η, T within "as short as possible, and no
/// greater than RTT", R(0), sizes of tables. docs/schemes/mircc.md lists what remains ours, and why.
impl Texts for MirccParams {
    fn paper() -> Value {
        json!({
            "without": without::names::<Additions>(),
            // (11), (12) and Table 1's C, as they are printed.
            "residual": "printed",
            "secondary_count": "printed",
            "capacity": "link",
            // (2)-(5), (6)-(16) have no bounds.
            "cap": 0.0,
            // §3.1.2: "the EWMA of the per-packet RTT", and T has no least number of packets.
            "rtt": "average",
            "min_packets": 0.0,
            // (12)-(16) as they stand, by however few Data.
            "secondary_packets": 0.0,
            // "The Interest shaper books the reverse bandwidth for the Data message via the shaping".
            "outstanding": "paced",
        })
    }
}

impl MirccParams {
    /// The same without the additions that `without` names; the defaults are with all.
    pub fn settled(mut self) -> MirccParams {
        let Additions {
            sparse,
            drain,
            max_interval,
            floors,
            headroom,
            passing,
            split,
            spread: _,
            repair,
            explore: _,
            probe,
        } = self.additions;
        self.rates.sparse &= sparse;
        if !drain {
            self.rates.drain = Drain::RoundTrip;
        }
        if !max_interval {
            self.rates.max_interval = BELIEVED;
        }
        if !floors {
            [self.rates.floor, self.rates.secondary_floor] = [0.0; 2];
        }
        if !headroom {
            self.shaper.headroom = 1.0;
        }
        if !passing {
            self.shaper.passing = MANY;
        }
        if !split {
            self.split = Split::Links;
        }
        if !repair {
            self.repair = Repair::Timeout;
        }
        if !probe {
            self.probe = BELIEVED;
        }
        self
    }

    /// Whether Interests without a hint become rare, and some are drawn for evenly: not with the text's secondary class,
    /// which needs them often.
    pub fn explores(&self) -> bool {
        self.additions.explore && self.rates.secondary_packets > 0.0
    }

    /// Paths that a forwarder's steering remembers. Ours: 65,536 with the usual PIT.
    pub fn known_paths(&self) -> usize {
        self.pit.div_ceil(4)
    }

    /// Those of forwarders.
    pub fn forwarders(&self) -> ForwarderParams {
        ForwarderParams {
            paths: self.paths,
            stretch: self.stretch,
            steering: self.steering,
            outage: self.outage,
            largest_rate: self.rates.largest_rate,
            lifetime: self.lifetime,
            pit: self.pit,
            unproven: self.unproven,
            store: self.store,
            known_paths: self.known_paths(),
        }
    }

    /// Whether these can be run.
    pub fn check(&self) -> Result<(), SpecError> {
        self.rates.check()?;
        self.shaper.check()?;
        require((1.0..=100.0).contains(&self.stretch), "stretch", "from 1 to 100")?;
        let all = self.paths == PathSelection::All;
        require(all || self.stretch == 1.0, "stretch", "1 with `paths = \"one\"`")?;
        require(all || self.steering == Steering::Shortcut, "steering", "not given with `paths = \"one\"`")?;
        require(all || self.outage == Outage::Wait, "outage", "\"wait\" with `paths = \"one\"`")?;
        require((0.0..=1.0).contains(&self.hintless), "hintless", "a share from 0 to 1")?;
        require(self.interest <= Bytes(9000), "interest", "at most 9000 B")?;
        let time = |t: Time| (Time::from_ms(1)..=Time::from_secs(60)).contains(&t);
        require(time(self.min_rto), "min_rto", "from 1 ms to 60 s")?;
        require(time(self.lifetime), "lifetime", "from 1 ms to 60 s")?;
        let entries = |n: usize| (1..=1 << 24).contains(&n);
        require(entries(self.pit), "pit", "from 1 to 16777216 segments")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icn::params::Outstanding;

    #[test]
    fn the_defaults_are_allowed_and_survive_being_written() {
        let (rates, shaper) = (RateParams::default(), ShaperParams::default());
        assert_eq!((rates.check(), shaper.check()), (Ok(()), Ok(())));
        let text = serde_json::to_string(&rates).expect("serialises");
        assert!(text.contains(r#""interval":"mean""#), "{text}");
        assert_eq!(serde_json::from_str::<RateParams>(&text).expect("parses"), rates);
    }

    #[test]
    fn with_the_papers_text_each_addition_of_ours_is_off_and_a_key_that_is_named_wins() {
        let paper = crate::params::read_text::<MirccParams>(&json!({ "text": "paper" })).expect("allowed");
        assert_eq!(paper.check(), Ok(()));
        let ours = MirccParams::default();
        assert_eq!(ours.settled(), ours, "the constants are the defaults");
        let rates = RateParams {
            residual: Reading::Printed,
            secondary_count: Reading::Printed,
            capacity: Capacity::Link,
            cap: 0.0,
            floor: 0.0,
            secondary_floor: 0.0,
            rtt: RttSource::Average,
            min_packets: 0.0,
            secondary_packets: 0.0,
            sparse: false,
            drain: Drain::RoundTrip,
            max_interval: Time::from_secs(60),
            ..ours.rates
        };
        let shaper = ShaperParams { outstanding: Outstanding::Paced, headroom: 1.0, passing: 100, ..ours.shaper };
        let settled = paper.settled();
        assert_eq!((settled.rates, settled.shaper), (rates, shaper));
        assert_eq!(
            (settled.split, settled.repair, settled.probe),
            (Split::Links, Repair::Timeout, Time::from_secs(60))
        );
        assert!(!settled.additions.spread);
        // None of these is in vain.
        let (paper, ours) = (MirccParams::paper(), serde_json::to_value(ours).expect("serialises"));
        for (key, value) in paper.as_object().expect("a table") {
            assert_ne!(&ours[key], value, "{key}");
            let named = crate::params::read_text::<MirccParams>(&json!({ "text": "paper", key: ours[key] }));
            let named = serde_json::to_value(named.expect("allowed")).expect("serialises");
            assert_eq!(named[key], ours[key], "{key} is named");
        }
    }

    #[test]
    fn intervals_are_words_or_times() {
        let read = |text: &str| serde_json::from_str::<Interval>(text);
        assert_eq!(read(r#""largest""#).expect("a word"), Interval::Of(RttOf::Largest));
        assert_eq!(read(r#""10 ms""#).expect("a time"), Interval::Fixed(Time::from_ms(10)));
        assert!(read(r#""often""#).is_err());
    }

    #[test]
    fn errors_name_the_key() {
        let key = |p: RateParams| p.check().expect_err("refused").key;
        let ok = RateParams::default();
        assert_eq!(key(RateParams { eta: 0.0, ..ok }), "eta");
        assert_eq!(key(RateParams { weight: f64::NAN, ..ok }), "weight");
        assert_eq!(key(RateParams { interval: Interval::Fixed(Time::ZERO), ..ok }), "interval");
        assert_eq!(key(RateParams { cap: 1e-5, ..ok }), "cap");
        let of = |p: MirccParams| p.check().expect_err("refused").key;
        assert_eq!(of(MirccParams { pit: 0, ..MirccParams::default() }), "pit");
        let one = MirccParams { paths: PathSelection::One, ..MirccParams::default() };
        assert_eq!(of(MirccParams { stretch: 2.0, ..one }), "stretch");
        assert_eq!(of(MirccParams { steering: Steering::BloomFilter, ..one }), "steering");
        assert_eq!(of(MirccParams { outage: Outage::Around, ..one }), "outage");
        assert_eq!(key(RateParams { rcp_alpha: -1.0, ..ok }), "rcp_alpha");
        let shaper = ShaperParams { interests: 0, ..ShaperParams::default() };
        assert_eq!(shaper.check().expect_err("refused").key, "interests");
    }
}
