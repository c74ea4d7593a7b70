//! A port: it prices its link at every packet, and writes the price into the packet's header.

use midpath_core::packet::{Header, Packet};
use midpath_core::queue::{Aqm, Bound, Verdict, View};
use midpath_core::roles::{Drop, PortSpec};
use midpath_core::units::Time;

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
    /// Bytes that wait and count as no queue.
    forgiven: f64,
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
        FcpPort { bound, pricing, minimum: rule.minimum, forgiven, edge, perturbed: None, exchange: None }
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

    /// Prices a data packet; whether it may go on.
    #[inline(always)]
    fn price(&mut self, packet: &mut Packet, mut header: FcpHeader, arrival: &Arrival) -> Result<(), Drop> {
        // Without domains there is one currency, whatever a header says.
        if self.exchange.is_none() {
            header.exchange = 1.0;
        }
        let charge = self.pricing.charge(&mut header, packet.size, arrival);
        // Figure 2: price = price + p. A packet from another domain is told in its sender's
        // currency (§4.3).
        let worth = f64::from(header.exchange);
        let quote = if charge.quote > self.minimum { charge.quote / worth } else { self.minimum };
        header.add_price(quote, self.minimum);
        // §5: "every router along the path subtracts its link's price for this packet, p(t − rtt)".
        if charge.quoted > self.minimum {
            let charged = f64::from(header.charged) + charge.quoted / worth;
            header.charged = at_most(charged, super::header::MAX_PRICE) as f32;
        }
        header.write_back(packet);
        match &mut self.edge {
            Some(edge) => edge.leave(packet, &header, arrival.now),
            None => Ok(()),
        }
    }

    /// Prices a packet whose outermost header of ours is none that an honest end writes, if it has another.
    #[cold]
    #[inline(never)]
    fn price_inner(&mut self, packet: &mut Packet, arrival: &Arrival) -> Result<(), Drop> {
        match packet.header::<FcpHeader>() {
            Some(header) => self.price(packet, header, arrival),
            None => self.pass(packet, arrival),
        }
    }

    /// A packet that pays nothing.
    #[inline]
    fn pass(&mut self, packet: &Packet, arrival: &Arrival) -> Result<(), Drop> {
        self.pricing.pass(packet.size, arrival);
        if self.edge.is_some() {
            self.tell(packet, arrival.now);
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
        let capacity = view.rate.as_f64() / 8.0;
        let queue = at_least(view.backlog.bytes as f64 - self.forgiven, 0.0);
        let factor = self.perturbed.as_mut().map_or(1.0, |p| p.factor(view.now, view.rng));
        let arrival = Arrival { now: view.now, load: Load { capacity, queue }, factor };
        // An echo pays nothing: what it says is read at its end, and at an edge.
        let paying = packet.body(FcpHeader::TAG).filter(|body| !FcpHeader::is_echo(body)).map(FcpHeader::get);
        let admitted = match paying {
            Some(Some(header)) => self.price(packet, header, &arrival),
            Some(None) => self.price_inner(packet, &arrival),
            None => self.pass(packet, &arrival),
        };
        // What finds no room has been counted: it was sent, and it is paid for.
        match admitted {
            Err(why) => Verdict::Drop(why),
            Ok(()) if self.bound.admits(view.backlog, packet.size) => Verdict::Pass,
            Ok(()) => Verdict::Drop(Drop::Queue),
        }
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
