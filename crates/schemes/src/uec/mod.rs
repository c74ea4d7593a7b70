//! Ultra Ethernet's transport (UET, reliable unordered delivery) with its congestion control: NSCC at the sender, RCCC's
//! credits at the receiver, entropy per packet, and NACKs of what was trimmed.
//!
//! Implemented and omitted parts: `docs/schemes/uec.md`. Map from HTSIM's functions to files: `README.md`. Files:
//! `params.rs` (parameters), `nscc.rs` (the window), `entropy.rs` (paths), `header.rs`, `nic.rs` (a host's line),
//! `outstanding.rs` (packets sent), `sender.rs`, `arrived.rs` (packets received), `receiver.rs`, `credits.rs` (RCCC's pacer).

mod arrived;
mod credits;
mod describe;
mod entropy;
mod header;
mod nic;
mod nscc;
mod outstanding;
mod params;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::roles::{Accept, Endpoint, FlowSpec, Parts, Transport};

pub(crate) use describe::schemes;
use header::{Message, SIZE, UecHeader};
pub use params::UecParams;
use receiver::Receiver;
use sender::Sender;

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: UecParams) -> crate::Built {
    params.check()?;
    Ok(Arc::new(Parts { name: name.to_owned(), transport: Some(Arc::new(Uec(params))), network: None }))
}

/// UET's flows.
struct Uec(UecParams);

impl Transport for Uec {
    fn headers(&self) -> u32 {
        SIZE
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
        let answer =
            UecHeader { message: Message::Closed, psn: asked.psn, entropy: asked.entropy, ..UecHeader::default() };
        Some(answer.packet(packet.flow, packet.dst, packet.src, 0))
    }
}
