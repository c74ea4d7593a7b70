//! The log of processes that run: one line for each event, with a level, filtered, for people or for machines.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A forwarder's configuration.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("midpathd-log-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("a.toml"), "[listen]\nunix = \"nfd.sock\"\n").expect("a configuration");
        Folder(folder)
    }

    /// Starts it, and its standard error goes to a file.
    fn start(&self, options: &[&str], filter: &str, words: &[&str]) -> Child {
        let log = fs::File::create(self.0.join("log")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_midpathd"));
        command.args(options).args(words).env("RUST_LOG", filter).env_remove("JOURNAL_STREAM");
        command.stdout(Stdio::null()).stderr(log).spawn().expect("midpathd starts")
    }

    fn config(&self) -> String {
        self.0.join("a.toml").to_str().expect("text").to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.0.join("log")).expect("it is there")
    }

    /// What a forwarder logs that is started, asked and stopped.
    fn life(&self, options: &[&str], filter: &str) -> String {
        let mut child = self.start(options, filter, &["ndn", "up", &self.config()]);
        self.wait(|| self.midpathd("status"));
        assert!(self.midpathd("down"));
        assert!(child.try_wait().expect("it is ours").is_some(), "down returns once the process has ended");
        self.log()
    }

    fn midpathd(&self, command: &str) -> bool {
        let mut midpathd = Command::new(env!("CARGO_BIN_EXE_midpathd"));
        midpathd.args(["ndn", command, &self.config()]).output().expect("it starts").status.success()
    }

    fn wait(&self, done: impl Fn() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

fn each_line_is_an_event_with_a_level() {
    let folder = Folder::new("levels");
    let text = folder.life(&[], "");
    assert!(text.lines().any(|line| line.ends_with("the forwarder is up")), "{text}");
    for line in text.lines() {
        let level = line.split_whitespace().nth(1).expect("a level after the time");
        assert!(LEVELS[..3].contains(&level) && line.contains(" midpathd::ndn"), "{line}");
    }
    let json = folder.life(&["--log", "json"], "");
    for line in json.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(LEVELS.contains(&event["level"].as_str().expect("a level")));
        assert!(
            event["message"].is_string() && event["timestamp"].is_string() && event["target"].is_string(),
            "{line}"
        );
    }
    assert_eq!(json.lines().count(), text.lines().count());
}

fn options_and_the_environment_choose_what_is_logged() {
    let folder = Folder::new("filter");
    let usual = folder.life(&[], "");
    assert!(!usual.contains("DEBUG") && usual.contains("INFO"), "{usual}");
    let more = folder.life(&["-v"], "");
    assert!(more.contains("DEBUG") && more.contains("command: status"), "{more}");
    assert_eq!(folder.life(&[], "error"), "");
    let part = folder.life(&[], "error,midpathd::ndn::event_loop=debug");
    assert!(part.contains("command: down") && !part.contains("INFO"), "{part}");
    let mut wrong = folder.start(&[], "midpathd=loud", &["ndn", "up", &folder.config()]);
    assert_eq!(wrong.wait().expect("it ends").code(), Some(2));
    assert!(folder.log().starts_with("midpathd: RUST_LOG: ") && folder.log().lines().count() == 1, "{}", folder.log());
}

/// Why a command fails is one line of the format that was asked for.
fn a_failure_is_a_line_of_the_log_where_machines_read_it() {
    let folder = Folder::new("failure");
    for options in [&[][..], &["--log", "json"]] {
        let mut child = folder.start(options, "", &["ndn", "status", &folder.config()]);
        assert_eq!(child.wait().expect("it ends").code(), Some(1));
        let said = folder.log();
        assert_eq!(said.lines().count(), 1, "{said}");
        match options {
            [] => assert!(said.starts_with("midpathd: "), "{said}"),
            _ => assert_eq!(serde_json::from_str::<serde_json::Value>(&said).expect("JSON")["level"], "ERROR"),
        }
    }
}

/// A source that is gone is said once an hour, however often somebody scrapes.
fn what_goes_on_going_wrong_is_said_once() {
    let folder = Folder::new("once");
    let mut child = folder.start(&[], "", &["ndn", "metrics", &folder.config(), "--listen", "127.0.0.1:0"]);
    folder.wait(|| folder.log().contains("/metrics"));
    let log = folder.log();
    let at = log.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    for _ in 0..20 {
        let mut stream = TcpStream::connect(at).expect("it listens");
        std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.0\r\n\r\n").expect("it takes that");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
        std::thread::sleep(Duration::from_millis(110)); // a page is kept for 100
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(folder.log().matches("no metrics:").count(), 1, "{}", folder.log());
}

midpath_testing::tests!(
    each_line_is_an_event_with_a_level,
    options_and_the_environment_choose_what_is_logged,
    a_failure_is_a_line_of_the_log_where_machines_read_it,
    what_goes_on_going_wrong_is_said_once,
);
