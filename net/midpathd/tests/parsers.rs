//! Whatever bytes come to a node, its readers answer without a panic, and what they say holds.
//!
//! The same entries as in `fuzz/`, on stable Rust: valid samples, mutated byte by byte, cut off,
//! and spliced together. `CASES=10000000 cargo test -p midpathd --test parsers -- --nocapture` does so
//! for longer.
#![cfg(target_os = "linux")]

#[path = "parsers/entries.rs"]
mod entries;

#[path = "parsers/mutations.rs"]
mod mutations;

use midpath_link::datagram::VERSION;
use mutations::run;

fn samples(all: &[&[u8]]) -> Vec<Vec<u8>> {
    all.iter().map(|sample| sample.to_vec()).collect()
}

#[test]
fn what_applications_and_peers_say_of_connections() {
    let all: [&[u8]; 16] = [
        &[5, 2, 1, 0],
        &[5, 1, 0, 1, 127, 0, 0, 1, 0, 80],
        &[5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 187],
        &[5, 1, 0, 3, 4, b'h', b'o', b's', b't', 0, 22],
        b"CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n",
        b"\r\n\nCONNECT [::1]:443 HTTP/1.0\nA: b\n\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &[3, 1, 0, 7, b'h', b'o', b's', b't', b':', b'2', b'2'],
        &[3, 2, 9],
        &[3, 3, 0, 4, b'e', b'c', b'h', b'o'],
        &[1, 1, 0, 7, b'h', b'o', b's', b't', b':', b'2', b'2'],
        &[1, 2, 0, 0, 0, 7, 0],
        &[1, 3, 0, 4, b'e', b'c', b'h', b'o'],
        b"connect b echo\nand more",
        b"listen echo\r\n",
        b"[2001:db8::]/32:1-1023",
    ];
    let mut all = samples(&all);
    all.extend([b"take 77\n".to_vec(), b"10.0.0.0/8:80".to_vec(), b"127.0.0.1:8000".to_vec()]);
    run("gateway", &all, 100_000, entries::gateway);
}

#[test]
fn what_is_asked_of_the_metrics_server() {
    let all: [&[u8]; 6] = [
        b"GET /metrics HTTP/1.1\r\nHost: a:9466\r\nUser-Agent: Prometheus/3.0\r\nAccept: text/plain;q=0.5,*/*\r\n\r\n",
        b"HEAD /metrics?name=x HTTP/1.0\n\n",
        b"GET http://host:9466/metrics HTTP/1.1\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 100000000000000\r\n\r\nbody",
        b"\r\n\r\nGET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let mut all = samples(&all);
    all.push([b"GET /metrics HTTP/1.1\r\n".to_vec(), b"a: b\r\n".repeat(70)].concat());
    all.push([b"GET /metrics HTTP/1.1\r\na: ".to_vec(), vec![b'b'; 8_160]].concat());
    run("metrics", &all, 20_000, entries::metrics);
}

/// Datagrams and frames, of every kind.
fn on_the_wire() -> Vec<Vec<u8>> {
    let filled = |head: &[u8], length: usize| {
        let mut bytes = head.to_vec();
        bytes.resize(length, 0x5a);
        bytes
    };
    let mut all = vec![
        filled(&[VERSION, 1, 0, 0], 148),
        filled(&[VERSION, 2, 0, 0], 68),
        filled(&[VERSION, 3, 0, 0], 80),
        filled(&[VERSION, 4, 0, 0], 24),
        vec![0, 5, 1, VERSION],
        filled(&[9, 1], 148),
        filled(&[1], 60),
        filled(&[2], 35),
        filled(&[3], 100),
        filled(&[4], 7),
        filled(&[5, 0, 0, 0, 7, 0, 2], 60),
        filled(&[5, 0, 0, 0, 8, 1, 2], 60),
        filled(&[5, 0xff, 0xff, 0xff, 0xff, 0, 20], 1400),
    ];
    let report = midpath_link::Report { next: 3, packets: 2, bytes: 3000, clock: 70, largest: 1400 };
    let mut bytes = Vec::new();
    midpath_link::Frame::Report(report).write(0, &mut bytes);
    all.push(bytes);
    all
}

#[test]
fn datagrams_and_frames() {
    run("frames", &on_the_wire(), 100_000, entries::frames);
}

#[test]
fn datagrams_of_strangers() {
    run("stranger", &on_the_wire(), 50_000, entries::stranger);
}

#[test]
fn what_a_neighbour_says() {
    run("neighbour", &on_the_wire(), 20_000, entries::neighbour);
}

#[test]
fn configurations() {
    let key = "5a".repeat(32);
    let good = format!(
        r#"network = "net.toml"
node = "a"
key = "a.key"
listen = "0.0.0.0:4700"
control = "a.sock"
[memory]
budget = "64 MB"
connection = "4 MB"
[[neighbour]]
node = "b"
key = ["{key}", "{key}"]
address = "203.0.113.7:4700"
rate = "10 Mbps"
[[forward]]
listen = "127.0.0.1:1"
exit = "b"
to = "host:80"
[[socks]]
listen = "127.0.0.1:1080"
exit = "b"
[[connect]]
listen = "[::1]:1081"
exit = "b"
[[transparent]]
to = "[2001:db8::]/32:80"
exit = "b"
[[application]]
listen = "127.0.0.1:4800"
[exit]
allow = ["10.0.0.0/8:80", "[2001:db8::]/32:1-1023"]
"#
    );
    run("config", &[good.into_bytes()], 3_000, entries::config);
}
