//! `midpathd node` as it is used: processes with keys and configurations, and unmodified clients.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use midpath_testing::ignore;

use crate::common::free_port;

/// A network of three: `a` enters, `r` forwards, `b` leaves.
fn network(scheme: &str) -> String {
    format!(
        r#"
scheme = "{scheme}"
[topology]
nodes = [{{ name = "a", kind = "host" }}, {{ name = "r" }}, {{ name = "b", kind = "host" }}]
links = [
    {{ a = "a", b = "r", rate = "50 Mbps", delay = "1 ms" }},
    {{ a = "r", b = "b", rate = "50 Mbps", delay = "1 ms" }},
]
[schemes.inrpp]
secret = "not the one that stands in the sources"
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"#
    )
}

const NODES: [&str; 3] = ["a", "r", "b"];

/// Whom each node has a link to.
const LINKS: [&[usize]; 3] = [&[1], &[0, 2], &[1]];

/// Three nodes on this machine, each a process; they and their files go when this value goes.
struct Overlay {
    folder: PathBuf,
    nodes: Vec<Option<Child>>,
    /// Where `a` listens: a forward to the server, SOCKS5, CONNECT.
    entrances: [u16; 3],
}

fn midpathd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_midpathd")).args(arguments).output().expect("midpathd starts")
}

impl Overlay {
    fn new(test: &str, scheme: &str, server: u16) -> Overlay {
        Overlay::with(test, scheme, server, &|_, _, at| format!("address = \"127.0.0.1:{at}\"\n"))
    }

    /// Links over connections; a neighbour of a lower number is waited for.
    fn of_connections(test: &str, scheme: &str, server: u16) -> Overlay {
        Overlay::with(test, scheme, server, &|own, peer, at| match peer > own {
            true => format!("kind = \"tcp\"\naddress = \"127.0.0.1:{at}\"\n"),
            false => "kind = \"tcp\"\n".to_owned(),
        })
    }

    /// `reached` says how a node (by number) reaches a neighbour that listens at a port.
    fn with(test: &str, scheme: &str, server: u16, reached: &dyn Fn(usize, usize, u16) -> String) -> Overlay {
        let folder = std::env::temp_dir().join(format!("midpathd-node-{test}-{scheme}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("net.toml"), network(scheme)).expect("a network");
        let keys = NODES.map(|name| {
            let made = midpathd(&["node", "key", folder.join(format!("{name}.key")).to_str().expect("text")]);
            assert!(made.status.success(), "{made:?}");
            String::from_utf8(made.stdout).expect("text").trim().to_owned()
        });
        let ports = NODES.map(|_| free_port());
        let entrances = [free_port(), free_port(), free_port()];
        for (i, name) in NODES.into_iter().enumerate() {
            let mut config = format!(
                "network = \"net.toml\"\nnode = \"{name}\"\nkey = \"{name}.key\"\nlisten = \"127.0.0.1:{}\"\n",
                ports[i]
            );
            for peer in LINKS[i] {
                config += &format!(
                    "[[neighbour]]\nnode = \"{}\"\nkey = \"{}\"\n{}",
                    NODES[*peer],
                    keys[*peer],
                    reached(i, *peer, ports[*peer])
                );
            }
            match name {
                "a" => {
                    let [forward, socks, connect] = entrances;
                    config += &format!(
                        "[[forward]]\nlisten = \"127.0.0.1:{forward}\"\nexit = \"b\"\nto = \"127.0.0.1:{server}\"\n"
                    );
                    config += &format!("[[socks]]\nlisten = \"127.0.0.1:{socks}\"\nexit = \"b\"\n");
                    config += &format!("[[connect]]\nlisten = \"127.0.0.1:{connect}\"\nexit = \"b\"\n");
                }
                "b" => config += &format!("[exit]\nallow = [\"127.0.0.1:{server}\"]\n"),
                _ => {}
            }
            fs::write(folder.join(format!("{name}.toml")), config).expect("a configuration");
        }
        let mut overlay = Overlay { folder, nodes: vec![None, None, None], entrances };
        NODES.iter().for_each(|name| overlay.start(name));
        overlay
    }

    fn config(&self, name: &str) -> String {
        self.folder.join(format!("{name}.toml")).to_str().expect("text").to_owned()
    }

    fn start(&mut self, name: &str) {
        let log = fs::File::create(self.folder.join(format!("{name}.log"))).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_midpathd"));
        command.args(["node", "up", &self.config(name)]).stdout(Stdio::null()).stderr(log);
        let place = NODES.iter().position(|n| *n == name).expect("a node");
        self.nodes[place] = Some(command.spawn().expect("midpathd starts"));
        let begun = Instant::now();
        while !self.links_are_up(name) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{name} is not up: {}", self.log(name));
            thread::sleep(Duration::from_millis(20));
            if place == 0 && self.nodes[1].is_none() {
                return; // its neighbour comes later
            }
            if place < 2 && self.nodes[place + 1].is_none() {
                return;
            }
        }
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default()
    }

    fn status(&self, name: &str) -> Option<serde_json::Value> {
        let said = midpathd(&["node", "status", &self.config(name)]);
        serde_json::from_slice(&said.stdout).ok()
    }

    fn links_are_up(&self, name: &str) -> bool {
        let ports = self.status(name).and_then(|s| s["ports"].as_array().cloned()).unwrap_or_default();
        !ports.is_empty() && ports.iter().all(|port| port["link"]["up"] == true)
    }

    /// As the kernel's out-of-memory killer would.
    fn kill(&mut self, name: &str) {
        let place = NODES.iter().position(|n| *n == name).expect("a node");
        if let Some(mut child) = self.nodes[place].take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        NODES.iter().for_each(|name| self.kill(name));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a server has to give, and takes.
fn file(length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8).collect()
}

/// A server that waits for all that a client says, and answers with the same backwards.
fn backwards() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut said = Vec::new();
                if stream.read_to_end(&mut said).is_ok() {
                    said.reverse();
                    let _ = stream.write_all(&said);
                }
            });
        }
    });
    port
}

