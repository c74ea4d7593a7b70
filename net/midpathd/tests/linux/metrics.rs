//! Whatever comes to the port of metrics: a scrape gets its page, and the process stays small.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Generous, for busy machines: the server's own deadline is 5 s.
const LONG: Duration = Duration::from_secs(60);

/// A forwarder, and the server of its metrics.
struct Server {
    folder: PathBuf,
    forwarder: Child,
    metrics: Child,
    at: SocketAddr,
}

impl Server {
    fn new(test: &str) -> Server {
        let folder = std::env::temp_dir().join(format!("midpathd-metrics-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let config = folder.join("a.toml");
        fs::write(&config, "[listen]\nunix = \"nfd.sock\"\n").expect("a configuration");
        let midpathd = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_midpathd"));
            command.arg("ndn").args(words).arg(&config).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("midpathd starts")
        };
        let forwarder = midpathd(&["up"]);
        let begun = Instant::now();
        while !folder.join("a.sock").exists() {
            assert!(begun.elapsed() < LONG, "the forwarder is not up");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut metrics = midpathd(&["metrics", "--listen", "127.0.0.1:0"]);
        let mut said = String::new();
        BufReader::new(metrics.stderr.take().expect("it is piped")).read_line(&mut said).expect("a line");
        let at = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("its address");
        Server { at: at.parse().expect("an address"), folder, forwarder, metrics }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        stream
    }

    /// What is answered to these bytes, of which the server may refuse some.
    fn ask(&self, said: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(said);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn scrapes(&self, after: &str) {
        let answer = self.ask(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "after {after}: {answer:?}");
        let (head, page) = answer.split_once("\r\n\r\n").expect("a head");
        let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next()).expect("a length");
        assert_eq!(length, page.len().to_string(), "after {after}");
        assert!(page.contains("\nmidpath_ndn_up_seconds "), "after {after}: {page}");
    }

    /// A figure of /proc/…/status.
    fn figure(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.metrics.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
        line.trim_start_matches(':').split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.metrics.id())).expect("it runs").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in [&mut self.metrics, &mut self.forwarder] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Requests, and what the answer begins with; nothing: the connection is closed without one.
fn hostile() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let get = |more: &str| format!("GET /metrics HTTP/1.1\r\n{more}\r\n").into_bytes();
    let with = |mut head: Vec<u8>, more: &[u8]| {
        head.extend_from_slice(more);
        head
    };
    vec![
        ("a long body", get("Content-Length: 1000000000\r\n"), "HTTP/1.1 200"),
        ("a body longer than memory", get("Content-Length: 100000000000000\r\n"), "HTTP/1.1 200"),
        ("a body longer than numbers", get("Content-Length: 99999999999999999999999\r\n"), "HTTP/1.1 200"),
        ("a length below zero", get("Content-Length: -1\r\n"), "HTTP/1.1 200"),
        ("two lengths", get("Content-Length: 1\r\nContent-Length: 2\r\n"), "HTTP/1.1 200"),
        ("a body that comes", with(get("Content-Length: 300000\r\n"), &[b'x'; 300_000]), "HTTP/1.1 200"),
        ("chunks", with(get("Transfer-Encoding: chunked\r\n"), b"ffffffffffffffff\r\nabc"), "HTTP/1.1 200"),
        ("an expectation", get("Expect: 100-continue\r\nContent-Length: 5\r\n"), "HTTP/1.1 200"),
        ("a pipeline", get("").repeat(1000), "HTTP/1.1 200"),
        (
            "a POST with a body",
            b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n".to_vec(),
            "HTTP/1.1 405",
        ),
        ("a long line", with(b"GET /".to_vec(), &[b'a'; 100_000]), "HTTP/1.1 431"),
        ("endless headers", with(b"GET /metrics HTTP/1.1\r\n".to_vec(), &b"a: b\r\n".repeat(20_000)), "HTTP/1.1 431"),
        ("a long header", with(b"GET /metrics HTTP/1.1\r\na: ".to_vec(), &[b'b'; 100_000]), "HTTP/1.1 431"),
        ("empty lines without end", b"\r\n".repeat(50_000), "HTTP/1.1 431"),
        ("binary", (0..=255).collect(), "HTTP/1.1 400"),
        ("zeros", vec![0; 100_000], "HTTP/1.1 400"),
        ("TLS", [22, 3, 1, 2, 0, 1, 0].into(), "HTTP/1.1 400"),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), "HTTP/1.1 400"),
        ("no HTTP at all", b"hello\r\n\r\n".to_vec(), "HTTP/1.1 400"),
        ("another page", b"GET /../../etc/passwd HTTP/1.0\r\n\r\n".to_vec(), "HTTP/1.1 404"),
        ("a proxy's target", b"GET http://a/metrics?x=1 HTTP/1.1\r\n\r\n".to_vec(), "HTTP/1.1 200"),
        ("half a request", b"GET /metr".to_vec(), ""),
        ("nothing", Vec::new(), ""),
    ]
}

fn hostile_requests_are_answered_or_closed_and_a_scrape_gets_through() {
    let server = Server::new("hostile");
    server.scrapes("nothing");
    for (what, said, begins) in hostile() {
        let begun = Instant::now();
        let answer = server.ask(&said);
        assert!(answer.starts_with(begins) && (!begins.is_empty() || answer.is_empty()), "{what}: {answer:?}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), usize::from(!begins.is_empty()), "{what}: one answer");
        assert!(begun.elapsed() < LONG, "{what}");
        server.scrapes(what);
    }
    let head = server.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n") && !head.contains("midpath_"), "{head}");
    assert_eq!(server.figure("Threads"), 1);
    assert!(server.figure("VmHWM") < 64 << 10, "{} kB", server.figure("VmHWM"));
}

/// A byte now and then, for longer than anybody is waited for.
fn who_dawdles_is_left() {
    let server = Server::new("slow");
    let mut slow = server.connect();
    let mut reads_not: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    reads_not.iter_mut().for_each(|stream| stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it takes that"));
    let begun = Instant::now();
    for byte in b"GET /metrics HTTP/1.1\r\nHost: ".iter().chain([b'a'; 1000].iter()) {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        assert!(begun.elapsed() < LONG, "it is heard out");
    }
    assert!(begun.elapsed() >= Duration::from_secs(4), "not at once: {:?}", begun.elapsed());
    server.scrapes("one who dawdled");
    let begun = Instant::now();
    // Those who did not read have been left, too: the listener and the usual descriptors remain.
    while server.descriptors() > 6 {
        assert!(begun.elapsed() < LONG, "{} descriptors", server.descriptors());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn a_thousand_idle_connections_leave_room_for_a_scrape() {
    let server = Server::new("idle");
    // As many as this process may have, of which some are half said.
    let mut idle = Vec::new();
    for i in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(server.at) else { break };
        if i % 3 == 0 {
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ");
        }
        idle.push(stream);
        if i % 100 == 99 {
            server.scrapes(&format!("{} idle connections", i + 1));
        }
    }
    assert!(idle.len() > 500, "{} connections could be made", idle.len());
    assert_eq!(server.figure("Threads"), 1);
    assert!(server.descriptors() < 64 + 10, "{} descriptors", server.descriptors());
    assert!(server.figure("VmHWM") < 64 << 10, "{} kB", server.figure("VmHWM"));
}

midpath_testing::tests!(
    hostile_requests_are_answered_or_closed_and_a_scrape_gets_through,
    who_dawdles_is_left,
    a_thousand_idle_connections_leave_room_for_a_scrape,
);
