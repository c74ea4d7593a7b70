//! A port: it updates its link's price at every arrival, and writes it into the packet's header, on arrival or, with
//! a driver that asks for each packet, on departure.

use midpath_core::packet::{Header, Packet};
use midpath_core::queue::{Aqm, Bound, Verdict, View};
use midpath_core::roles::{Drop, PortSpec};
use midpath_core::units::{Rate, Time};

use super::enforce::Edge;
use super::equations::{at_least, at_most};
use super::header::FcpHeader;
use super::network::Exchange;
use super::perturb::{Perturbation, Perturbed};
use super::price::{Load, Rule};
use super::pricing::{Arrival, Pricing};

/// A FIFO port with prices.
pub struct FcpPort<P = Box<dyn Pricing>> {
    bound: Bound,
    pricing: P,
    minimum: f64,
    /// Packets are told prices as they leave.
    on_departure: bool,
    /// Bytes that wait and count as no queue.
    forgiven: f64,
    /// The link's rate when it was last asked, and that in bytes per second.
    capacity: (Rate, f64),
    edge: Option<Edge>,
    perturbed: Option<Perturbed>,
    exchange: Option<Exchange>,
}

impl<P: Pricing> FcpPort<P> {
    /// A port whose queue is as the scenario says. `edge` enforces where a host is at the other end
    /// (§5).
    pub fn new(spec: &PortSpec, pricing: P, rule: &Rule, edge: Option<Edge>) -> FcpPort<P> {
        let bound = spec.queue.limit.bound(spec.link.rate);
        // One full packet that waits is how packets of several paced flows meet, not a queue: the
        // paper's is of a fluid.
        let forgiven = if rule.additions.packet_of_queue { f64::from(spec.link.mtu) } else { 0.0 };
        FcpPort {
            bound,
            pricing,
            minimum: rule.minimum,
            on_departure: spec.pulled,
            forgiven,
            capacity: (Rate::ZERO, 0.0),
            edge,
            perturbed: None,
            exchange: None,
        }
    }

    /// With prices that are wrong now and then.
    #[must_use]
    pub fn perturbed(self, params: Option<Perturbation>) -> FcpPort<P> {
        FcpPort { perturbed: params.map(Perturbed::new), ..self }
    }

    /// The same in a network of several domains (§4.3).
    #[must_use]
    pub fn translating(self, exchange: Option<Exchange>) -> FcpPort<P> {
        FcpPort { exchange, ..self }
    }

    /// How the link stands as a packet comes that pays.
    #[inline(always)]
    fn arrival(&mut self, view: &View<'_>, factor: f64) -> Arrival {
        if self.capacity.0 != view.rate {
            self.capacity = (view.rate, view.rate.as_f64() / 8.0);
        }
        // As a signed number, for which processors have an instruction: no queue has 2^63 bytes.
        let queue = at_least(view.backlog.bytes as i64 as f64 - self.forgiven, 0.0);
        Arrival { now: view.now, load: Load { capacity: self.capacity.1, queue }, factor }
    }

    /// Figure 2: price = price + p. A packet from another domain is told in its sender's currency (§4.3).
    #[inline(always)]
    fn add_price(&self, header: &mut FcpHeader, quote: f64) {
        let quote = if quote > self.minimum { quote / f64::from(header.exchange) } else { self.minimum };
        header.add_price(quote, self.minimum);
    }

    /// Prices a data packet; its header after that.
    #[inline(always)]
    fn write_price(&mut self, packet: &mut Packet, mut header: FcpHeader, arrival: &Arrival) -> FcpHeader {
        // Without domains there is one currency, whatever a header says.
        if self.exchange.is_none() {
            header.exchange = 1.0;
        }
        let charge = self.pricing.charge(&mut header, packet.size, arrival);
        if !self.on_departure {
            self.add_price(&mut header, charge.quote);
        }
        // §5: "every router along the path subtracts its link's price for this packet, p(t − rtt)".
        if charge.quoted > self.minimum {
            let charged = f64::from(header.charged) + charge.quoted / f64::from(header.exchange);
            header.charged = at_most(charged, super::header::MAX_PRICE) as f32;
        }
        header.write_back(packet);
        header
    }

