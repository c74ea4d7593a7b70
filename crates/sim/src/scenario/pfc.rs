use midpath_core::packet::Packet;
use midpath_core::pfc::ClassOf;
use midpath_core::spec::SpecError;
use midpath_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// Packets that have a queue of their own at each port, by the codepoint of their ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficClass {
    /// All packets.
    All,
    /// ECT(0), ECT(1) and CE.
    Ect,
    /// Others: ACKs of most schemes, and flows without ECN.
    NotEct,
}

impl TrafficClass {
    /// As scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            TrafficClass::All => "all",
            TrafficClass::Ect => "ect",
            TrafficClass::NotEct => "not-ect",
        }
    }
}

/// Priority-based flow control (IEEE 802.1Qbb): routers lose nothing for want of room, because they have
/// neighbours pause.
///
/// A router counts what it holds by the port through which it came in. Above `xoff` that port's neighbour
/// is paused, below `xon` it goes on. `headroom` is for what is under way meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcSpec {
    /// Classes with their own queue, in order of service: default `["all"]`, `["ect",
    /// "not-ect"]` or `["not-ect", "ect"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["ect", "not-ect"]]))]
    pub classes: Vec<TrafficClass>,
    /// Lossless, pausable classes; others have the queue's `limit`; default all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["ect"]]))]
    pub lossless: Vec<TrafficClass>,
    /// Rate shares of `classes`; default: strict priority in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[1, 3]]))]
    pub weights: Vec<u32>,
    /// Memory per router for lossless classes, split equally over its ports, or shared by `alpha`; default: what
    /// `xoff` needs, or the sum of its ports' `limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Bytes per ingress port and class above which its neighbour pauses; default: its share of
    /// `buffer` less headroom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Bytes below which the neighbour resumes; default two of the link's largest packets less than `xoff` (Zhu et
    /// al., 2015).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// Dynamic XOFF: a port and class is paused when it holds more than `reserve` plus so many times the free shared
    /// memory. Excludes `xoff` and `xon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [0.125]))]
    pub alpha: Option<f64>,
    /// With `alpha`: memory that each port and class has to itself; default 4096 B (HPCC's switch).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// Room above XOFF per port and class; default: enough for no loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
}

/// As in `switch-mmu.cc` of alibaba-edu/High-Precision-Congestion-Control.
const RESERVE: Bytes = Bytes(4096);

impl PfcSpec {
    /// With `alpha`: what each port and class has to itself.
    pub fn reserve(&self) -> Option<Bytes> {
        self.alpha.map(|_| self.reserve.unwrap_or(RESERVE))
    }

    /// Its classes.
    pub fn classes(&self) -> &[TrafficClass] {
        if self.classes.is_empty() { &[TrafficClass::All] } else { &self.classes }
    }

    /// Of each class whether it is lossless.
    pub fn lossless(&self) -> Vec<bool> {
        self.classes().iter().map(|class| self.lossless.is_empty() || self.lossless.contains(class)).collect()
    }

    /// How many are.
    pub fn lossless_count(&self) -> u64 {
        self.lossless().into_iter().filter(|lossless| *lossless).count() as u64
    }

    /// Which of its classes a packet is of.
    pub fn class_of(&self) -> ClassOf {
        match self.classes() {
            [TrafficClass::Ect, ..] => |packet: &Packet| usize::from(!packet.ecn.capable()),
            [TrafficClass::NotEct, ..] => |packet: &Packet| usize::from(packet.ecn.capable()),
            _ => |_: &Packet| 0,
        }
    }