/// A server of one page, for HTTP clients.
fn page(content: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), content) = (stream, content.clone()) else { return };
            thread::spawn(move || {
                let mut said = Vec::new();
                let mut piece = [0; 4096];
                while !said.windows(4).any(|w| w == b"\r\n\r\n") {
                    match stream.read(&mut piece) {
                        Ok(0) | Err(_) => return,
                        Ok(n) => said.extend_from_slice(&piece[..n]),
                    }
                }
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&content));
            });
        }
    });
    port
}

/// Says it all, closes that direction, and listens.
fn ask(port: u16, said: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut writer = stream.try_clone()?;
    let all = said.to_vec();
    let writes = thread::spawn(move || writer.write_all(&all).and_then(|()| writer.shutdown(Shutdown::Write)));
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    writes.join().expect("it writes")?;
    Ok(answer)
}

/// Bytes go both ways through three processes, and each direction closes on its own: the answer
/// begins when the question has ended.
fn a_connection_goes_through_every_scheme_and_closes_by_halves() {
    for scheme in ["cubic", "fcp", "inrpp", "rcp"] {
        let overlay = Overlay::new("halves", scheme, backwards());
        let mut said = file(400_000);
        let answer = ask(overlay.entrances[0], &said).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        said.reverse();
        assert!(answer == said, "{scheme}: {} of {} bytes", answer.len(), said.len());
        assert_eq!(overlay.status("b").expect("it runs")["conversations"]["left"], 1);
    }
}

