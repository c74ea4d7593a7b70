//! What bytes written by others can reach, one function per entry. The fuzz targets in `fuzz/` call
//! the same functions.
//!
//! Each takes any bytes, must not panic, and checks what holds of every answer.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use midpath_core::packet::{Flags, FlowId, Header, NodeId, Packet, PortId, body_of};
use midpath_core::queue::{Discipline, Limit, QueueSpec};
use midpath_core::roles::{
    Backlog, Ecmp, Inbound, LinkInfo, Map, Network, NodeSpec, PortSpec, Routes, StandalonePort, Timetable, Transmitter,
};
use midpath_core::units::{Bytes, Rate, Ratio, Time};
use midpath_core::wire;
use midpath_schemes::Catalogue;
use midpath_schemes::internals::calls::feedback::{Report, Rtp};
use midpath_schemes::internals::inrpp::border::Border;
use midpath_schemes::internals::{fcp, inrpp, mptcp, rcp, xcp};
use midpath_sim::scenario::{self, Scenario, ScenarioError};
use midpath_sim::setup::{Setup, parse_schedule, parse_trace};
use midpath_topo::format::{self, Format};
use midpath_traffic::{
    ArrivalSpec, EmpiricalCdf, FlowListFormat, MatrixSpec, SizeSpec, WorkloadSpec, check_har, check_trace,
    parse_flow_list_bytes, parse_matrix_bytes,
};

/// A scenario: read, made small, built. The error is what a user would see.
pub fn scenario(bytes: &[u8]) -> Result<(), ScenarioError> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let built = scenario::parse(text).and_then(|mut scenario| {
        make_small(&mut scenario);
        let setup = Setup::new(scenario, Path::new("."), &Catalogue::standard());
        setup.and_then(|s| s.network().map(drop)).map_err(|e| ScenarioError::locate(e, text))
    });
    if let Err(error) = &built {
        let lines = text.split('\n').count();
        assert!(error.line.is_none_or(|n| (1..=lines).contains(&n)), "{lines} lines, {error:?}");
        assert!(!error.message.is_empty(), "{error:?}");
    }
    built
}

/// The most of anything that a scenario made small has.
const FEW: usize = 8;

/// Takes away what a valid scenario may ask for in size, and the names of files.
fn make_small(scenario: &mut Scenario) {
    let topology = &mut scenario.topology;
    for count in [&mut topology.n, &mut topology.k, &mut topology.pairs] {
        *count = count.map(|c| c.min(FEW));
    }
    if let Some(hosts) = &mut topology.hosts {
        for count in [&mut hosts.per_node, &mut hosts.total, &mut hosts.homes] {
            *count = count.map(|c| c.min(FEW));
        }
    }
    absent(&mut topology.file);
    for vary in &mut scenario.vary {
        absent(&mut vary.file);
        absent(&mut vary.trace);
    }
    scenario.flow.iter_mut().for_each(|f| f.count = f.count.min(FEW as u64));
    scenario.workload.iter_mut().for_each(make_workload_small);
    for client in &mut scenario.client {
        for count in [&mut client.requests, &mut client.concurrency, &mut client.fan_out] {
            *count = (*count).min(FEW as u64);
        }
        for sizes in [&mut client.request_sizes, &mut client.reply_sizes] {
            if let Some(SizeSpec::Cdf { file, .. }) = sizes {
                absent(file);
            }
        }
        absent(&mut client.page);
    }
    scenario.job.iter_mut().for_each(|job| job.iterations = job.iterations.min(FEW as u64));
}

fn make_workload_small(workload: &mut WorkloadSpec) {
    workload.flows = Some(workload.flows.unwrap_or(u64::MAX).min(FEW as u64));
    if let Some(MatrixSpec::Random { pairs: Some(pairs), .. }) = &mut workload.matrix {
        *pairs = (*pairs).min(FEW as u64);
    }
    if let Some(SizeSpec::Cdf { file, .. }) = &mut workload.sizes {
        absent(file);
    }
    if let Some(list) = &mut workload.list {
        list.file = "absent".to_owned();
    }
    // A jitter far beyond the end rejects nearly every draw: as slow as it was asked to be.
    if let Some(ArrivalSpec::Periodic { jitter, .. } | ArrivalSpec::Once { jitter }) = &mut workload.arrivals {
        *jitter = (*jitter).min(Time::from_ms(1));
    }
}

fn absent(file: &mut Option<String>) {
    if file.is_some() {
        *file = Some("absent".to_owned());
    }
}

