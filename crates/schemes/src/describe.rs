//! Descriptions of schemes, read by reports, tables and the command line, so that these need no code per scheme.
//!
//! Each scheme's folder has one, and the catalogue returns it. External schemes provide theirs with
//! [`Catalogue::described`](crate::Catalogue::described).

use serde::Serialize;

/// What a scheme is, what it needs, what it costs, and what its gauges show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Description {
    /// Its name as people write it: "CUBIC".
    pub title: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// The same as BibTeX, for who cites results: above each entry `% in words: `, and its part of `source`.
    #[serde(skip)]
    pub bibtex: &'static str,
    /// What hosts must run. Empty: it carries no flows.
    pub hosts: &'static str,
    /// What routers must run. Empty: any queues.
    pub routers: &'static str,
    /// Which of `rate`, `late_after`, `weight`, `budget`, `object` and `replicas` its flows read. Beside a scheme that a flow names
    /// others are refused.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub reads: &'static [&'static str],
    /// Parameters of TCP's that stand in its table and that it has in hand itself: they are refused.
    #[serde(skip)]
    pub unread: &'static [&'static str],
    /// How its network uses ECN, where that is not CE on data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<&'static str>,
    /// Whether its flows need queues that mark: a run in which they meet none warns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_marks: bool,
    /// What chooses packets, and marks them, at its ports whose queue names nothing that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<&'static str>,
    /// The parameter that says how much a port stores beside its queue. Its type is `Limit`, and
    /// its default is in the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<&'static str>,
    /// What it costs: bytes on packets, packets of its own, memory and work in routers. A sentence
    /// each.
    pub costs: Vec<String>,
    /// What its ports show over time.
    pub ports: Vec<Gauge>,
    /// What its flows show over time, beside what is recorded of every flow.
    pub flows: Vec<Gauge>,
    /// How its lines are drawn. `None`: in a colour that is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
}

/// A number that a port or a flow shows over time, under the name that `gauges` gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gauge {
    /// Its name in the table `series`.
    pub name: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// What it says.
    pub meaning: &'static str,
    /// The paper's symbol: "S_high".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<&'static str>,
    /// What its values 0, 1, … mean, if they number states.
    #[serde(skip_serializing_if = "<[State]>::is_empty")]
    pub states: &'static [State],
    /// What it is in the picture of a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub along: Option<Along>,
}

impl Gauge {
    /// A gauge that is a quantity.
    pub const fn new(name: &'static str, unit: Unit, meaning: &'static str) -> Gauge {
        Gauge { name, unit, meaning, symbol: None, states: &[], along: None }
    }

    /// A gauge that counts, from the start of the run or of the flow.
    pub const fn count(name: &'static str, meaning: &'static str) -> Gauge {
        Gauge::new(name, Unit::Count, meaning)
    }

    /// A gauge whose values are numbers of states.
    pub const fn state(name: &'static str, meaning: &'static str, states: &'static [State]) -> Gauge {
        Gauge { states, ..Gauge::count(name, meaning) }
    }

    /// The same with the paper's symbol for it.
    #[must_use]
    pub const fn symbol(self, symbol: &'static str) -> Gauge {
        Gauge { symbol: Some(symbol), ..self }
    }

    /// The same, drawn along paths.
    #[must_use]
    pub const fn along(self, along: Along) -> Gauge {
        Gauge { along: Some(along), ..self }
    }
}

/// What a gauge is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number without a unit.
    Count,
    /// A share of one.
    Ratio,
    /// Bits per second.
    Bps,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Money per second.
    DollarsPerS,
    /// Money per byte.
    DollarsPerByte,
}

/// One of the states that a gauge tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct State {
    /// What the paper calls it.
    pub name: &'static str,
    /// Its colour, by how much is wrong.
    pub tone: Tone,
}

impl State {
    /// A state and its tone.
    pub const fn new(name: &'static str, tone: Tone) -> State {
        State { name, tone }
    }
}

/// How much is wrong in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing.
    Calm,
    /// There is congestion, and the port or flow copes alone.
    Busy,
    /// Others are asked to slow down.
    Alarm,
    /// It is over: others are let go.
    Relief,
}

/// Parts of the picture of a path, beside the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// Bytes that the port stores.
    Store,
    /// The upper threshold of the store.
    High,
    /// The lower threshold of the store.
    Low,
    /// Above zero while flows here are slowed down by the next hop.
    Slowed,
}

/// How a scheme's lines are drawn. Schemes that are often compared with each other should be far
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The colour, of Okabe and Ito's palette.
    pub hue: Hue,
    /// What tells two schemes of one hue apart.
    pub dash: Dash,
}

impl Look {
    /// A hue and a dash.
    pub const fn new(hue: Hue, dash: Dash) -> Look {
        Look { hue, dash }
    }
}

/// A colour that people with any colour vision can tell from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are colours")]
pub enum Hue {
    Blue,
    Orange,
    Green,
    Purple,
    Amber,
    Sky,
}

/// How a line is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum Dash {
    Solid,
    Dot,
    DashDot,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_written() {
        let text = serde_json::to_value(Gauge::new("load", Unit::Ratio, "How busy.")).expect("a table");
        assert_eq!(text, serde_json::json!({"name": "load", "unit": "ratio", "meaning": "How busy."}));
    }

    #[test]
    fn states_and_looks_are_written_in_words() {
        const STATES: &[State] = &[State::new("Idle", Tone::Calm), State::new("Full", Tone::Alarm)];
        let gauge = Gauge::state("state", "What it does.", STATES);
        let text =
            serde_json::to_value((gauge, Look::new(Hue::Sky, Dash::DashDot), Unit::DollarsPerByte)).expect("json");
        assert_eq!(text[0]["states"][1], serde_json::json!({"name": "Full", "tone": "alarm"}));
        assert_eq!(text[1], serde_json::json!({"hue": "sky", "dash": "dashdot"}));
        assert_eq!(text[2], "dollars_per_byte");
    }
}