    /// Prices a packet where a host is at the other end, or whose outermost header of ours is none that an honest
    /// end writes; whether it may go on. Reads the header itself: handed over, it would be in memory elsewhere, too.
    #[inline(never)]
    fn price_with_care(&mut self, packet: &mut Packet, view: &View<'_>, factor: f64) -> Result<(), Drop> {
        let Some(header) = packet.header::<FcpHeader>() else { return self.pass(packet, view.now) };
        let arrival = self.arrival(view, factor);
        let header = self.write_price(packet, header, &arrival);
        self.edge.as_mut().map_or(Ok(()), |edge| edge.leave(packet, &header, view.now))
    }

    /// A packet that pays nothing.
    #[inline]
    fn pass(&mut self, packet: &Packet, now: Time) -> Result<(), Drop> {
        self.pricing.pass(packet.size, now);
        if self.edge.is_some() {
            self.tell(packet, now);
        }
        Ok(())
    }

    /// The edge sees what its host is told.
    fn tell(&mut self, packet: &Packet, now: Time) {
        if let (Some(edge), Some(header)) = (&mut self.edge, packet.header::<FcpHeader>()) {
            edge.echo_leaves(packet, &header, now);
        }
    }
}

impl<P: Pricing> Aqm for FcpPort<P> {
    // All of a hop in one piece: with calls, what stands in the header goes through memory three times.
    #[inline(always)]
    fn enqueue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        let factor = self.perturbed.as_mut().map_or(1.0, |p| p.factor(view.now, view.rng));
        // An echo pays nothing: what it says is read at its end, and at an edge.
        let paying = packet.body(FcpHeader::TAG).filter(|body| !FcpHeader::is_echo(body)).map(FcpHeader::get);
        let admitted = match paying {
            Some(Some(header)) if self.edge.is_none() => {
                let arrival = self.arrival(view, factor);
                self.write_price(packet, header, &arrival);
                Ok(())
            }
            Some(_) => self.price_with_care(packet, view, factor),
            None => self.pass(packet, view.now),
        };
        // What finds no room has been counted: it was sent, and it is paid for.
        match admitted {
            Err(why) => Verdict::Drop(why),
            Ok(()) if self.bound.admits(view.backlog, packet.size) => Verdict::Pass,
            Ok(()) => Verdict::Drop(Drop::Queue),
        }
    }

    fn watches_leaving(&self) -> bool {
        self.on_departure
    }

    fn dequeue(&mut self, packet: &mut Packet, view: &mut View<'_>) -> Verdict {
        if let Some(mut header) = packet.header::<FcpHeader>().filter(|header| !header.echo) {
            let quote = self.pricing.tell(&header, view.now.saturating_sub(view.sojourn));
            self.add_price(&mut header, quote);
            header.write_back(packet);
        }
        Verdict::Pass
    }

    fn watches_inbound(&self) -> bool {
        self.edge.is_some() || self.exchange.as_ref().is_some_and(Exchange::watches)
    }

    fn inbound(&mut self, packet: &mut Packet, now: Time) -> Result<(), Drop> {
        let Some(mut header) = packet.header::<FcpHeader>() else { return Ok(()) };
        if header.echo {
            return self.edge.as_mut().map_or(Ok(()), |edge| edge.echo_enters(packet, &header, now));
        }
        if let Some(edge) = &mut self.edge {
            edge.enter(packet, &header, now)?;
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.enter(&mut header, packet.size, now);
            packet.set_header(&header);
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.pricing.reset();
        if let Some(edge) = &mut self.edge {
            edge.reset();
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.reset();
        }
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        self.pricing.gauges(out);
    }
}