/// A topology file, in every format that there is.
pub fn topology(bytes: &[u8]) {
    let lines = bytes.split(|b| *b == b'\n').count();
    for format in Format::ALL {
        match format::parse_bytes(format, bytes) {
            // What has been read can be built or is refused, as a scenario's is.
            Ok(draft) => drop(draft.finish(Time::from_us(1))),
            Err(e) => {
                assert!(e.line.is_none_or(|n| (1..=lines).contains(&n)), "{}: {lines} lines, {e:?}", format.name());
                assert!(!e.message.is_empty(), "{}", format.name());
            }
        }
    }
    let _ = format::guess(Path::new("network.txt"), bytes);
}

/// A traffic matrix: CSV, or JSON with demands.
pub fn matrix(bytes: &[u8]) {
    // The CSV reader takes a lone CR for the end of a line, too.
    let lines = bytes.split(|b| matches!(b, b'\n' | b'\r')).count() as u64;
    match parse_matrix_bytes(bytes) {
        Ok(found) => {
            assert!(!found.entries.is_empty());
            let good = |e: &midpath_traffic::Entry| e.amount > 0.0 && e.amount.is_finite() && e.from != e.to;
            assert!(found.entries.iter().all(|e| good(e) && (1..=lines).contains(&e.line)), "{found:?}");
        }
        Err(e) => assert!((1..=lines).contains(&e.line) && !e.message.is_empty(), "{lines} lines, {e:?}"),
    }
}

/// A job's trace: GOAL's text, or htsim's connections with triggers.
pub fn job_trace(bytes: &[u8]) {
    let lines = bytes.split(|b| *b == b'\n').count() as u64;
    match check_trace(bytes) {
        Ok(messages) => assert!(messages <= bytes.len()),
        Err(e) => assert!((1..=lines).contains(&e.line) && !e.message.is_empty(), "{lines} lines, {e:?}"),
    }
}

/// A page: an HTTP Archive.
pub fn page(bytes: &[u8]) {
    match check_har(bytes) {
        Ok(resources) => assert!((1..=bytes.len()).contains(&resources)),
        Err(message) => assert!(!message.is_empty()),
    }
}

/// What a link's schedule and its trace are read from.
pub fn link_files(bytes: &[u8]) {
    match parse_schedule(bytes) {
        Ok(steps) => assert!(!steps.is_empty()),
        Err(message) => assert!(!message.is_empty()),
    }
    match parse_trace(bytes) {
        Ok(trace) => {
            assert!(trace.times().is_sorted() && trace.times().last() == Some(&trace.period()));
        }
        Err(message) => assert!(message.starts_with("line "), "{message}"),
    }
}

/// A flow list, in every format, and a distribution of flow sizes.
pub fn flow_list(bytes: &[u8]) {
    // The CSV reader takes a lone CR for the end of a line, too.
    let lines = bytes.split(|b| matches!(b, b'\n' | b'\r')).count() as u64;
    for format in FlowListFormat::ALL {
        match parse_flow_list_bytes(format, bytes) {
            Ok(flows) => assert!(flows.iter().all(|f| (1..=lines).contains(&f.line)), "{format:?} {flows:?}"),
            Err(e) => assert!((1..=lines).contains(&e.line), "{format:?}: {lines} lines, {e:?}"),
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match EmpiricalCdf::parse(text) {
        Ok(cdf) => assert!(cdf.points().iter().all(|p| p.0.is_finite() && (0.0..=1.0).contains(&p.1)), "{cdf:?}"),
        Err(e) => assert!((1..=lines as usize).contains(&e.line), "{lines} lines, {e:?}"),
    }
}

/// A packet from the wire: as it is, and with whatever stands guard before the options put right.
pub fn packet(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), admissible(bytes, 6), admissible(bytes, 253)] {
        if let Ok(packet) = wire::decode(&bytes) {
            assert!(packet.sack_blocks().len() <= midpath_core::packet::MAX_SACK);
            let mut again = Vec::new();
            wire::encode(&packet, &mut again);
        }
        if let Ok((packet, at)) = wire::read(&bytes) {
            let mut again = Vec::new();
            wire::encode_with(&packet, &bytes[at.clone()], &mut again);
            assert_eq!(&again[again.len() - at.len()..], &bytes[at], "a payload is carried as it is");
            assert_eq!(wire::read(&again).map(|r| r.0), Ok(packet));
        }
    }
}

