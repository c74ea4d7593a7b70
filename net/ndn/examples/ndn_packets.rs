//! Packets in hexadecimal: `ndn_packets` writes some with every field; `ndn_packets < lines` shows
//! what each line of hexadecimal digits says, field by field, then the bytes of the same packet
//! again and those that a forwarder sends on, or the error. The tests against python-ndn call it.

use std::io::{BufRead, IsTerminal};

use midpath_ndn::link::reason;
use midpath_ndn::{Data, Frame, Header, Interest, LpPacket, Mircc, Name, Network, PitToken, View};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn samples() -> [(&'static str, LpPacket); 4] {
    let name = Name::of_segment(12, 7, 300);
    let interest = Interest {
        name: name.clone(),
        must_be_fresh: true,
        nonce: Some(0x0102_0304),
        lifetime: Some(4000),
        hop_limit: Some(64),
        ..Interest::default()
    };
    let asks = Mircc {
        class: Some(1),
        data_size: Some(1500),
        round_trip: Some(25_000),
        path_id: Some(0x1122_3344_5566_7788),
        spare_cost: Some(2_000_000),
        ..Mircc::default()
    };
    let tells = Mircc {
        rates: Some((12_000_000, 3_000_000)),
        path_id: Some(u64::MAX),
        filter: Some([0xA5; 32]),
        random_value: Some(99),
        ..Mircc::default()
    };
    let data = Data::unsigned(name, b"hello".to_vec()).fresh_for(1000);
    let pit_token = PitToken::of(&7u32.to_be_bytes());
    let header = |mircc| Header { pit_token, mircc, ..Header::default() };
    let lp = |header, packet| LpPacket { header, packet };
    let refused = Header { nack: Some(reason::CONGESTION), ..header(tells) };
    let nack = lp(refused, Network::Interest(interest.clone()));
    let marked = lp(Header { congestion_mark: Some(1), ..header(tells) }, Network::Data(data.clone()));
    [
        ("bare-data", LpPacket::bare(Network::Data(data))),
        ("interest", lp(header(asks), Network::Interest(interest))),
        ("data", marked),
        ("nack", nack),
    ]
}

/// One line: fields that are there, each as `key=value`.
fn show(p: &LpPacket) -> String {
    let mut fields = vec![format!("name={}", p.packet.name())];
    let mut field = |key: &str, value: Option<String>| fields.extend(value.map(|value| format!("{key}={value}")));
    let text = |number: Option<u64>| number.map(|n| n.to_string());
    match &p.packet {
        Network::Interest(i) => {
            field("kind", Some("interest".into()));
            field("can_be_prefix", Some(i.can_be_prefix.to_string()));
            field("must_be_fresh", Some(i.must_be_fresh.to_string()));
            field("nonce", text(i.nonce.map(u64::from)));
            field("lifetime", text(i.lifetime));
            field("hop_limit", text(i.hop_limit.map(u64::from)));
        }
        Network::Data(d) => {
            field("kind", Some("data".into()));
            field("freshness", text(d.freshness_period()));
            field("content", d.content.as_deref().map(hex));
            field("signature_type", text(d.signature_type()));
            field("signature", Some(hex(&d.signature)));
        }
    }
    field("pit_token", p.header.pit_token.map(|token| hex(token.bytes())));
    field("nack", text(p.header.nack));
    field("congestion_mark", text(p.header.congestion_mark));
    field("class", text(p.header.mircc.class));
    field("data_size", text(p.header.mircc.data_size));
    field("round_trip", text(p.header.mircc.round_trip));
    field("rates", p.header.mircc.rates.map(|(primary, secondary)| format!("{primary},{secondary}")));
    field("path_id", text(p.header.mircc.path_id));
    field("filter", p.header.mircc.filter.as_ref().map(|f| hex(f)));
    field("random_value", text(p.header.mircc.random_value));
    field("spare_cost", text(p.header.mircc.spare_cost));
    fields.join(" ")
}

/// The packet's bytes as a forwarder sends them on.
fn forwarded(line: &str) -> String {
    let bytes = unhex(line).unwrap_or_default();
    let packet = Frame::of(&bytes).ok().and_then(|frame| frame.packet).map(View::of);
    let mut out = Vec::new();
    match packet {
        Some(Ok(View::Interest(interest))) => interest.forward(0x0102_0304, &mut out),
        Some(Ok(View::Data(data))) => out.extend_from_slice(data.wire),
        _ => return String::new(),
    }
    format!(" forwarded={}", hex(&out))
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("samples") || std::io::stdin().is_terminal() {
        return samples().iter().for_each(|(name, packet)| println!("{name} {}", hex(&packet.encode())));
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let packet = unhex(line.trim()).map(|bytes| LpPacket::decode(&bytes));
        match packet {
            None => println!("error=not hexadecimal"),
            Some(Err(error)) => println!("error={error}"),
            Some(Ok(packet)) => println!("{} again={}{}", show(&packet), hex(&packet.encode()), forwarded(line.trim())),
        }
    }
}
