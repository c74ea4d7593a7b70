//! `check` changes nothing, and says what would change where a process runs; no command removes what is
//! not our own dead socket.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use midpath_testing::ignore;

/// A port that nobody has, of those that Linux gives to no client: one of its own would be a client's by the time a
/// node listens there.
fn free_port() -> u16 {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    loop {
        let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
        let port = (10_000 + (std::process::id().wrapping_mul(97) + drawn) % 20_000) as u16;
        let at = ("127.0.0.1", port);
        if TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok() {
            return port;
        }
    }
}

const NETWORK: &str = r#"
scheme = "cubic"
[topology]
nodes = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
links = [{ a = "a", b = "b", rate = "50 Mbps", delay = "1 ms" }]
[[flow]]
from = "a"
to = "b"
size = "1 MB"
"#;

/// A folder with a configuration of each kind; it goes with the value, and what runs with it.
struct Folder {
    path: PathBuf,
    node: String,
    running: Vec<Child>,
}

/// Kind and rights, inode, size, when it was changed, and what it holds.
type Seen = (u32, u64, u64, i64, i64, Vec<u8>);

fn midpathd(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_midpathd")).args(words).output().expect("midpathd starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("midpathd-check-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("net.toml"), NETWORK).expect("a network");
        let keys = ["node", "other"].map(|name| {
            let made = midpathd(&["node", "key", path.join(format!("{name}.key")).to_str().expect("text")]);
            text(&made.stdout).trim().to_owned()
        });
        let [listen, socks, udp, tcp] = std::array::from_fn(|_| free_port());
        let node = format!(
            "network = \"net.toml\"\nnode = \"a\"\nkey = \"node.key\"\nlisten = \"127.0.0.1:{listen}\"\n\
             control = \"CONTROL\"\n[[neighbour]]\nnode = \"b\"\nkey = \"{}\"\nrate = \"40 Mbps\"\n\
             [[socks]]\nlisten = \"127.0.0.1:{socks}\"\nexit = \"b\"\n",
            keys[1]
        );
        let ndn = format!(
            "control = \"CONTROL\"\n[listen]\nunix = \"UNIX\"\nudp = [\"127.0.0.1:{udp}\"]\ntcp = [\"127.0.0.1:{tcp}\"]\n"
        );
        let folder = Folder { path, node, running: Vec::new() };
        folder.write("node", "node.sock", "");
        fs::write(folder.path.join("ndn.toml"), ndn.replace("CONTROL", "ndn.sock").replace("UNIX", "nfd.sock"))
            .expect("a configuration");
        folder
    }

    fn write(&self, kind: &str, control: &str, more: &str) {
        let text = self.node.replace("CONTROL", control) + more;
        fs::write(self.path.join(format!("{kind}.toml")), text).expect("a configuration");
    }

    /// Replaces something in a configuration.
    fn change(&self, kind: &str, old: &str, new: &str) {
        let file = self.path.join(format!("{kind}.toml"));
        let text = fs::read_to_string(&file).expect("a configuration");
        assert!(text.contains(old), "{text}");
        fs::write(file, text.replacen(old, new, 1)).expect("a configuration");
    }

    fn config(&self, kind: &str) -> String {
        self.path.join(format!("{kind}.toml")).to_str().expect("text").to_owned()
    }

    fn check(&self, kind: &str) -> Output {
        midpathd(&[kind, "check", &self.config(kind)])
    }

    /// As it succeeds, and what it says.
    fn checks(&self, kind: &str) -> String {
        let done = self.check(kind);
        assert!(done.status.success(), "{kind}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    fn start(&mut self, kind: &str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_midpathd"));
        command.args([kind, "up", &self.config(kind)]).stdout(Stdio::null()).stderr(Stdio::null());
        self.running.push(command.spawn().expect("midpathd starts"));
        let begun = Instant::now();
        while !midpathd(&[kind, "status", &self.config(kind)]).status.success() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{kind} is not up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is there. A folder's time tells of what was made in it and removed again.
    fn tree(&self) -> BTreeMap<PathBuf, Seen> {
        let entries = fs::read_dir(&self.path).expect("a folder").map(|entry| entry.expect("an entry").path());
        let all = entries.chain([self.path.clone()]).map(|path| {
            let about = fs::symlink_metadata(&path).expect("it is there");
            let held = if about.is_file() { fs::read(&path).expect("it can be read") } else { Vec::new() };
            let seen = (about.mode(), about.ino(), about.size(), about.mtime(), about.mtime_nsec(), held);
            (path, seen)
        });
        all.collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}

const KINDS: [&str; 2] = ["node", "ndn"];
/// Where a configuration names a socket: kind, what stands in the file, what it is called in an error.
const SOCKETS: [(&str, &str, &str); 3] =
    [("node", "node.sock", "control"), ("ndn", "ndn.sock", "control"), ("ndn", "nfd.sock", "listen.unix")];

fn a_check_changes_nothing() {
    let mut folder = Folder::new("nothing");
    let leave_dead_sockets = |folder: &mut Folder| {
        SOCKETS.iter().for_each(|(_, name, _)| drop(UnixListener::bind(folder.path.join(name)).expect("a socket")));
    };
    let start = |folder: &mut Folder| KINDS.iter().for_each(|kind| folder.start(kind));
    for prepare in [&|_: &mut Folder| {}, &leave_dead_sockets, &start] as [&dyn Fn(&mut Folder); 3] {
        prepare(&mut folder);
        let before = folder.tree();
        for kind in KINDS {
            folder.checks(kind);
            assert_eq!(folder.tree(), before, "{kind}");
        }
    }
}

/// The same where the kernel would refuse any change: a read-only mount, in a namespace of its own.
fn a_check_works_on_a_read_only_file_system() {
    let folder = Folder::new("read-only");
    let mounted = |words: &str| {
        let script = format!("mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && {words}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &script]).arg(&folder.path);
        command.arg(env!("CARGO_BIN_EXE_midpathd")).output()
    };
    let refuses = mounted("! touch \"$0/new\" 2>&1");
    if !refuses.as_ref().is_ok_and(|done| done.status.success()) {
        ignore(format!("needs unshare, and the right to mount: {refuses:?}"));
    }
    let before = folder.tree();
    for kind in KINDS {
        let done = mounted(&format!("\"$1\" {kind} check \"$0/{kind}.toml\"")).expect("it starts");
        assert!(done.status.success(), "{kind}: {}", text(&done.stderr));
    }
    assert_eq!(folder.tree(), before);
}

/// Makes what is not ours at a path, of each kind; `None` where that can't be made here.
fn stranger(kind: &str, path: &Path) -> Option<Box<dyn std::any::Any>> {
    let elsewhere = path.with_extension("elsewhere");
    Some(match kind {
        "file" => Box::new(fs::write(path, "a user's").ok()?),
        "folder" => Box::new(fs::create_dir(path).ok()?),
        "dangling link" => Box::new(symlink("nowhere", path).ok()?),
        "link to a file" => Box::new((fs::write(&elsewhere, "a user's").ok()?, symlink(&elsewhere, path).ok()?)),
        "link to a dead socket" => {
            Box::new((UnixListener::bind(&elsewhere).ok().map(drop)?, symlink(&elsewhere, path)))
        }
        "pipe" => Box::new(Command::new("mkfifo").arg(path).status().ok().filter(|s| s.success())?),
        "datagram socket" => Box::new(UnixDatagram::bind(path).ok()?),
        _ => unreachable!("{kind}"),
    })
}

const STRANGERS: [&str; 7] =
    ["file", "folder", "dangling link", "link to a file", "link to a dead socket", "pipe", "datagram socket"];

fn no_command_removes_what_is_not_ours() {
    for (kind, name, key) in SOCKETS {
        for what in STRANGERS {
            let folder = Folder::new("strangers");
            let path = folder.path.join(name);
            let Some(held) = stranger(what, &path) else { ignore(format!("no {what} can be made here")) };
            let before = folder.tree();
            for command in ["check", "up", "status", "down", "reload", "check"] {
                if kind == "ndn" && command == "reload" {
                    continue;
                }
                let done = midpathd(&[kind, command, &folder.config(kind)]);
                let said = text(&done.stderr);
                assert!(!done.status.success() && said.trim_end().lines().count() == 1, "{what} {command}: {said}");
                if ["check", "up"].contains(&command) {
                    assert!(said.contains(key) && said.contains(name), "{what} {command}: {said}");
                }
                // `up` opens what comes before: its own sockets, which are gone again.
                let mut now = folder.tree();
                now.insert(folder.path.clone(), before[&folder.path].clone());
                assert_eq!(now, before, "{what} {command}");
            }
            drop(held);
        }
    }
}

/// The socket named is the configuration itself, or the network's file: neither goes.
fn a_configuration_that_names_its_own_files_keeps_them() {
    for file in ["node.toml", "net.toml", "node.key"] {
        let folder = Folder::new("own");
        folder.write("node", file, "");
        let before = folder.tree();
        for command in ["check", "up", "down"] {
            let done = midpathd(&["node", command, &folder.config("node")]);
            assert!(!done.status.success(), "{file} {command}");
            assert_eq!(folder.tree(), before, "{file} {command}");
        }
    }
}

/// An object that does not come leaves the file as it was.
fn a_fetch_that_fails_leaves_the_file() {
    let folder = Folder::new("fetch");
    let (path, socket) = (folder.path.join("object"), folder.path.join("f.sock"));
    fs::write(&path, "a user's").expect("a file");
    // A forwarder that hangs up.
    let listener = UnixListener::bind(&socket).expect("a socket");
    let hangs_up = std::thread::spawn(move || listener.accept().map(drop));
    let (uri, file) = (format!("unix://{}", socket.display()), path.to_str().expect("text"));
    let done = midpathd(&["ndn", "fetch", "/a/b", "--forwarder", &uri, "--output", file]);
    assert!(!done.status.success());
    hangs_up.join().expect("it ends").expect("somebody came");
    assert_eq!(fs::read(&path).expect("it is there"), b"a user's");
}

fn a_check_of_what_runs_says_what_would_change() {
    let mut folder = Folder::new("running");
    KINDS.iter().for_each(|kind| folder.start(kind));
    for kind in KINDS {
        assert_eq!(folder.checks(kind), "the running process has this configuration\n");
    }
    folder.change("node", "40 Mbps", "20 Mbps");
    assert_eq!(folder.checks("node"), "reload would change neighbour b: rate from 40 Mbps to 20 Mbps\n");
    // What is wrong is still said.
    folder.change("node", "rate =", "rat =");
    assert!(!folder.check("node").status.success());
    folder.change("node", "rat =", "rate =");
    let reloaded = midpathd(&["node", "reload", &folder.config("node")]);
    assert!(reloaded.status.success(), "{}", text(&reloaded.stderr));
    assert_eq!(folder.checks("node"), "the running process has this configuration\n");

    // What needs another process; a port that somebody else has is found out all the same.
    let other = TcpListener::bind(("127.0.0.1", free_port())).expect("a port");
    let taken = format!("[[connect]]\nlisten = \"{}\"\nexit = \"b\"\n", other.local_addr().expect("an address"));
    folder.write("node", "node.sock", &taken);
    let refused = folder.check("node");
    assert!(text(&refused.stderr).contains("another process has this address"), "{}", text(&refused.stderr));
    drop(other);
    let said = folder.checks("node");
    assert!(said.lines().all(|line| line.starts_with("down and up would ")), "{said}");
    assert!(said.contains("add the entrance at 127.0.0.1:") && said.contains("from 20 Mbps to 40 Mbps"), "{said}");
    let refused = midpathd(&["node", "reload", &folder.config("node")]);
    assert!(text(&refused.stderr).contains("needs `down` and `up`"), "{}", text(&refused.stderr));

    folder.change("ndn", "[listen]", "[tables]\nfaces = 17\n[listen]");
    assert_eq!(folder.checks("ndn"), "down and up would change tables.faces from 4096 to 17\n");

    // A draft elsewhere, before it takes the place of what runs; and the other kind's socket.
    fs::copy(folder.config("node"), folder.path.join("draft.toml")).expect("a copy");
    let draft = midpathd(&["node", "check", &folder.config("draft")]);
    assert!(draft.status.success() && text(&draft.stdout) == said, "{}", text(&draft.stderr));
    folder.write("draft", "ndn.sock", "");
    let other = midpathd(&["node", "check", &folder.config("draft")]);
    assert!(text(&other.stderr).contains("another process answers there: midpathd ndn"), "{}", text(&other.stderr));
    // A second one of the same is still refused.
    for kind in KINDS {
        assert!(!midpathd(&[kind, "up", &folder.config(kind)]).status.success());
    }
}

/// What stands between backticks.
fn advice(said: &str) -> &str {
    said.split('`').nth(1).unwrap_or_else(|| panic!("no command in {said}"))
}

fn what_is_advised_for_a_key_that_others_can_read_works() {
    let folder = Folder::new("advice-key");
    let key = folder.path.join("node.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let said = text(&folder.check("node").stderr);
    let words: Vec<&str> = advice(&said).split(' ').collect();
    assert!(Command::new(words[0]).args(&words[1..]).arg(&key).status().expect("it starts").success());
    folder.checks("node");
}

fn what_is_advised_for_addresses_that_are_not_routed_here_works() {
    let folder = Folder::new("advice-route");
    let port = free_port();
    folder.write("node", "node.sock", &format!("[[transparent]]\nto = \"198.51.100.0/24:{port}\"\nexit = \"b\"\n"));
    // In a network of its own, which the command may change.
    let follow = r#"ip link set lo up || exit 77
        "$0" node check "$1" 2>&1 >/dev/null | sed -n 's/.*`\(.*\)`.*/\1/p' > "$1.advice"
        [ -s "$1.advice" ] && sh -ex "$1.advice" && "$0" node check "$1""#;
    let mut command = Command::new("unshare");
    command.args([
        "--net",
        "--map-root-user",
        "sh",
        "-c",
        follow,
        env!("CARGO_BIN_EXE_midpathd"),
        &folder.config("node"),
    ]);
    match command.output() {
        Ok(done) if done.status.success() => assert!(text(&done.stderr).contains("ip route add local"), "{done:?}"),
        Ok(done) if done.status.code() != Some(77) && !text(&done.stderr).contains("unshare:") => panic!("{done:?}"),
        lacking => ignore(format!("needs unshare and ip: {lacking:?}")),
    }
}

midpath_testing::tests!(
    a_check_changes_nothing,
    a_check_works_on_a_read_only_file_system,
    no_command_removes_what_is_not_ours,
    a_configuration_that_names_its_own_files_keeps_them,
    a_fetch_that_fails_leaves_the_file,
    a_check_of_what_runs_says_what_would_change,
    what_is_advised_for_a_key_that_others_can_read_works,
    what_is_advised_for_addresses_that_are_not_routed_here_works,
);