/// The same bytes as an IPv4 packet of `protocol` whose addresses, length, ports and checksums are
/// in order (RFC 791, RFC 9293).
pub fn admissible(bytes: &[u8], protocol: u8) -> Vec<u8> {
    let mut b = bytes.to_vec();
    b.resize(b.len().clamp(40, 1500), 0);
    let length = (b.len() as u16).to_be_bytes();
    (b[0], b[9], b[12], b[13], b[16], b[17]) = (0x45, protocol, 10, 0, 10, 1);
    b[2..4].copy_from_slice(&length);
    put_checksum(&mut b, 0..20, 10, 0);
    if protocol == 6 {
        let header = (usize::from(b[32] >> 4) * 4).clamp(20, 60).min(b.len() - 20) / 4 * 4;
        b[32] = ((header / 4) << 4) as u8;
        (b[20], b[22]) = (b[20] | 0x80, 0x14);
        // The pseudo header: addresses, protocol and length.
        let addresses: u32 = b[12..20].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        let pseudo = addresses + u32::from(protocol) + (b.len() - 20) as u32;
        put_checksum(&mut b, 20..20 + header, 36, pseudo);
    }
    b
}

/// Writes the Internet checksum (RFC 1071) of `range` at `at`; `start` is what else it covers.
fn put_checksum(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize, start: u32) {
    bytes[at..at + 2].fill(0);
    let words = bytes[range].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let mut sum = start + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The network around a port that doesn't ask.
struct Unknown;
impl Map for Unknown {
    fn links(&self, _: NodeId) -> Vec<LinkInfo> {
        Vec::new()
    }
    fn is_host(&self, _: NodeId) -> bool {
        false
    }
}
impl Routes for Unknown {
    fn next_ports(&self, _: NodeId, _: NodeId) -> &[u16] {
        &[]
    }
}

/// Packets for ports with prices, every pricing, at the network's edge with enforcement: a price is
/// always finite and above zero. Each 80 bytes are a packet: what to do, how much later, size, and
/// the header's bytes.
pub fn prices(bytes: &[u8]) {
    static NETWORKS: OnceLock<Vec<Arc<dyn Network>>> = OnceLock::new();
    let build = |pricing: &&str| {
        let table = serde_json::json!({ "network": { "pricing": pricing, "enforcement": true } });
        Catalogue::standard().build("fcp", &table).expect("valid").network().expect("FCP has ports")
    };
    let link = LinkInfo { rate: Rate::from_mbps(8), delay: Time::from_ms(1), mtu: 1500, peer: NodeId(1) };
    let spec = PortSpec {
        node: NodeId(0),
        port: PortId(0),
        peer: NodeId(1),
        link,
        host: false,
        edge: true,
        rtt: Time::from_ms(100),
        queue: QueueSpec::fifo(Limit::Packets(100)),
        pulled: false,
    };
    // Metro's port has two queues; its rule is one of these.
    let pricings = || ["uniform", "stability", "deadline", "aggregate"].iter().map(build).collect();
    let routes: Arc<dyn Routes> = Arc::new(Unknown);
    let node = NodeSpec { node: NodeId(0), links: &[link], map: &Unknown, routes: &routes, ecmp: Ecmp::Off };
    for network in NETWORKS.get_or_init(pricings) {
        match network.port(&spec, &node).expect("drop-tail") {
            Discipline::Timetable { mut rule, .. } => drive(rule.as_mut(), link, bytes),
            _ => panic!("a timetable"),
        }
    }
}

fn drive(port: &mut dyn Timetable, link: LinkInfo, bytes: &[u8]) {
    let mut bench = StandalonePort::new(link);
    bench.transmitter = Transmitter::Busy { until: None };
    for part in bytes.chunks(80).take(256) {
        let mut chunk = [0; 80];
        chunk[..part.len()].copy_from_slice(part);
        let size = u32::from(u16::from_be_bytes([chunk[2], chunk[3]])).max(20);
        let mut packet = Packet::new(FlowId(0), NodeId(u32::from(chunk[4] % 3)), NodeId(u32::from(chunk[5] % 3)), size);
        let len = if chunk[6] & 1 == 0 { 32 } else { usize::from(chunk[6]) % 72 };
        packet.push_raw(if chunk[6] == 0 { chunk[7] } else { 3 }, &chunk[8..8 + len]);
        packet.payload = if chunk[7] % 2 == 0 { 0 } else { size as u16 };
        // Up to 255 steps of 1 µs to a third of a second.
        bench.now += Time(u64::from(chunk[1]) << (20 + chunk[0] % 12));
        bench.booked = Backlog { packets: u64::from(chunk[6]), bytes: 1000 * u64::from(chunk[6]) };
        let pkt = bench.pool.insert(packet);
        let pkt = match chunk[0] >> 6 {
            0 => match port.inbound(pkt, &mut bench.ctx()) {
                Inbound::Forward(pkt) | Inbound::Consume(pkt) | Inbound::Drop(pkt, _) => pkt,
                Inbound::Keep => panic!("a timetable keeps nothing"),
            },
            1 if chunk[0] % 64 == 63 => {
                port.reset(&mut bench.ctx());
                pkt
            }
            _ => {
                let _ = bench.admit(port, &pkt);
                pkt
            }
        };
        bench.pool.free(pkt);
        let mut gauges = Vec::new();
        port.gauges(&mut gauges);
        assert!(!gauges.is_empty() && gauges.iter().all(|(_, p)| p.is_finite() && *p >= 0.0), "{gauges:?}");
        assert!(gauges[0].1 > 0.0, "{gauges:?}");
    }
}

/// Every scheme's header: what can be read, written and read again is the same. Then INRPP's
/// border, which takes packets of both sides: 80 bytes each, of which up to the last 72 are the
/// header's. And SCReAM's reports.
pub fn headers(bytes: &[u8]) {
    let mut border = Border::new(inrpp::header::SIZE);
    for part in bytes.chunks(80).take(256) {
        let mut chunk = [0; 80];
        chunk[..part.len()].copy_from_slice(part);
        let body = &chunk[8..8 + usize::from(chunk[7] >> 1) % 73];
        same_again::<rcp::header::RcpHeader>(body);
        same_again::<xcp::header::XcpHeader>(body);
        same_again::<fcp::header::FcpHeader>(body);
        same_again::<inrpp::header::InrppHeader>(body);
        same_again::<inrpp::header::Signed>(body);
        same_again::<mptcp::header::Dss>(body);
        same_again::<mptcp::hello::Hello>(body);
        same_again::<mptcp::hello::Refused>(body);
        same_again::<mptcp::announce::AddAddr>(body);
        report(body);
        cross(&mut border, &chunk, body);
    }
}

/// What is read of a report is written as the same.
fn report(body: &[u8]) {
    let _ = Rtp::get(body);
    let mut bytes = body.to_vec();
    if let Some(head) = bytes.first_chunk_mut() {
        *head = [0x8b, 205, 0, (body.len() / 4 - 1) as u8];
    }
    if let Some(report) = Report::get(&bytes) {
        assert_eq!(Report::get(&report.bytes()), Some(report));
    }
}

fn same_again<H: Header + PartialEq + std::fmt::Debug>(body: &[u8]) {
    if let Some(header) = H::get(body) {
        let again = body_of(&header);
        assert_eq!((H::get(&again), again.len()), (Some(header), body.len()));
    }
}

/// A packet comes into INRPP's domain or leaves it: no window grows, and what leaves is shorter.
fn cross(border: &mut Border, chunk: &[u8; 80], body: &[u8]) {
    let (a, b) = (u32::from(chunk[0] & 1), u32::from(chunk[0] >> 1 & 1));
    let mut packet = Packet::new(FlowId(u32::from(chunk[1] % 4)), NodeId(a), NodeId(b), 40 + u32::from(chunk[2]));
    let long = |at: usize| u64::from_be_bytes(chunk[at..at + 8].try_into().expect("eight bytes"));
    let short = |shift: u8| (long(64) >> (shift % 64)) as u32;
    (packet.seq, packet.ack, packet.window) = (short(chunk[4]), short(chunk[3]), long(72) as u16);
    (packet.flags, packet.payload) = (Flags(u16::from(chunk[5])), u16::from(chunk[6]));
    if chunk[7] & 1 == 0 {
        let before = packet;
        border.enter(&mut packet, 1500);
        assert!(packet.window == before.window && packet.size >= before.size);
    } else {
        packet.push_raw(inrpp::header::InrppHeader::TAG, body);
        let before = packet;
        border.leave(&mut packet);
        assert!(packet.window <= before.window && packet.size <= before.size);
    }
}

/// A quantity: what is read prints as text that reads as the same.
pub fn units(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    round_trip::<Time>(text);
    round_trip::<Rate>(text);
    round_trip::<Bytes>(text);
    round_trip::<Limit>(text);
    if let Ok(ratio) = text.parse::<Ratio>() {
        // Percentages are printed as floats: to the nearest part per billion only where f64 has the
        // digits.
        let again: Ratio = ratio.to_string().parse().expect("what is printed can be read");
        assert!((again.as_f64() - ratio.as_f64()).abs() <= 1e-9 * ratio.as_f64().max(1.0), "{text:?}");
    }
}

fn round_trip<T: std::str::FromStr + std::fmt::Display + PartialEq + std::fmt::Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().ok(), Some(value), "{text:?}");
    }
}
