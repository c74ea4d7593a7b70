//! A stall is said: where flows have data and nothing but their scheme keeps them from sending. And
//! nowhere else.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use midpath_core::packet::{Kind, Packet};
use midpath_core::roles::{Accept, Endpoint, EndpointCtx, FlowReport, FlowSpec, Parts, Transport};
use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, run_with};
use proptest::prelude::*;

use crate::common::{CARRIERS, cases, port, run_plain, with_scheme};

/// What a run says of stalls: the message, and at which ports.
fn said(out: &RunOutput) -> Vec<(String, String)> {
    let all = out.run["warnings"].as_array().expect("a list");
    let stalls = all.iter().filter(|w| w["message"].as_str().is_some_and(|m| m.starts_with("a stall")));
    stalls.map(|w| (w["message"].as_str().unwrap_or_default().to_owned(), w["ports"].to_string())).collect()
}

/// Three senders over 10 Mbps, their delays in ms, and more.
fn three(scheme: &str, stop_s: u32, more: &str) -> String {
    let senders = [5.47, 0.35, 3.8]
        .iter()
        .enumerate()
        .map(|(i, delay)| format!("{{ a = \"s{i}\", b = \"r0\", rate = \"1 Gbps\", delay = \"{delay} ms\" }},\n"));
    let flows = (0..3).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d\"\n"));
    format!(
        r#"
scheme = "{scheme}"
stop = "{stop_s} s"
[topology]
links = [
{}{{ a = "r0", b = "r1", rate = "10 Mbps", delay = "1 us" }},
{{ a = "r1", b = "d", rate = "1 Gbps", delay = "10 us" }},
]
nodes = [{{ name = "r0", kind = "router" }}, {{ name = "r1", kind = "router" }}]
{}{more}
"#,
        senders.collect::<String>(),
        flows.collect::<String>()
    )
}

/// One flow of a window of a single packet: 12 kb each 20 ms, 0.6 % of the link.
fn one(more: &str) -> String {
    format!(
        r#"
scheme = "fixed-window"
stop = "30 s"
[topology]
links = [
{{ a = "s", b = "r0", rate = "1 Gbps", delay = "1 ms" }},
{{ a = "r0", b = "r1", rate = "100 Mbps", delay = "8 ms" }},
{{ a = "r1", b = "d", rate = "1 Gbps", delay = "1 ms" }},
]
nodes = [{{ name = "r0", kind = "router" }}, {{ name = "r1", kind = "router" }}]
[schemes.fixed-window]
window = 1
delayed_ack = false
[[flow]]
from = "s"
to = "d"
{more}
"#
    )
}

/// FCP's lock: repaired or said. Used 1.9 % in place of all when this was written.
#[test]
fn fcp_uses_the_link_or_the_run_says_that_it_does_not() {
    let out = run_plain(&three("fcp", 20, ""));
    let used = out.table("ports").expect("ports").f64("utilisation")[port(&out, "r0", "r1")];
    assert!(used > 0.9 || (used < 0.05 && said(&out).len() == 1), "used {used}, said {:?}", said(&out));
    assert_eq!(said(&run_plain(&three("newreno", 20, ""))), []);
}

