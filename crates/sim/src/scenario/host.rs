use midpath_core::node::Host;
use midpath_core::spec::SpecError;
use midpath_core::units::{Bytes, Rate, Time};
use midpath_topo::graph::check_rate;
use serde::{Deserialize, Serialize};

/// Hosts that take time to take packets out of their network card, one after the other: ACKs too. The last row that
/// matches a host decides; others take packets as they come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// Hosts by name, class, or prefix and `*`; default all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["d*"]]))]
    pub nodes: Vec<String>,
    /// Rate at which it takes their bytes; default: bytes cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["40 Gbps"]))]
    pub rate: Option<Rate>,
    /// What each packet costs besides, of whatever size; default nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["500 ns"]))]
    pub per_packet: Option<Time>,
    /// Room in the card; what finds none is lost. Default 1 MiB.
    #[serde(default = "buffer")]
    pub buffer: Bytes,
}

/// 256 packets of 4 KiB, the largest window of Falcon in Google's simulator.
fn buffer() -> Bytes {
    Bytes(1 << 20)
}

impl HostSpec {
    /// What it says of a host whose link has this MTU. Keys of errors are relative to the row.
    pub fn host(&self, mtu: u32) -> Result<Host, SpecError> {
        if self.rate.is_none() && self.per_packet.is_none() {
            return Err(SpecError::new("rate", "is required, or `per_packet`: else nothing takes time"));
        }
        check_rate("rate", self.rate)?;
        if self.rate == Some(Rate::ZERO) {
            return Err(SpecError::new("rate", "must be above zero"));
        }
        if self.buffer.0 < u64::from(mtu) {
            return Err(SpecError::new("buffer", format!("must have room for a packet of {mtu} B")));
        }
        Ok(Host { rate: self.rate, per_packet: self.per_packet.unwrap_or(Time::ZERO), buffer: self.buffer.0 })
    }
}
