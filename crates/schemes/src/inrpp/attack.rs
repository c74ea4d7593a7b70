//! An attacker (§V-C): a host that forges router messages in other hosts' flows. A flow of
//! the scheme `inrpp-attack` goes from the attacker's host to the victim's sender; its packets claim to come from
//! the victim's receiver.

use std::sync::Arc;

use midpath_core::packet::{Flags, FlowId, NodeId, Options, Packet};
use midpath_core::rng::{Stream, below};
use midpath_core::roles::{
    Accept, Endpoint, EndpointCtx, FlowReport, FlowSpec, Names, Network, Scheme, TCP_HEADERS, Transport,
};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::header::{Control, Direction, InrppHeader, Nonce, SIZE, Signed, Slow};
use crate::params::require;

/// What an attacker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttackBehaviour {
    /// Slow-downs under one made-up nonce: the victim gets one packet for each, and none for its
    /// own ACKs.
    #[default]
    SlowDown,
    /// The same that release nothing: the victim gets nothing.
    Hold,
    /// Slow-downs under a new nonce each: "spamming the network with bogus nonces as part of a
    /// state exhaustion attack".
    Spam,
    /// Slow-downs as receivers echo them with `notify = "data"`.
    Echo,
    /// Probes of detours under a new name each: true ones get ever smaller shares of the spare
    /// capacity.
    Probe,
}

/// The parameters of `inrpp-attack`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AttackParams {
    /// Number of the attacked flow, in order of start as in the results.
    pub victim: u32,
    /// Forged source host, by name: the victim's receiver. Unset: the attacker.
    pub receiver: String,
    /// What it does.
    pub behaviour: AttackBehaviour,
    /// Packet interval. Ours: 10 ms, 74 kbps.
    pub every: Time,
    /// With `probe`: name of the pretended detour target.
    pub target: String,
}

impl Default for AttackParams {
    fn default() -> AttackParams {
        AttackParams {
            victim: 0,
            receiver: String::new(),
            behaviour: AttackBehaviour::SlowDown,
            every: Time::from_ms(10),
            target: String::new(),
        }
    }
}

/// Builds the scheme: what the catalogue calls.
pub fn build(name: &str, params: AttackParams) -> crate::Built {
    require(params.every >= Time::from_us(1), "every", "at least 1 us")?;
    require(
        params.behaviour != AttackBehaviour::Probe || !params.target.is_empty(),
        "target",
        "a router's name, to probe for",
    )?;
    let ends = Ends { params, receiver: None, target: NodeId(0) };
    Ok(Arc::new(Attack { name: name.to_owned(), ends: Arc::new(ends) }))
}

/// The attack as a scheme of single flows.
pub struct Attack {
    name: String,
    ends: Arc<Ends>,
}

/// What sends an attacker's packets.
struct Ends {
    params: AttackParams,
    receiver: Option<NodeId>,
    target: NodeId,
}

impl Scheme for Attack {
    fn name(&self) -> &str {
        &self.name
    }
    fn bind(&self, names: &dyn Names) -> Result<Option<Arc<dyn Scheme>>, SpecError> {
        let find = |key: &str, name: &str| {
            let unknown = || SpecError::new(key, format!("there is no node `{name}`"));
            if name.is_empty() { Ok(None) } else { names.node(name).map(Some).ok_or_else(unknown) }
        };
        let params = &self.ends.params;
        let receiver = find("receiver", &params.receiver)?;
        let target = find("target", &params.target)?.unwrap_or_default();
        let ends = Ends { params: params.clone(), receiver, target };
        Ok(Some(Arc::new(Attack { name: self.name.clone(), ends: Arc::new(ends) })))
    }
    fn transport(&self) -> Option<Arc<dyn Transport>> {
        Some(self.ends.clone())
    }
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }
}

impl Transport for Ends {
    fn headers(&self) -> u32 {
        TCP_HEADERS + SIZE
    }
    /// It is no transfer: nothing is expected to arrive.
    fn ceiling(&self, _rtt: Time) -> Option<Rate> {
        Some(Rate::ZERO)
    }
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        let size = u64::from(self.headers());
        Box::new(Attacker {
            params: self.params.clone(),
            spoofed: self.receiver.unwrap_or(flow.src),
            sender: flow.dst,
            target: self.target,
            left: flow.size.map_or(u64::MAX, |s| s.0.div_ceil(size)),
            stop_at: flow.stop.unwrap_or(Time::MAX),
            sent: 0,
        })
    }
    /// An attack has no receiver: what it sends belongs to another flow.
    fn accept(&self, _first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        Accept::Ignore
    }
}

/// The attacker's end.
#[derive(Debug)]
struct Attacker {
    params: AttackParams,
    spoofed: NodeId,
    sender: NodeId,
    target: NodeId,
    left: u64,
    stop_at: Time,
    sent: u64,
}

impl Attacker {
    /// A nonce: one for the whole attack, or a new one.
    fn nonce(&self, rng: &mut Stream) -> Nonce {
        let fresh = matches!(self.params.behaviour, AttackBehaviour::Spam | AttackBehaviour::Probe);
        Nonce(if fresh { 1 + below(rng, u64::from(u32::MAX)) as u32 } else { 0xbad })
    }

    /// An ACK of the victim's receiver, as far as anybody can see who does not know the
    /// connection's numbers: "the malicious nodes must somehow guess the correct sequence numbers"
    /// (§V-C) for the sender to listen; routers don't know them.
    fn ack(&self, rng: &mut Stream) -> Packet {
        let mut p = Packet::new(FlowId(self.params.victim), self.spoofed, self.sender, TCP_HEADERS);
        p.options = Options::TIMESTAMPS;
        (p.flags, p.window) = (Flags::ACK, u16::MAX);
        let mut number = || below(rng, 1 << 32) as u32;
        (p.seq, p.ack, p.ts_val, p.ts_ecr) = (number(), number(), number(), number());
        let nonce = self.nonce(rng);
        let mut option = InrppHeader { direction: Direction::Ack, ..InrppHeader::default() };
        if self.params.behaviour == AttackBehaviour::Echo {
            option.far_slow = Some(nonce);
        } else {
            let release = u16::from(self.params.behaviour != AttackBehaviour::Hold);
            option.slow = Some(Slow { nonce, release });
            option.nonces.add(nonce);
        }
        p.set_header(&option);
        p
    }

    /// A probe of a router that isn't there.
    fn probe(&self, ctx: &mut EndpointCtx<'_>) -> Packet {
        let origin = NodeId(self.nonce(ctx.rng).0);
        let mut p = Packet::control(ctx.node, self.sender);
        let control = Control::Probe { origin, port: 0, target: self.target, more: 0 };
        p.set_header(&Signed { control, number: 0, mac: 0 });
        p
    }
}

impl Endpoint for Attacker {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.on_timer(ctx);
    }
    fn on_packet(&mut self, _packet: &Packet, _ctx: &mut EndpointCtx<'_>) {}
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.left == 0 || ctx.now >= self.stop_at {
            return ctx.finish();
        }
        let packet = match self.params.behaviour {
            AttackBehaviour::Probe => self.probe(ctx),
            _ => self.ack(ctx.rng),
        };
        ctx.send(packet);
        self.left -= 1;
        self.sent += 1;
        ctx.set_timer(ctx.now.saturating_add(self.params.every).min(self.stop_at));
    }
    fn report(&self) -> FlowReport {
        FlowReport { sent: self.sent, ..FlowReport::default() }
    }
}
