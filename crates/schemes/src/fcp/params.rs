//! FCP's parameters, each with its origin.

pub mod additions;
mod domains;

use std::collections::BTreeMap;

use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::header::Class;
pub use super::misbehave::Behaviour;
use super::perturb::Perturbation;
use crate::params::{Text, Texts, require, without};
use crate::transport::TcpParams;
use crate::transport::params::{DelayedAck, LossDetection};
pub use additions::Additions;
pub use domains::{DomainParams, Domains, check as check_domains};

/// Groups with currencies of their own at most. Ours: each has a window and a price history at each
/// port.
const MOST_GROUPS: usize = 64;

/// TCP's parameters where the table says nothing else: prices ride on ACKs, so every packet has one. Losses are
/// found as by the TCPs of the paper's time: where a share is less than a packet in a round trip, what is repeated
/// sooner takes another's share.
fn own_defaults<'de, D: Deserializer<'de>>(d: D) -> Result<TcpParams, D::Error> {
    let mut table = serde_json::Map::deserialize(d)?;
    table.entry("delayed_ack").or_insert(false.into());
    table.entry("loss_detection").or_insert("rfc6675".into());
    TcpParams::deserialize(serde_json::Value::Object(table)).map_err(serde::de::Error::custom)
}

/// The parameters of `fcp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FcpParams {
    /// What FCP takes from TCP: handshake, SACK, timers. Every packet is acknowledged unless said,
    /// for its price rides on the ACK.
    #[serde(flatten, deserialize_with = "own_defaults")]
    pub tcp: TcpParams,
    /// `paper` turns off our additions, except keys in the table.
    pub text: Text,
    /// Names of our additions to leave out.
    #[serde(rename = "without", with = "without")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "without::schema::<Additions>"))]
    pub additions: Additions,
    /// Default budget of a host, $/s. 1 is §6.1's.
    pub budget: f64,
    /// Default policy by which a host splits its budget over flows (§4.2). The paper's baseline.
    pub policy: String,
    /// α of equation (2). 2 is §5's.
    pub alpha: f64,
    /// The averaging window d as a multiple of the average round-trip time. 2 is §5's.
    pub window: f64,
    /// Minimum price, $/byte. 10^-18 is §5's.
    pub minimum_price: f64,
    /// Preload of flows that need less than their budget.
    pub preload_for: PreloadFor,
    /// The header's round-trip time.
    pub header_rtt: HeaderRtt,
    /// Share of a host's budget for background flows. 1/10000 is §6.2's.
    pub background_share: f64,
    /// Hosts by name.
    pub hosts: BTreeMap<String, HostParams>,
    /// Groups of flows by name.
    pub groups: BTreeMap<String, GroupParams>,
    /// Pricing and enforcement of the network.
    pub network: NetworkParams,
    /// Domains by name, each with a currency of its own (§4.3).
    pub domains: BTreeMap<String, DomainParams>,
}

impl Default for FcpParams {
    fn default() -> FcpParams {
        FcpParams {
            // Every packet's price comes back.
            tcp: TcpParams {
                delayed_ack: DelayedAck(1),
                loss_detection: LossDetection::Rfc6675,
                ..TcpParams::default()
            },
            text: Text::Ours,
            additions: Additions::default(),
            budget: 1.0,
            policy: "equal-budget".to_owned(),
            alpha: 2.0,
            window: 2.0,
            minimum_price: 1e-18,
            preload_for: PreloadFor::NextRound,
            header_rtt: HeaderRtt::PriceAge,
            background_share: 1e-4,
            hosts: BTreeMap::new(),
            groups: BTreeMap::new(),
            network: NetworkParams::default(),
            domains: BTreeMap::new(),
        }
    }
}

impl Texts for FcpParams {
    fn paper() -> Value {
        json!({
            "without": without::names::<Additions>(),
            "preload_for": PreloadFor::FlowSize,
            "header_rtt": HeaderRtt::RoundTrip,
        })
    }
}

/// What a flow preloads for whose data need less than its budget (§6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PreloadFor {
    /// For what will be left when the present round trip is over: what is announced is sent. Ours.
    #[default]
    NextRound,
    /// For all that is left: "to achieve at most flowsize/RTT". The paper's words; the present
    /// round trip's packets are announced twice, and links keep capacity for what does not come.
    FlowSize,
}

/// What a sender writes into the header's round-trip time, by which links look up what they told
/// it: p(t − rtt).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HeaderRtt {
    /// How long ago links quoted the price that the packet pays: the round trip of the ACK that
    /// told it, and how long ago that came. Ours.
    #[default]
    PriceAge,
    /// The round trip of that ACK (§5). Where a queue has just grown, ACKs are far apart, and links
    /// look at a later price.
    RoundTrip,
}

