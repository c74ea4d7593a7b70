//! NDP (Handley et al., SIGCOMM 2017): a first window at the host's rate, each packet over a path of its own; routers cut
//! payloads off, and receivers pull what is left at their link's rate.
//!
//! Implemented and omitted parts: `docs/schemes/ndp.md`. Map from htsim's functions to files: `README.md`. Files: `params.rs`
//! (parameters), `window.rs` (what may be sent), `paths.rs`, `sender.rs`, `receiver.rs`. The pacer of pulls, the host's line,
//! the header and both ends' records are UET's (`uec`).

mod describe;
mod params;
mod paths;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet, Trim};
use midpath_core::roles::{self, Accept, Endpoint, FlowSpec, Names, Network, Transport};
use midpath_core::spec::SpecError;

use crate::uec::header::{SIZE, UecHeader};
pub(crate) use describe::schemes;
pub use params::NdpParams;
use receiver::Receiver;
use sender::Sender;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: NdpParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Scheme { name: name.to_owned(), params }))
}

/// The scheme.
struct Scheme {
    name: String,
    params: NdpParams,
}

impl roles::Scheme for Scheme {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn roles::Scheme>>, SpecError> {
        let params = NdpParams { rto: Some(self.params.timeout(names.rtt())), ..self.params };
        Ok(Some(Arc::new(Scheme { name: self.name.clone(), params })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(Ndp(self.params)))
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }
}

/// NDP's flows.
struct Ndp(NdpParams);

impl Transport for Ndp {
    fn headers(&self) -> u32 {
        SIZE
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Sender::new(flow, &self.0))
    }
    fn accept(&self, first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        match first.header::<UecHeader>().filter(|header| !header.message.answers()) {
            // Nor is one that comes back to a flow that is over here.
            Some(_) if first.kind == Kind::Datagram && first.trim != Trim::Returned => {
                Accept::Take(Box::new(Receiver::new(first.src)))
            }
            _ => Accept::Ignore,
        }
    }
    /// A flow that is over here has all of its data: what comes late is acknowledged. Ours: htsim's receivers stay.
    fn refuse(&self, packet: &Packet) -> Option<Packet> {
        let asks = |header: &UecHeader| !header.message.answers() && packet.trim != Trim::Returned;
        let asked = packet.header::<UecHeader>().filter(asks)?;
        Some(asked.closed().packet(packet.flow, packet.dst, packet.src, 0))
    }
}
