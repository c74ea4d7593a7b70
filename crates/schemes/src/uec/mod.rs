//! Ultra Ethernet's transport (UET, reliable unordered delivery) with its congestion control: NSCC at the sender, RCCC's
//! credits at the receiver, entropy per packet, and NACKs of what was trimmed.
//!
//! Implemented and omitted parts: `docs/schemes/uec.md`. Map from HTSIM's functions to files: `README.md`. Files:
//! `params.rs` (parameters), `nscc.rs` (the window), `entropy.rs` (paths), `header.rs`, `nic.rs` (a host's line),
//! `outstanding.rs` (packets sent), `sender.rs`, `arrived.rs` (packets received), `receiver.rs`, `credits.rs` (RCCC's pacer).

pub(crate) mod arrived;
pub(crate) mod credits;
mod describe;
pub(crate) mod entropy;
pub(crate) mod header;
pub(crate) mod nic;
mod nscc;
pub(crate) mod outstanding;
pub(crate) mod params;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::roles::{self, Accept, Endpoint, FlowSpec, Names, Network, Transport};
use midpath_core::spec::SpecError;
use midpath_core::units::Time;

use credits::Rules;
pub(crate) use describe::schemes;
use header::{SIZE, UecHeader};
use params::Profile;
pub use params::UecParams;
use receiver::Receiver;
use sender::Sender;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: UecParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Scheme { name: name.to_owned(), params }))
}

/// The scheme.
struct Scheme {
    name: String,
    params: UecParams,
}

impl roles::Scheme for Scheme {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn roles::Scheme>>, SpecError> {
        let known = (names.rtt() > Time::ZERO).then(|| names.rtt());
        let params = UecParams { network_rtt: self.params.network_rtt.or(known), ..self.params };
        Ok(Some(Arc::new(Scheme { name: self.name.clone(), params })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(Uec(Profile { params: self.params, rules: Rules::Rccc })))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }
}

/// UET's flows, and EQDS's.
pub(crate) struct Uec(pub(crate) Profile);

impl Transport for Uec {
    fn headers(&self) -> u32 {
        SIZE
    }
    fn draws_paths(&self) -> bool {
        true
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Sender::new(flow, &self.0))
    }
    fn accept(&self, first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        let asks = |header: &UecHeader| !header.message.answers();
        match first.header::<UecHeader>().filter(asks) {
            Some(_) if first.kind == Kind::Datagram => Accept::Take(Box::new(Receiver::new(first.src, &self.0))),
            _ => Accept::Ignore,
        }
    }
    /// A flow that is over here has all of its data: what comes late is acknowledged. Ours: HTSIM's receivers stay.
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        let asked = packet.header::<UecHeader>().filter(|header| !header.message.answers())?;
        Some(asked.closed().packet(packet.flow, packet.dst, packet.src, 0))
    }
}