/// What one host has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct HostParams {
    /// Its budget, $/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// How it splits the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// How one group of flows is treated by its hosts and asks to be treated by the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GroupParams {
    /// The group's share of a host's budget among the groups that have open flows there.
    pub weight: f64,
    /// How its budget is split over its flows; the host's policy unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The service that its packets ask for.
    pub class: Class,
    /// With class `deadline`: the rate that the flow needs, on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A budget that grows in steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// Whether its senders keep to the protocol.
    pub behaviour: Behaviour,
    /// Hosts that each of its flows goes to besides the one that the flow names, which is the one
    /// that is measured; §4.2, multicast-aware congestion control. The flows are then paced
    /// datagrams, and nothing is sent again.
    pub multicast: Vec<String>,
    /// The group of flows whose currency its prices are in (§4.3).
    pub tenant: u16,
}

impl Default for GroupParams {
    fn default() -> GroupParams {
        GroupParams {
            weight: 1.0,
            policy: None,
            class: Class::Normal,
            rate: None,
            ramp: None,
            behaviour: Behaviour::Honest,
            multicast: Vec::new(),
            tenant: 0,
        }
    }
}

/// A budget that starts at a share of the flow's and is multiplied in steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// The share to start at.
    pub from: f64,
    /// By what it is multiplied in each step.
    pub factor: f64,
    /// Time between steps; the first one comes this long after `start`.
    pub every: Time,
    /// When it begins; at once unless said.
    #[serde(default)]
    pub start: Time,
    /// When it stays as it is; when the whole budget is reached unless said.
    #[serde(default = "never")]
    pub until: Time,
}

fn never() -> Time {
    Time::MAX
}

impl Ramp {
    /// The share of the budget at `now`.
    pub fn share(&self, now: Time) -> f64 {
        let steps = now.min(self.until).saturating_sub(self.start).0 / self.every.0.max(1);
        (self.from * self.factor.powf(steps as f64)).min(1.0)
    }
}

/// Pricing and enforcement of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NetworkParams {
    /// How links price.
    pub pricing: PricingKind,
    /// Whether edge routers check balances and budgets (§5).
    pub enforcement: bool,
    /// With `metro`: the priority queue's price in multiples of the standard price. 10 is §4.2's
    /// example.
    pub metro_factor: f64,
    /// With `deadline`: how much of the link deadline flows get at most. 0.8 is §6.3's.
    pub deadline_share: f64,
    /// With `aggregate`: weights of groups of flows by number. Who has none here shares one of
    /// weight 1 with all others.
    pub tenants: BTreeMap<u16, f64>,
    /// With uniform pricing: prices that are wrong on purpose (§6.1.2, figure 8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
}

impl Default for NetworkParams {
    fn default() -> NetworkParams {
        NetworkParams {
            pricing: PricingKind::Uniform,
            enforcement: false,
            metro_factor: 10.0,
            deadline_share: 0.8,
            tenants: BTreeMap::new(),
            perturbation: None,
        }
    }
}

impl NetworkParams {
    pub(super) fn check(&self) -> Result<(), SpecError> {
        if let Some(p) = &self.perturbation {
            require(p.size >= 0.0 && p.size < 1.0, "perturbation.size", "at least 0 and below 1")?;
            require(!p.every.is_zero(), "perturbation.every", "above zero")?;
            require(self.pricing == PricingKind::Uniform, "perturbation", "with uniform pricing only")?;
        }
        require((1.0..=1e6).contains(&self.metro_factor), "metro_factor", "from 1 to 1e6")?;
        require((0.0..1.0).contains(&self.deadline_share), "deadline_share", "at least 0 and below 1")?;
        require(self.tenants.len() <= MOST_GROUPS, "tenants", "at most 64 groups")?;
        require(self.tenants.values().all(|w| (1e-6..=1e6).contains(w)), "tenants", "weights from 1e-6 to 1e6")
    }
}

/// How links price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PricingKind {
    /// One price for all (§4.1).
    #[default]
    Uniform,
    /// A price of its own for flows of class `stability`, that changes by at most a factor of two
    /// in two round trips (§4.2).
    Stability,
    /// A priority queue, at a multiple of the standard price (§4.2, Paris Metro Pricing).
    Metro,
    /// A fixed price for flows of class `deadline` whose rates fit (§4.2, D³-style deadlines).
    Deadline,
    /// Groups of flows with currencies of their own, and bandwidth by their weights (§4.3,
    /// aggregate congestion control).
    Aggregate,
}

impl GroupParams {
    /// The largest preload of its flows; 1 doubles the budget in a round trip (§4.2: "end-points limit
    /// the maximum preload to 1").
    pub fn preload_limit(&self) -> f64 {
        if self.class == Class::Stability { 1.0 } else { f64::INFINITY }
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        require((1e-12..=1e12).contains(&self.weight), "weight", "from 1e-12 to 1e12")?;
        let rate = self.rate.is_some_and(|r| r.0 > 0);
        require(rate == (self.class == Class::Deadline), "rate", "above zero with class = \"deadline\", else absent")?;
        let Some(ramp) = &self.ramp else { return Ok(()) };
        require(ramp.from > 0.0 && ramp.from <= 1.0, "ramp.from", "above 0 and at most 1")?;
        require((1.0..=1e6).contains(&ramp.factor), "ramp.factor", "from 1 to 1e6")?;
        require(!ramp.every.is_zero(), "ramp.every", "above zero")
    }
}
