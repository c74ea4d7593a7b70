//! The parameters of forwarders and shapers by name. Each scheme chooses which to offer; each default names its origin.

use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

use super::header::{Trail, Way};
use super::path::Bloom;
use crate::params::require;

/// How many ways a flow takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PathSelection {
    /// One of the shortest ones, chosen as for other schemes' flows.
    One,
    /// All that the FIB has: the shortest ones, and others within `stretch`.
    #[default]
    All,
}

/// How Interests are steered onto paths (§4.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Steering {
    /// By pathIds that forwarders remember: the paper's simulation shortcut.
    #[default]
    Shortcut,
    /// By a Bloom filter of the next hops at split points, which Data bring.
    BloomFilter,
    /// By a random value that forwarders hash, and Data reflect.
    RandomValue,
}

impl Steering {
    /// Where the Data that answer an Interest begin to tell of their way (§4.3.2).
    pub fn trail(self, interest: Way) -> Trail {
        match (self, interest) {
            (Steering::BloomFilter, _) => Trail::Filter(Bloom::default()),
            (Steering::RandomValue, Way::Value { value, .. }) => Trail::Value(value),
            _ => Trail::None,
        }
    }
}

/// What a forwarder does with Interests for a link that is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outage {
    /// They wait at the port: routes are not computed again.
    #[default]
    Wait,
    /// Another next hop of the FIB takes them, if there is one.
    Around,
}

/// The parameters of a node's forwarder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForwarderParams {
    /// How many ways a flow takes.
    pub paths: PathSelection,
    /// With all: what a path may cost at most, as a multiple of the shortest one's cost.
    pub stretch: f64,
    /// How Interests are steered.
    pub steering: Steering,
    /// What happens to Interests for a link that is down.
    pub outage: Outage,
    /// The rate that Data from a content store begin with.
    pub largest_rate: Rate,
    /// How long an Interest is pending.
    pub lifetime: Time,
    /// Segments in the PIT.
    pub pit: usize,
    /// Interests that a host may have pending before some were answered; 0: no bound.
    pub unproven: u32,
    /// Bytes of Data in a router's content store.
    pub store: Bytes,
    /// Paths that the shortcut remembers.
    pub known_paths: usize,
}

/// How a shaper paces Interests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// At the shaping rate of Wang et al., and never beyond what is booked.
    #[default]
    Wang,
    /// By what is booked alone; while Interests come the other way, these have at most half of the
    /// way out, as Wang's optimum has it where they need most of it.
    Booked,
}

/// How much Data may be on their way to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outstanding {
    /// What has room on the way back when it is due, by the round trips that the port measures.
    /// Ours. With `pacing = "booked"` it is as `Booked`: what a calendar lets go together, a pace
    /// keeps apart.
    #[default]
    Due,
    /// As much as the bookings of both directions let through: a rate, whenever the Data come. Ours.
    Booked,
    /// As much as Wang's pace lets through: nothing is booked beside it. The paper's text ("books the
    /// reverse bandwidth ... via the shaping").
    Paced,
    /// No more than the neighbour's queue holds, ours: they have room there even if they come all
    /// at once.
    Queue,
}

/// Share of both directions that may be booked: the default of Wang's public implementation for ndnSIM.
pub const HEADROOM: f64 = 0.98;

/// Interests in a port's queue that a router forwarded, shared among their paths: their Data are already due, and
/// arrive late, beside others. Ours, with which few random networks drop Data.
pub const PASSING: usize = 6;

/// As many as there may be of any others by default.
pub const MANY: usize = 100;

/// The Interest shaper of a port.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ShaperParams {
    /// "wang" or "booked".
    pub pacing: Pacing,
    /// "due", "booked", "paced" or "queue".
    pub outstanding: Outstanding,
    /// Share of both directions that may be booked. No key: the scheme's.
    #[serde(skip)]
    pub headroom: f64,
    /// Interest queue, both classes together. 100: the same.
    pub interests: usize,
    /// Maximum of these forwarded by a router, shared among their paths. No key: the scheme's.
    #[serde(skip)]
    pub passing: usize,
    /// How far ahead of the link bookings may run. Ours: 3.5 kB, two Data and their Interests; the neighbour's Data
    /// queue must hold as much.
    pub burst: Bytes,
}

impl Default for ShaperParams {
    fn default() -> ShaperParams {
        ShaperParams {
            pacing: Pacing::Wang,
            outstanding: Outstanding::Due,
            headroom: HEADROOM,
            interests: MANY,
            passing: PASSING,
            burst: Bytes(3500),
        }
    }
}

impl ShaperParams {
    /// Whether a port can live by these.
    pub fn check(&self) -> Result<(), SpecError> {
        let paced = self.pacing == Pacing::Wang || self.outstanding != Outstanding::Paced;
        require(paced, "outstanding", "not \"paced\" with `pacing = \"booked\"`")?;
        require((1..=1 << 20).contains(&self.interests), "interests", "from 1 to 1048576")?;
        require(self.burst <= Bytes(1 << 30), "burst", "at most 1 GiB")
    }
}