#[test]
fn parameters_that_keep_a_link_empty_are_said_with_the_slowest_link() {
    let said_of_one = said(&run_plain(&one("")));
    let [(message, ports)] = said_of_one.as_slice() else { panic!("{said_of_one:?}") };
    assert_eq!(ports, r#"["r0>r1"]"#);
    assert!(message.contains("0.6 % used from 0 s to ") && message.contains("while 1 flow had data"), "{message}");
    // A window that the link is full with.
    assert_eq!(said(&run_plain(&one("").replace("window = 1", "window = 300"))), []);
}

#[test]
fn what_else_keeps_a_flow_from_sending_is_no_stall() {
    let newreno = |more: &str| one(more).replace("window = 1\n", "").replace("fixed-window", "newreno");
    let receiver = newreno("").replace("delayed_ack = false", "delayed_ack = false\nreceive_window = \"1500 B\"");
    assert_eq!(said(&run_plain(&receiver)), [], "its receiver's window");
    assert_eq!(said(&run_plain(&newreno("scheme = \"udp\"\nrate = \"500 kbps\""))), [], "the application");
    let slow =
        newreno("").replace("rate = \"1 Gbps\", delay = \"1 ms\" },\n]", "rate = \"1 Mbps\", delay = \"1 ms\" },\n]");
    assert_eq!(said(&run_plain(&slow)), [], "a link that is full");
    let loss = "[[vary]]\nlink = [\"r0\", \"r1\"]\nloss = { p = \"10 %\", r = \"90 %\" }";
    assert_eq!(said(&run_plain(&newreno(loss))), [], "chance");
    let down = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"5 s\"\nuntil = \"15 s\"";
    assert_eq!(said(&run_plain(&newreno(down))), [], "a fault, and the timer that it has doubled");
    assert_eq!(said(&run_plain(&one("size = \"20 kB\""))), [], "it has ended");
    // ACKs wait for a full link on their way back.
    let flood = "[[flow]]\nfrom = \"d\"\nto = \"s\"\nscheme = \"udp\"\nrate = \"2 Mbps\"";
    let back = newreno(flood).replace("rate = \"100 Mbps\"", "rate = \"100 Mbps\", rate_back = \"1 Mbps\"");
    assert_eq!(said(&run_plain(&back)), [], "the way back");
}

/// A fault that is over for long covers nothing.
#[test]
fn a_stall_after_a_fault_is_said() {
    let down = "[[fault]]\nkind = \"link-down\"\nlink = [\"r0\", \"r1\"]\nat = \"1 s\"\nuntil = \"1200 ms\"";
    let found = said(&run_plain(&one(down)));
    assert!(found.len() == 1 && !found[0].0.contains("from 0 s"), "{found:?}");
}

/// Sends a packet each millisecond for a second. Then it has more, and sends nothing.
struct GivesUp;

impl Transport for GivesUp {
    fn open(&self, flow: &FlowSpec) -> Box<dyn Endpoint> {
        Box::new(Sender { flow: *flow, sent: 0 })
    }
    fn accept(&self, _first: &Packet, _expected: Option<&FlowSpec>) -> Accept {
        Accept::Take(Box::new(Receiver(0)))
    }
}

struct Sender {
    flow: FlowSpec,
    sent: u64,
}

impl Endpoint for Sender {
    fn on_start(&mut self, ctx: &mut EndpointCtx<'_>) {
        self.on_timer(ctx);
    }
    fn on_packet(&mut self, _packet: &Packet, _ctx: &mut EndpointCtx<'_>) {}
    fn on_timer(&mut self, ctx: &mut EndpointCtx<'_>) {
        if self.sent == 1000 {
            return ctx.set_timer(ctx.now + Time::from_ms(100));
        }
        let mut packet = Packet::new(ctx.flow, ctx.node, self.flow.dst, 28);
        (packet.kind, packet.payload) = (Kind::Datagram, 1000);
        packet.size = packet.wire_size();
        ctx.send(packet);
        self.sent += 1;
        ctx.set_timer(ctx.now + Time::from_ms(1));
    }
    fn report(&self) -> FlowReport {
        FlowReport { sent: self.sent, ..FlowReport::default() }
    }
}

struct Receiver(u64);

impl Endpoint for Receiver {
    fn on_start(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn on_packet(&mut self, packet: &Packet, _ctx: &mut EndpointCtx<'_>) {
        self.0 += u64::from(packet.payload);
    }
    fn on_timer(&mut self, _ctx: &mut EndpointCtx<'_>) {}
    fn report(&self) -> FlowReport {
        FlowReport { delivered: self.0, ..FlowReport::default() }
    }
}

fn giving_up(threads: usize) -> RunOutput {
    let catalogue = Catalogue::standard().with("gives-up", |_| {
        let transport: Arc<dyn Transport> = Arc::new(GivesUp);
        Ok(Arc::new(Parts { name: "gives-up".to_owned(), transport: Some(transport), network: None }))
    });
    let options = RunOptions { threads, ..RunOptions::default() };
    let out = run_with(&three("gives-up", 30, ""), Path::new("."), &options, &catalogue, &mut |_| true);
    out.expect("a good scenario").expect("not cancelled")
}

#[test]
fn a_scheme_that_stops_sending_is_said_from_when_it_did_on_any_number_of_threads() {
    let out = giving_up(1);
    let found = said(&out);
    let [(message, ports)] = found.as_slice() else { panic!("{found:?}") };
    assert!(ports.contains("r0>r1") && message.contains("3 flows"), "{message} at {ports}");
    assert!(message.starts_with("a stall: 0.0 % used from "), "{message}");
    for threads in [2, 3] {
        assert_eq!(giving_up(threads).repeatable(), out.repeatable());
    }
}

/// A dumbbell at random: rate in kbps, delays in us, flows that start together or not.
fn healthy() -> impl Strategy<Value = (String, usize)> {
    let delays = prop::collection::vec(10u32..20_000, 1..12);
    (3.0..5.5f64, delays, 10u32..20_000, 0u32..500, 0usize..CARRIERS.len()).prop_map(|(power, delays, far, gap, scheme)| {
        let (mut links, mut flows) = (String::new(), String::new());
        let kbps = 10f64.powf(power) as u64;
        for (i, delay) in delays.iter().enumerate() {
            writeln!(links, "{{ a = \"s{i}\", b = \"r0\", rate = \"1 Gbps\", delay = \"{delay} us\" }},").unwrap();
            let start = gap as usize * i;
            writeln!(flows, "[[flow]]\nfrom = \"s{i}\"\nto = \"d\"\nstart = \"{start} ms\"").unwrap();
        }
        let text = format!(
            "stop = \"15 s\"\n[topology]\nlinks = [\n{links}{{ a = \"r0\", b = \"r1\", rate = \"{kbps} kbps\", delay = \"{far} us\" }},\n\
             {{ a = \"r1\", b = \"d\", rate = \"1 Gbps\", delay = \"10 us\" }},\n]\n\
             nodes = [{{ name = \"r0\", kind = \"router\" }}, {{ name = \"r1\", kind = \"router\" }}]\n{flows}"
        );
        (text, scheme)
    })
}

proptest! {
    #![proptest_config(cases(12))]
    /// Whatever the scheme: a link that is used is not said to be stalled, one that is not, is.
    #[test]
    fn a_stall_is_said_where_the_link_is_not_used((text, scheme) in healthy()) {
        let out = with_scheme(&text, CARRIERS[scheme], 1);
        let used = out.table("ports").expect("ports").f64("utilisation")[port(&out, "r0", "r1")];
        let found = said(&out);
        prop_assert!(used < 0.2 || found.is_empty(), "{}: used {used}, and said {found:?}\n{text}", CARRIERS[scheme]);
        // Datagrams come at a rate of their own.
        let idle = used > 0.02 || CARRIERS[scheme] == "udp";
        prop_assert!(idle || !found.is_empty(), "{}: used {used}, and nothing said\n{text}", CARRIERS[scheme]);
    }
}