/// Two hundred connections at once, each with a question and an answer, some of which are not waited
/// for: none gets another's bytes, and nothing is left of them.
fn many_connections_at_once_get_their_own_answers_and_leave_nothing() {
    let overlay = Overlay::new("many", "cubic", backwards());
    let port = overlay.entrances[0];
    let asks = (0..200usize).map(|i| {
        thread::spawn(move || {
            if i % 10 == 9 {
                // Hangs up in the middle.
                let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
                return stream.write_all(&file(5000)).expect("it takes that");
            }
            let mut said = file(1000 + 37 * i);
            said[0] = i as u8;
            let answer = ask(port, &said).unwrap_or_else(|e| panic!("{i}: {e}"));
            said.reverse();
            assert!(answer == said, "{i}: {} of {} bytes", answer.len(), said.len());
        })
    });
    asks.collect::<Vec<_>>().into_iter().for_each(|ask| ask.join().expect("it asks"));
    let begun = Instant::now();
    loop {
        let held = ["a", "b"].map(|name| {
            let status = overlay.status(name).expect("it runs");
            let held = &status["held_bytes"];
            (status["conversations"]["open"].clone(), held["promised"].clone(), held["written"].clone())
        });
        if held.iter().all(|(open, promised, written)| *open == 0 && *promised == 0 && *written == 0) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{held:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// `curl` as it is, by SOCKS5, by CONNECT and by a forward; what the exit does not allow is
/// refused.
fn curl_downloads_through_the_overlay() {
    if Command::new("curl").arg("--version").output().is_err() {
        ignore("needs curl");
    }
    let content = file(1_000_000);
    let server = page(content.clone());
    let overlay = Overlay::new("curl", "cubic", server);
    let [forward, socks, connect] = overlay.entrances;
    let url = format!("http://127.0.0.1:{server}/");
    let curl = |arguments: &[&str]| {
        let done = Command::new("curl").args(["--silent", "--show-error", "--max-time", "60"]).args(arguments).output();
        done.expect("curl starts")
    };
    let (by_socks, by_connect) = (format!("socks5h://127.0.0.1:{socks}"), format!("http://127.0.0.1:{connect}"));
    let ways = [
        vec![format!("http://127.0.0.1:{forward}/")],
        vec!["--proxy".into(), by_socks.clone(), url.clone()],
        vec!["--proxy".into(), by_connect.clone(), "--proxytunnel".into(), url.clone()],
    ];
    for way in ways {
        let got = curl(&way.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(got.status.success(), "{way:?}: {}", String::from_utf8_lossy(&got.stderr));
        assert!(got.stdout == content, "{way:?}: {} bytes", got.stdout.len());
    }
    let elsewhere = format!("http://127.0.0.1:{}/", free_port());
    let refused = curl(&["--proxy", &by_connect, "--proxytunnel", &elsewhere]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("403"), "{refused:?}");
    let status = overlay.status("a").expect("it runs");
    assert_eq!(status["conversations"]["entered"], 4);
}

/// The exit is killed in the middle: the application is told that the connection broke off, and
/// never that the answer is complete. Then the exit is started again, and all is well.
fn a_node_that_is_killed_resets_connections_and_comes_back() {
    let content = file(20_000_000);
    let server = page(content);
    let mut overlay = Overlay::new("kill", "cubic", server);
    let port = overlay.entrances[0];
    let reader = thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it takes that");
        let (mut got, mut piece) = (0, vec![0; 65_536]);
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return (got, false),
                Ok(n) => got += n,
                Err(_) => return (got, true),
            }
        }
    });
    thread::sleep(Duration::from_millis(1000));
    overlay.kill("b");
    overlay.start("b");
    let (got, reset) = reader.join().expect("it reads");
    assert!(got > 0 && reset, "{got} bytes, then {}", if reset { "a reset" } else { "an end" });
    drop(overlay);
}

/// Connections of a node's links, and of strangers.
fn held(status: &serde_json::Value) -> u64 {
    let [opened, accepted, ended] =
        ["opened", "accepted", "ended"].map(|key| status["streams"][key].as_u64().expect("a count"));
    opened + accepted - ended
}

/// The same bytes by links over connections, and each node has what it should: one to a neighbour that
/// it knows the address of.
fn links_may_go_over_connections() {
    for scheme in ["cubic", "fcp", "inrpp", "rcp"] {
        let overlay = Overlay::of_connections("connections", scheme, backwards());
        let mut said = file(400_000);
        let answer = ask(overlay.entrances[0], &said).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        said.reverse();
        assert!(answer == said, "{scheme}: {} of {} bytes, or others", answer.len(), said.len());
        for (name, connections) in [("a", 1), ("r", 2), ("b", 1)] {
            let status = overlay.status(name).expect("it runs");
            assert_eq!(held(&status), connections, "{scheme} {name}");
            assert_eq!(status["ports"][0]["link"]["kind"], "tcp");
        }
    }
}

/// Where both know each other's address there are two connections, one each way.
fn who_know_each_other_have_a_connection_each_way() {
    let both = |_: usize, _: usize, at: u16| format!("kind = \"tcp\"\naddress = \"127.0.0.1:{at}\"\n");
    let overlay = Overlay::with("each-way", "inrpp", backwards(), &both);
    let mut said = file(300_000);
    // Longer than strangers are borne with.
    for pause in [0, 6] {
        thread::sleep(Duration::from_secs(pause));
        said.reverse();
        let answer = ask(overlay.entrances[0], &said).expect("an answer");
        assert!(answer.iter().rev().eq(said.iter()));
    }
    assert_eq!(held(&overlay.status("r").expect("it runs")), 4);
}