    /// Whether its keys agree with each other. Keys of errors are relative to the table.
    pub fn check(&self) -> Result<(), SpecError> {
        let classes = self.classes();
        if !matches!(
            classes,
            [TrafficClass::All] | [TrafficClass::Ect, TrafficClass::NotEct] | [TrafficClass::NotEct, TrafficClass::Ect]
        ) {
            let message =
                "each packet must be in one class: write [\"all\"], [\"ect\", \"not-ect\"] or [\"not-ect\", \"ect\"]";
            return Err(SpecError::new("classes", message));
        }
        if let Some((i, class)) = self.lossless.iter().enumerate().find(|(_, class)| !classes.contains(class)) {
            let known = classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ");
            let message = format!("no queue has the class `{}`; `classes` are {known}", class.name());
            return Err(SpecError::new(format!("lossless[{i}]"), message));
        }
        if !self.weights.is_empty() && (classes.len() == 1 || self.weights.len() != classes.len()) {
            let message = match classes.len() {
                1 => "do not apply to one class".to_owned(),
                n => format!("has {}; there are {n} classes", self.weights.len()),
            };
            return Err(SpecError::new("weights", message));
        }
        if let Some(i) = self.weights.iter().position(|weight| !(1..=1000).contains(weight)) {
            return Err(SpecError::new(format!("weights[{i}]"), "must be from 1 to 1000"));
        }
        if self.alpha.is_some_and(|alpha| !(alpha > 0.0 && alpha <= 1000.0)) {
            return Err(SpecError::new("alpha", "must be above 0 and at most 1000"));
        }
        if let Some((key, _)) = [("xoff", self.xoff), ("xon", self.xon)].into_iter().find(|(_, value)| value.is_some())
            && self.alpha.is_some()
        {
            let message =
                format!("and `alpha` exclude each other: `alpha` makes XOFF dynamic; leave out `{key}` or `alpha`");
            return Err(SpecError::new(key, message));
        }
        if self.reserve.is_some() && self.alpha.is_none() {
            return Err(SpecError::new("reserve", "applies to dynamic XOFF; set `alpha`, or leave out `reserve`"));
        }
        for (key, value) in [("buffer", self.buffer), ("xoff", self.xoff), ("xon", self.xon)] {
            if value == Some(Bytes::ZERO) {
                return Err(SpecError::new(key, "must be above zero"));
            }
        }
        match (self.xon, self.xoff) {
            (Some(xon), Some(xoff)) if xon > xoff => {
                Err(SpecError::new("xon", format!("must be at most `xoff`, which is {xoff}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        toml::from_str::<PfcSpec>(text).map_err(|e| e.to_string())?.check().map_err(|e| e.to_string())
    }

    #[test]
    fn classes_are_all_packets_and_lossless_ones_are_among_them() {
        for ok in [
            "",
            "alpha = 8\nreserve = \"0 B\"",
            "classes = [\"all\"]",
            "classes = [\"not-ect\", \"ect\"]\nlossless = [\"ect\"]\nweights = [1, 3]",
        ] {
            assert_eq!(check(ok), Ok(()), "{ok}");
        }
        for (text, part) in [
            ("lossless = [\"ect\"]", "lossless[0]: no queue has the class `ect`; `classes` are all"),
            ("classes = [\"ect\"]", "classes: each packet must be in one class"),
            ("classes = [\"ect\", \"ect\"]", "classes: each packet must be in one class"),
            ("classes = [\"dscp-3\"]", "unknown variant `dscp-3`"),
            ("weights = [1]", "weights: do not apply to one class"),
            ("classes = [\"ect\", \"not-ect\"]\nweights = [1]", "weights: has 1; there are 2 classes"),
            ("classes = [\"ect\", \"not-ect\"]\nweights = [1, 0]", "weights[1]: must be from 1 to 1000"),
            ("xoff = \"0 B\"", "xoff: must be above zero"),
            ("alpha = 0.0", "alpha: must be above 0 and at most 1000"),
            ("alpha = nan", "alpha: must be above 0 and at most 1000"),
            ("alpha = 1.0\nxoff = \"9 kB\"", "xoff: and `alpha` exclude each other"),
            ("alpha = 1.0\nxon = \"9 kB\"", "leave out `xon` or `alpha`"),
            ("reserve = \"9 kB\"", "reserve: applies to dynamic XOFF; set `alpha`"),
            ("xoff = \"9 kB\"\nxon = \"10 kB\"", "xon: must be at most `xoff`, which is 9 kB"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
