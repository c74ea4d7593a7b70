//! `midpathd rpm` in network namespaces: what it leaves behind, above all when something goes
//! wrong.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use midpath_testing::ignore;
use serde_json::Value;

/// Two namespaces, joined by a veth pair; they go when this value goes.
struct Lab {
    here: String,
    there: String,
}

impl Lab {
    /// The test is ignored where it cannot have one.
    fn new() -> Lab {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("mptest{}-{number}{side}", std::process::id());
        let lab = Lab { here: name("a"), there: name("b") };
        if let Err(why) = lab.build() {
            ignore(why);
        }
        // The carrier comes a moment later, and is part of the state that tests compare.
        for _ in 0..1000 {
            if lab.state().contains("state UP") {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        lab
    }

    fn build(&self) -> Result<(), String> {
        let run = |command: &str| {
            let mut words = command.split_whitespace();
            let program = words.next().expect("a program");
            let done = Command::new(program).args(words).output().map_err(|e| format!("needs {program}: {e}"))?;
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            if done.status.success() {
                Ok(())
            } else {
                Err(format!("needs root, network namespaces, clsact and tbf; {command}: {said}"))
            }
        };
        let (here, there) = (&self.here, &self.there);
        run("tc -V")?;
        run("nsenter -V")?;
        run(&format!("ip netns add {here}"))?;
        run(&format!("ip netns add {there}"))?;
        run(&format!("ip link add dev0 netns {here} type veth peer name dev0 netns {there}"))?;
        for (space, host) in [(here, 1), (there, 2)] {
            run(&format!("ip -n {space} address add 192.0.2.{host}/24 dev dev0"))?;
            run(&format!("ip -n {space} link set dev0 up"))?;
            run(&format!("ip -n {space} link set lo up"))?;
        }
        // What RPM is made of. Where the kernel has all of it, but refuses ours, that is no reason
        // to skip.
        midpath_ebpf::rpm().map_err(|why| why.to_string())?;
        midpath_ebpf::unsupported().map_or(Ok(()), Err)?;
        run(&format!("tc -n {here} qdisc add dev dev0 clsact"))?;
        run(&format!("tc -n {here} qdisc delete dev dev0 clsact"))?;
        run(&format!("tc -n {here} qdisc add dev dev0 root tbf rate 1mbit burst 5kb limit 50kb"))?;
        run(&format!("tc -n {here} qdisc delete dev dev0 root"))
    }

    fn within(&self, program: &str) -> Command {
        // `ip netns exec` would mount a file system of its own each time.
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.here)).arg(program);
        command
    }

    fn midpathd(&self, arguments: &[&str], environment: &[(&str, String)]) -> Output {
        let mut command = self.within(env!("CARGO_BIN_EXE_midpathd"));
        command.arg("rpm").args(arguments).envs(environment.iter().map(|(k, v)| (k, v))).output().unwrap()
    }