/// A middle node is killed and comes back: who had connected to it does so again.
fn a_connection_below_that_breaks_is_made_again() {
    let mut overlay = Overlay::of_connections("again", "cubic", backwards());
    overlay.kill("r");
    overlay.start("r");
    let begun = Instant::now();
    let said = file(50_000);
    while !matches!(ask(overlay.entrances[0], &said), Ok(answer) if answer.iter().rev().eq(said.iter())) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", overlay.log("a"));
    }
}

/// Who connects and says nothing, or nonsense, is closed; links go on.
fn strangers_at_a_nodes_connections_are_few_and_not_for_long() {
    let overlay = Overlay::of_connections("strangers", "cubic", backwards());
    let config = fs::read_to_string(overlay.config("r")).expect("a configuration");
    let at: u16 =
        config.split("listen = \"127.0.0.1:").nth(1).and_then(|s| s.split('"').next()?.parse().ok()).expect("a port");
    let mut all: Vec<_> = (0..40).map(|_| TcpStream::connect(("127.0.0.1", at)).expect("it listens")).collect();
    for stream in &mut all[..20] {
        let _ = stream.write_all(&[0xFF; 4000]);
    }
    let said = file(100_000);
    assert!(ask(overlay.entrances[0], &said).expect("an answer").iter().rev().eq(said.iter()));
    let fresh = TcpStream::connect(("127.0.0.1", at)).expect("it listens");
    fresh.set_read_timeout(Some(Duration::from_secs(20))).expect("it can");
    assert!(!matches!((&fresh).read(&mut [0; 10]), Ok(n) if n > 0), "nothing is said to a stranger");
    let status = overlay.status("r").expect("it runs");
    assert!(held(&status) <= 18 && status["streams"]["strangers"].as_u64() >= Some(20), "{status}");
    assert!(overlay.links_are_up("r") && overlay.links_are_up("a"));
}

/// Carries a connection on at a rate, with little room of its own: a line that is slower than the
/// link over it is said to be.
fn slow_line(to: u16, mbps: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let carry = move |mut from: TcpStream, mut to: TcpStream| {
        rustix::net::sockopt::set_socket_recv_buffer_size(&from, 100_000).expect("it can");
        let (mut piece, begun, mut carried) = ([0; 1500], Instant::now(), 0);
        while let Ok(length @ 1..) = from.read(&mut piece) {
            carried += length as u64;
            if to.write_all(&piece[..length]).is_err() {
                return;
            }
            let due = Duration::from_micros(carried * 8 / mbps);
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
    };
    thread::spawn(move || {
        for from in listener.incoming().flatten() {
            let Ok(to) = TcpStream::connect(("127.0.0.1", to)) else { continue };
            let (back, there) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
            thread::spawn(move || carry(from, to));
            thread::spawn(move || carry(there, back));
        }
    });
    port
}

/// What TCP below cannot carry waits at the port, where INRPP counts it: custody grows at `r`, and
/// `a` is pushed back.
fn what_a_slow_line_below_cannot_carry_waits_at_the_port() {
    let reached = |own: usize, peer: usize, at: u16| match (own, peer) {
        (1, 2) => format!("kind = \"tcp\"\naddress = \"127.0.0.1:{}\"\n", slow_line(at, 8)),
        (2, 1) => "kind = \"tcp\"\n".to_owned(),
        _ => format!("address = \"127.0.0.1:{at}\"\n"),
    };
    let overlay = Overlay::with("slow", "inrpp", backwards(), &reached);
    let (port, said) = (overlay.entrances[0], file(4_000_000));
    let asked = said.clone();
    let asks = thread::spawn(move || ask(port, &asked));
    let mut served = u64::MAX;
    while !asks.is_finished() {
        if let Some(status) = overlay.status("r") {
            served = served.min(status["ports"][1]["served_bps"].as_u64().unwrap_or(u64::MAX));
        }
        thread::sleep(Duration::from_millis(20));
    }
    let answer = asks.join().expect("it asks").expect("an answer");
    assert!(answer.iter().rev().eq(said.iter()));
    let status = overlay.status("r").expect("it runs");
    // The port's own record: on a busy machine a few looks miss the peak.
    let most = status["ports"][1]["queue"]["most_bytes"].as_u64().unwrap_or(0);
    assert!(most >= 50_000, "{most} B waited at the port at most");
    assert!(served <= 20_000_000, "the port was never told of less than {served} bps");
    assert_eq!(status["streams"]["lost"], 0);
}

/// What is wrong is said with the file, the line and the key, and nothing is started.
fn a_bad_configuration_is_named_by_line_and_key() {
    let folder = std::env::temp_dir().join(format!("midpathd-node-check-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let key = |name: &str| {
        let file = folder.join(name);
        String::from_utf8(midpathd(&["node", "key", file.to_str().expect("text")]).stdout)
            .expect("text")
            .trim()
            .to_owned()
    };
    let (_, peer) = (key("a.key"), key("r.key"));
    let good = format!(
        "network = \"net.toml\"\nnode = \"a\"\nkey = \"a.key\"\nlisten = \"127.0.0.1:{}\"\n[[neighbour]]\nnode = \"r\"\nkey = \"{peer}\"\n",
        free_port()
    );
    let check = |config: &str, scheme: &str| {
        fs::write(folder.join("net.toml"), network(scheme)).expect("a network");
        let path: PathBuf = folder.join("a.toml");
        fs::write(&path, config).expect("a configuration");
        let done = midpathd(&["node", "check", path.to_str().expect("text")]);
        let said = String::from_utf8(done.stderr).expect("text");
        assert_eq!(done.status.success(), said.is_empty(), "{said}");
        said.replace(&format!("{}/", Path::new(&folder).display()), "")
    };
    assert_eq!(check(&good, "cubic"), "");
    let cases = [
        ("node = \"a\"", "nod = \"a\"", "a.toml:2: unknown field `nod`"),
        ("node = \"a\"", "node = \"x\"", "a.toml:2: node: "),
        ("node = \"r\"", "node = \"b\"", "the node has a link to `r`, which needs a [[neighbour]] of its own"),
        (&peer, "12ab", "a.toml:7: neighbour.key: "),
        ("127.0.0.1", "127.0.0.x", "a.toml:4: "),
        ("a.key", "none.key", "cannot read the key"),
        (
            "[[neighbour]]",
            "[[forward]]\nlisten = \"127.0.0.1:9\"\nexit = \"a\"\nto = \"x:1\"\n[[neighbour]]",
            "a.toml:7: forward.exit: a node cannot be its own exit",
        ),
        (
            "[[neighbour]]",
            "[exit]\nallow = [\"0.0.0.0\"]\n[[neighbour]]",
            "a.toml:6: exit.allow: `0.0.0.0` is not `address/prefix:ports`",
        ),
    ];
    for (from, to, expected) in cases {
        let said = check(&good.replacen(from, to, 1), "cubic");
        assert!(said.contains(expected), "{to}: {said}");
    }
    assert!(check(&good, "rpm").contains("carries no flows"));
    fs::write(folder.join("net.toml"), network("inrpp").replace("secret", "# secret")).expect("a network");
    let said = midpathd(&["node", "check", folder.join("a.toml").to_str().expect("text")]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("secret"), "{said:?}");
    let _ = fs::remove_dir_all(&folder);
}

/// A short run of `measure`: every row has packets, what was asked for is what was done, and the tables
/// say the same as JSON.
fn what_a_node_costs_is_measured_by_one_command() {
    let tests = std::env::current_exe().expect("this program has a path");
    let example = tests.parent().expect("deps").with_file_name("examples").join("node_cost");
    let said = Command::new(example).args(["--seconds", "0.3", "--json"]).output().expect("it is built with the tests");
    assert!(said.status.success(), "{said:?}");
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let rows = said["packet_hops"].as_array().expect("rows");
    assert_eq!(rows.len(), 9);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("forwarded") > 10.0 && (0.05..1000.0).contains(&number("cpu_us")), "{row}");
        let of_cpu = number("cpu_s") / number("forwarded") * 1e6;
        assert!((of_cpu / number("cpu_us") - 1.0).abs() < 1e-6, "{row}");
        let (shaped, offload) = (row["load"] == "shaped", row["offload"] == true);
        // How much is kept is the machine's; a late thread gets a millisecond back at most.
        assert!(!shaped || (0.5..103.0).contains(&number("kept_percent")), "{row}");
        let together = row["datagrams_a_call"]["sent"].as_f64().expect("a mean");
        if !offload || row["gso_segments"] == 1 {
            assert!(together <= 1.0, "{row}");
        } else if !shaped {
            assert!(together > 1.5, "{row}");
        }
    }
    let wakes = said["wakes"].as_array().expect("wake-ups");
    assert_eq!(wakes.len(), 2);
    assert!(wakes[0]["p50_us"].as_f64() <= wakes[0]["p99_us"].as_f64() && wakes[0]["wakes"].as_u64() > Some(10));
    for what in ["packet_hop", "saturated", "shaped", "wakes"] {
        assert!(said["how"][what].as_str().is_some_and(|how| how.len() > 30), "{what}");
    }
}