    /// As it succeeds, and what it says.
    fn does(&self, arguments: &[&str]) -> String {
        let done = self.midpathd(arguments, &[]);
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    fn up(&self, more: &[&str]) -> String {
        self.does(&[&["up", "--dev", "dev0", "--rate", "50Mbps"], more].concat())
    }

    fn tool(&self, program: &str, arguments: &str) -> String {
        let done = self.within(program).args(arguments.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "{program} {arguments}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    /// Devices, qdiscs and filters, as tools see them.
    fn state(&self) -> String {
        let show = "ip -o link; tc qdisc; tc filter show dev dev0 ingress; tc filter show dev dev0 egress";
        let done = self.within("sh").args(["-ec", show]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    }

    fn reaches(&self) -> bool {
        // Where nobody listens the kernel itself answers.
        let probe = "exec 3<>/dev/tcp/192.0.2.2/9";
        let done = self.within("bash").args(["-c", probe]).output().unwrap();
        text(&done.stderr).contains("Connection refused")
    }

    /// Whether a transfer of 300 kB arrives, in full packets of whatever the MTU is.
    fn carries(&self) -> bool {
        const SERVER: &str = "import socket; s = socket.create_server(('192.0.2.2', 0)); print(s.getsockname()[1], flush=True); \
            c = s.accept()[0]; c.settimeout(5); n = 0\n\
            while d := c.recv(1 << 20): n += len(d)\n\
            c.sendall(str(n).encode())";
        const CLIENT: &str = "import socket, sys; c = socket.create_connection(('192.0.2.2', int(sys.argv[1])), 5); \
            c.sendall(bytes(300_000)); c.shutdown(1); print(c.recv(20).decode())";
        let mut server = Command::new("nsenter");
        server.arg(format!("--net=/run/netns/{}", self.there)).args(["python3", "-c", SERVER]);
        let mut server =
            server.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut port).unwrap();
        let done = self.within("python3").args(["-c", CLIENT, port.trim()]).output().unwrap();
        let _ = server.kill();
        server.wait().unwrap();
        text(&done.stdout).trim() == "300000"
    }

    fn status(&self) -> Value {
        let found: Value = serde_json::from_str(&self.does(&["status", "--json"])).unwrap();
        found["devices"][0].clone()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for space in [&self.here, &self.there] {
            let _ = Command::new("ip").args(["netns", "delete", space]).output();
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn up_and_down_leave_a_device_as_it_was() {
    let lab = Lab::new();
    let before = lab.state();
    assert_eq!(lab.up(&[]), "RPM is on: dev0 at 50 Mbps\n");
    assert!(lab.reaches());
    assert!(lab.status()["counters"]["packets"].as_u64() > Some(0));
    assert_eq!(lab.does(&["down"]), "RPM is off: dev0\n");
    assert_eq!(lab.state(), before);
    assert!(lab.reaches());
    assert_eq!(lab.does(&["down"]), "RPM was not on\n");
    assert_eq!(lab.does(&["down", "--dev", "dev0"]), "RPM was not on for dev0\n");
    assert_eq!(lab.does(&["status"]), "RPM is off\n");
}

fn up_again_is_harmless_or_changes_what_runs() {
    let lab = Lab::new();
    let before = lab.state();
    lab.up(&[]);
    assert!(lab.reaches());
    let on = lab.state();
    assert_eq!(lab.up(&[]), "RPM is on already: dev0 at 50 Mbps\n");
    assert_eq!(lab.state(), on);

    // Another mode and buffer: programs and counters stay.
    let packets = lab.status()["counters"]["packets"].as_u64();
    assert_eq!(lab.up(&["--mode", "fwd", "--buffer", "100ms"]), "RPM is changed: dev0 at 50 Mbps\n");
    let changed = lab.status();
    assert_eq!(changed["mode"], "fwd");
    assert!(changed["counters"]["packets"].as_u64() >= packets && packets > Some(0));
    assert!(lab.tool("tc", "-r qdisc show").contains("limit 625000b") || changed["buffer_bytes"] == 625_000);

    // Other registers: a new start. The kernel's own packets (neighbours' discovery) may come in between.
    assert!(lab.reaches() && lab.reaches());
    let packets = lab.status()["counters"]["packets"].as_u64();
    lab.up(&["--flows", "1000"]);
    let restarted = lab.status();
    assert_eq!(restarted["registers"]["total"], 1024);
    assert!(restarted["counters"]["packets"].as_u64() < packets, "{restarted} after {packets:?}");
    assert!(lab.reaches());
    lab.does(&["down"]);
    assert_eq!(lab.state(), before);
}

fn a_step_that_fails_is_undone() {
    let lab = Lab::new();
    let before = lab.state();
    let mut steps = 0;
    loop {
        steps += 1;
        let fail = [("MIDPATHD_TEST_FAIL_AT", steps.to_string())];
        let done = lab.midpathd(&["up", "--dev", "dev0", "--rate", "50Mbps"], &fail);
        if done.status.success() {
            break;
        }
        assert_eq!(done.status.code(), Some(1));
        let said = text(&done.stderr);
        assert!(said.starts_with("midpathd: ") && said.lines().count() == 1, "{said}");
        assert_eq!(lab.state(), before, "step {steps}");
        assert!(lab.reaches(), "step {steps}");
    }
    assert!(steps > 10, "only {steps} steps could fail");
}

fn what_a_crash_leaves_is_found_and_taken_away() {
    let lab = Lab::new();
    let before = lab.state();
    let die = |step: u32| [("MIDPATHD_TEST_DIE_AT", step.to_string())];
    let mut steps = 0;
    loop {
        steps += 1;
        let done = lab.midpathd(&["up", "--dev", "dev0", "--rate", "50Mbps"], &die(steps));
        assert!(lab.reaches(), "step {steps}");
        if done.status.success() {
            break;
        }
        // Before a pair says what it is for, it is named after its device: `up` must not stumble
        // over it.
        lab.up(&[]);
        assert!(lab.reaches(), "step {steps}");
        lab.does(&["down"]);
        assert_eq!(lab.state(), before, "step {steps}");
    }
    // And in the middle of going down.
    let mut steps = 0;
    loop {
        steps += 1;
        lab.up(&[]);
        let done = lab.midpathd(&["down"], &die(steps));
        assert!(lab.reaches(), "step {steps} of down");
        if done.status.success() {
            break;
        }
        lab.does(&["down"]);
        assert!(lab.reaches());
    }
    assert!(steps > 3, "only {steps} steps");
}

fn a_clsact_that_was_there_stays() {
    let lab = Lab::new();
    lab.tool("tc", "qdisc add dev dev0 clsact");
    lab.tool("tc", "filter add dev dev0 egress prio 1 protocol ip u32 match u32 0 0 flowid 1:1");
    let before = lab.state();
    lab.up(&[]);
    lab.does(&["down"]);
    assert_eq!(lab.state(), before);

    // One that RPM made stays, too, once somebody else has put a filter on it.
    lab.tool("tc", "qdisc delete dev dev0 clsact");
    lab.up(&[]);
    lab.tool("tc", "filter add dev dev0 ingress prio 9 protocol ip u32 match u32 0 0 flowid 1:1");
    lab.does(&["down"]);
    assert!(lab.state().contains("u32"));
}

fn a_device_that_goes_away_and_comes_back() {
    let lab = Lab::new();
    lab.tool("ip", "link add other type veth peer name rehto");
    lab.does(&["up", "--dev", "other", "--rate", "1Gbps"]);
    lab.tool("ip", "link delete other");
    let status = lab.does(&["status"]);
    assert!(status.contains("other: half set up"), "{status}");
    lab.tool("ip", "link add other type veth peer name rehto");
    assert_eq!(lab.does(&["up", "--dev", "other", "--rate", "1Gbps"]), "RPM is on: other at 1 Gbps\n");
    lab.tool("ip", "link delete other");
    lab.does(&["down"]);
    assert!(!lab.state().contains("mpq"));
}

fn a_renamed_device_is_still_known() {
    let lab = Lab::new();
    lab.up(&[]);
    lab.tool("ip", "link set dev0 down");
    lab.tool("ip", "link set dev0 name wan");
    lab.tool("ip", "link set wan up");
    lab.does(&["down", "--dev", "wan"]);
    assert_eq!(lab.does(&["status"]), "RPM is off\n");
}

fn no_change_of_a_device_loses_what_it_would_carry_alone() {
    let lab = Lab::new();
    lab.up(&[]);
    assert!(lab.carries());
    assert_eq!(lab.status()["changed"].as_array().map(Vec::len), Some(0));
    let both = |arguments: &str| {
        lab.tool("ip", arguments);
        let done = Command::new("ip").args(["-n", &lab.there]).args(arguments.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    };
    // A shaper with a burst of 1,500 bytes dropped each packet of 9,000, and so the connection.
    both("link set dev0 mtu 9000");
    assert!(lab.carries(), "a larger MTU");
    let said = lab.does(&["status"]);
    assert!(said.contains("the MTU was 1500 at `up` and is now 9000"), "{said}");
    assert!(lab.status()["counters"]["too_long"].as_u64() > Some(0));
    assert_eq!(lab.up(&[]), "RPM is changed: dev0 at 50 Mbps\n");
    let before = lab.status()["counters"]["too_long"].as_u64();
    assert!(lab.carries());
    assert_eq!(lab.status()["counters"]["too_long"].as_u64(), before, "shaped again");
    both("link set dev0 mtu 1280");
    assert!(lab.carries(), "a smaller MTU");
    assert!(lab.does(&["status"]).contains("is now 1280"));

    // The kernel takes a second address of the network away with the first.
    lab.tool("ip", "address delete 192.0.2.1/24 dev dev0");
    lab.tool("ip", "address add 192.0.2.9/24 dev dev0");
    lab.tool("tc", "qdisc replace dev dev0 root pfifo limit 50");
    assert!(lab.carries(), "addresses and the device's own qdisc");
    lab.does(&["up", "--dev", "dev0", "--rate", "5Mbps"]);
    assert!(lab.carries(), "another rate");
    lab.tool("ip", "link set dev0 down");
    lab.tool("ip", "link set dev0 name wan");
    lab.tool("ip", "link set wan up");
    assert!(lab.carries(), "another name");
    let said = lab.does(&["status", "--dev", "wan"]);
    assert!(said.contains("the device is now named wan"), "{said}");
    let offloads = ["tx", "sg", "tso", "gso", "gro"];
    // It is nsenter that runs it, and that says where there is none.
    let found = lab.within("ethtool").arg("--version").output().unwrap();
    if !found.status.success() {
        ignore(format!("offloads are not changed: {}", text(&found.stderr)));
    }
    for (offload, to) in offloads.iter().flat_map(|name| [(name, "off"), (name, "on")]) {
        lab.tool("ethtool", &format!("-K wan {offload} {to}"));
        assert!(lab.carries(), "{offload} {to}");
    }
}

fn several_ups_at_once_take_turns() {
    let lab = Lab::new();
    let up = || {
        let mut command = lab.within(env!("CARGO_BIN_EXE_midpathd"));
        command.args(["rpm", "up", "--dev", "dev0", "--rate", "50Mbps"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(|_| up()).collect();
    let said: Vec<Output> = all.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert!(said.iter().all(|done| done.status.success()), "{said:?}");
    assert_eq!(said.iter().filter(|done| text(&done.stdout).starts_with("RPM is on: ")).count(), 1);
    assert!(lab.reaches());
}

fn devices_do_not_disturb_each_other() {
    let lab = Lab::new();
    lab.tool("ip", "link add other type veth peer name rehto");
    lab.tool("ip", "link set other up");
    lab.up(&[]);
    lab.does(&["up", "--dev", "other", "--rate", "1Gbps", "--mode", "fwd"]);
    lab.does(&["down", "--dev", "other"]);
    assert_eq!(lab.status()["device"], "dev0");
    assert!(lab.reaches());
    let error = lab.midpathd(&["up", "--dev", "mpq2", "--rate", "1Gbps"], &[]);
    assert_eq!(error.status.code(), Some(2));
}

fn each_impossible_thing_gets_one_line() {
    let lab = Lab::new();
    let refused = |arguments: &[&str], code, says: &str| {
        let done = lab.midpathd(arguments, &[]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(says) && said.trim().lines().count() == 1, "{said}");
    };
    refused(&["up", "--dev", "eth9", "--rate", "1Gbps"], 2, "--dev eth9: there is no such device; there are lo, dev0");
    refused(&["up", "--dev", "lo", "--rate", "1Gbps"], 2, "neither Ethernet nor a tunnel");
    refused(&["up", "--dev", "dev0", "--rate", "1bps"], 2, "--rate 1 bps: must be from 8 kbps");
    for command in ["status", "down"] {
        refused(&[command, "--dev", "eth9"], 2, "--dev eth9: there is no such device; there are lo, dev0");
    }
    refused(&["metrics", "--listen", "nowhere"], 1, "--listen nowhere");
    lab.tool("tc", "qdisc add dev dev0 ingress");
    refused(&["up", "--dev", "dev0", "--rate", "1Gbps"], 1, "tc qdisc del dev dev0 ingress");
    let words = lab.midpathd(&["up", "--dev", "dev0", "--rate", "fast"], &[]);
    assert!(words.status.code() == Some(2) && text(&words.stderr).contains("`fast` is not a rate; write"));
    let bytes = lab.midpathd(&["up", "--dev", "dev0", "--rate", "95MBps"], &[]);
    assert!(bytes.status.code() == Some(2) && text(&bytes.stderr).contains("the unit is spelled Mbps"));
}

fn without_privilege_there_is_one_line() {
    let lab = Lab::new();
    let mut command = lab.within("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", "--bounding-set=-all", env!("CARGO_BIN_EXE_midpathd")]);
    let done = command.args(["rpm", "up", "--dev", "dev0", "--rate", "1Gbps"]).output().unwrap();
    let said = text(&done.stderr);
    if said.contains("setpriv:") || said.contains("midpathd:") && said.contains("No such file") {
        ignore(said);
    }
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("root") && said.trim().lines().count() == 1, "{said}");
}

/// As systemd starts it: with these capabilities, no new ones, and `OPTIONS` of the file in dist.
fn the_units_rights_are_enough() {
    let lab = Lab::new();
    let unit = include_str!("../../dist/midpathd-rpm@.service");
    let of = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).expect("the unit has it");
    let capabilities: Vec<String> =
        of("CapabilityBoundingSet=").split(' ').map(|name| name.replace("CAP_", "+").to_lowercase()).collect();
    let options = include_str!("../../dist/rpm-eth0.conf").lines().find_map(|line| line.strip_prefix("OPTIONS="));
    for key in ["ExecStart=", "ExecReload=", "ExecStop="] {
        let line = of(key).replace("%I", "dev0").replace("$OPTIONS", options.expect("options"));
        let words = line.split_whitespace().skip(1);
        let mut command = lab.within("setpriv");
        command.arg(format!("--bounding-set=-all,{}", capabilities.join(","))).arg("--no-new-privs");
        let done = command.arg(env!("CARGO_BIN_EXE_midpathd")).args(words).output().unwrap();
        assert!(done.status.success(), "{key} {line}: {}", text(&done.stderr));
        assert!(lab.reaches());
    }
    assert_eq!(lab.does(&["status"]), "RPM is off\n");
}

/// A server of metrics with a command in front of it; it goes with the value.
struct Served<'a> {
    lab: &'a Lab,
    process: std::process::Child,
    port: String,
}

impl Served<'_> {
    fn new<'a>(lab: &'a Lab, within: &[String]) -> Result<Served<'a>, String> {
        use std::io::{BufRead, BufReader};
        let words = [within, &[env!("CARGO_BIN_EXE_midpathd").to_owned()]].concat();
        let mut command = lab.within(&words[0]);
        command.args(&words[1..]).args(["rpm", "metrics", "--listen", "127.0.0.1:0"]);
        let mut process = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let port = said.rsplit_once(":").and_then(|(_, rest)| rest.split_once('/')).map(|(port, _)| port.to_owned());
        let served = Served { lab, process, port: port.unwrap_or_default() };
        if served.port.is_empty() { Err(said) } else { Ok(served) }
    }

    fn get(&self, path: &str) -> String {
        let port = &self.port;
        let ask =
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3");
        text(&self.lab.within("bash").args(["-c", &ask]).output().unwrap().stdout)
    }

    /// Lines of /proc/…/status of the process that answers, which has threads of its own for nothing.
    fn has(&self, line: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        status.lines().any(|has| has == line)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Who answers has no right at all, whether root starts it or the unit, as a user without rights that has one
/// capability.
fn metrics_are_served_without_rights() {
    let lab = Lab::new();
    lab.up(&[]);
    let unit = include_str!("../../dist/midpathd-rpm-metrics.service");
    let rights = unit.lines().find_map(|line| line.strip_prefix("AmbientCapabilities=")).expect("the unit has it");
    assert!(unit.contains("DynamicUser=yes") && unit.contains(&format!("CapabilityBoundingSet={rights}\n")));
    let user = |capabilities: &str| -> Vec<String> {
        let [ambient, bounds] = ["", "-all,"].map(|all| format!("{all}{capabilities}"));
        let words = format!(
            "setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps {ambient} --ambient-caps \
             {ambient} --bounding-set={bounds}"
        );
        words.split_whitespace().map(str::to_owned).collect()
    };
    let rights = rights.replace("CAP_", "+").replace(' ', ",").to_lowercase();
    for within in [Vec::new(), user(&rights)] {
        let served = match Served::new(&lab, &within) {
            Err(said) if said.contains("setpriv:") => ignore(said),
            served => served.unwrap(),
        };
        let answer = served.get("/metrics");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("midpath_rpm_up{device=\"dev0\"} 1"), "{answer}");
        assert!(answer.contains("\nmidpath_rpm_packets_total{device=\"dev0\"} "), "{answer}");
        assert!(served.get("/other").starts_with("HTTP/1.1 404"));
        assert!(served.has("Uid:\t65534\t65534\t65534\t65534") && served.has("Threads:\t1"));
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert!(served.has(&format!("{set}:\t0000000000000000")), "{set}");
        }
    }
    // Less than that is not enough for this kernel, and the answer says so.
    if let Ok(served) = Served::new(&lab, &user("+bpf,+perfmon,+net_admin")) {
        let answer = served.get("/metrics");
        println!("without CAP_SYS_ADMIN: {}", answer.lines().last().unwrap_or_default());
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    }
}

midpath_testing::tests!(
    up_and_down_leave_a_device_as_it_was,
    up_again_is_harmless_or_changes_what_runs,
    a_step_that_fails_is_undone,
    what_a_crash_leaves_is_found_and_taken_away,
    a_clsact_that_was_there_stays,
    a_device_that_goes_away_and_comes_back,
    a_renamed_device_is_still_known,
    no_change_of_a_device_loses_what_it_would_carry_alone,
    several_ups_at_once_take_turns,
    devices_do_not_disturb_each_other,
    each_impossible_thing_gets_one_line,
    without_privilege_there_is_one_line,
    the_units_rights_are_enough,
    metrics_are_served_without_rights,
);