/// SIGHUP does what `reload` does, and a configuration that is wrong changes nothing.
fn a_hangup_reads_the_configuration_again() {
    let overlay = Overlay::new("hangup", "cubic", 9);
    let (config, pid) = (overlay.config("r"), overlay.nodes[1].as_ref().expect("it runs").id().to_string());
    let before = fs::read_to_string(&config).expect("it is there");
    let hang_up = |text: String| {
        fs::write(&config, text).expect("it can be written");
        assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("kill starts").success());
    };
    let rate = || overlay.status("r").map(|s| s["ports"][0]["link"]["configured_bps"].clone());
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {}", overlay.log("r"));
            thread::sleep(Duration::from_millis(20));
        }
    };
    assert_eq!(rate(), Some(50_000_000.into()));
    hang_up(before.replacen("address", "rate = \"20 Mbps\"\naddress", 1));
    wait("another rate", &|| rate() == Some(20_000_000.into()));
    assert!(overlay.log("r").contains("reloaded: "), "{}", overlay.log("r"));
    hang_up(format!("{before}\nno-such-key = 1\n"));
    wait("an error", &|| overlay.log("r").contains("not reloaded: "));
    // `status` reads the configuration, too.
    fs::write(&config, before).expect("it can be written");
    assert_eq!(rate(), Some(20_000_000.into()));
}

/// What systemd says of the unit. The program that it starts is another: ours is not installed.
fn the_unit_is_one() {
    let unit = include_str!("../../dist/midpathd-node@.service").replace("/usr/local/sbin/midpathd", "/bin/true");
    let folder = std::env::temp_dir().join(format!("midpathd-unit-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("midpathd-node@a.service");
    fs::write(&path, unit).expect("it can be written");
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
    fs::remove_dir_all(&folder).expect("it is ours");
    match verify {
        Ok(said) => {
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success() && !text.contains("midpathd-node"), "{text}");
        }
        Err(_) => ignore("needs systemd-analyze"),
    }
}

/// A killed node's numbers go on: the bound that it left is where the next one begins, and what it leaves
/// is further.
fn a_killed_nodes_numbers_go_on() {
    let mut overlay = Overlay::new("numbers", "inrpp", 9);
    let bound = |overlay: &Overlay| -> u64 {
        let text = fs::read_to_string(overlay.folder.join("r.numbers")).expect("it is left before the node is up");
        text.trim().parse().expect("a number")
    };
    let mut last = bound(&overlay);
    for _ in 0..3 {
        overlay.kill("r");
        assert_eq!(bound(&overlay), last, "nobody is there");
        overlay.start("r");
        let next = bound(&overlay);
        assert!(next >= last + 300_000_000_000, "{next} after {last}");
        last = next;
    }
    assert!(!overlay.folder.join("r.numbers-new").exists());
}

midpath_testing::tests!(
    a_connection_goes_through_every_scheme_and_closes_by_halves,
    many_connections_at_once_get_their_own_answers_and_leave_nothing,
    curl_downloads_through_the_overlay,
    a_node_that_is_killed_resets_connections_and_comes_back,
    links_may_go_over_connections,
    who_know_each_other_have_a_connection_each_way,
    a_connection_below_that_breaks_is_made_again,
    strangers_at_a_nodes_connections_are_few_and_not_for_long,
    what_a_slow_line_below_cannot_carry_waits_at_the_port,
    a_bad_configuration_is_named_by_line_and_key,
    what_a_node_costs_is_measured_by_one_command,
    a_hangup_reads_the_configuration_again,
    the_unit_is_one,
    a_killed_nodes_numbers_go_on,
);
