//! Programs of somebody else, at hosts of the network: started with the run, ended with it.

#![expect(clippy::disallowed_methods, reason = "real programs take real time")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use midpath_core::units::Time;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is kept of a program's output; ours.
const MOST_OUTPUT: u64 = 16 << 20;
/// How long a server may take until a socket of its namespace listens; ours.
const PATIENCE: Duration = Duration::from_secs(5);
/// From SIGTERM to SIGKILL; ours.
const GRACE: Duration = Duration::from_secs(1);
const NAP: Duration = Duration::from_millis(10);
/// After the last program's end packets that it sent may still arrive: this long at least, and at most.
const LINGER: (Time, Time) = (Time::from_ms(20), Time::from_secs(1));

/// What is to run.
#[derive(Debug, Clone, Deserialize)]
pub struct Program {
    /// At which node.
    pub host: usize,
    /// Its name and arguments.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub directory: String,
    /// The file that its output goes to.
    pub output: String,
    /// It runs until the others have ended, and listens before they begin.
    pub serves: bool,
}

/// One that has been started, or could not be.
#[derive(Debug, Default)]
struct Running {
    child: Option<Child>,
    /// Can be read when it has ended; gone from then on.
    descriptor: Option<OwnedFd>,
    output: Option<JoinHandle<()>>,
    started: Option<Time>,
    ended: Option<Time>,
    status: Option<ExitStatus>,
    error: Option<String>,
    /// It ran until we ended it.
    stopped: bool,
    /// The congestion control that its TCP begins with.
    tcp: Option<String>,
}

/// All of a run.
#[derive(Debug)]
pub struct Programs<'a> {
    wanted: &'a [Program],
    all: Vec<Running>,
    /// When the last of those that others do not wait for has ended.
    over: Option<Time>,
}

impl<'a> Programs<'a> {
    /// None of them runs yet.
    pub fn new(wanted: &'a [Program]) -> Programs<'a> {
        Programs { wanted, all: wanted.iter().map(|_| Running::default()).collect(), over: None }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Starts the servers one after the other, each when the one before has a socket that listens; `enter` moves this
    /// thread to a host.
    pub fn serve(&mut self, enter: &dyn Fn(usize) -> io::Result<()>) -> io::Result<()> {
        for i in (0..self.wanted.len()).filter(|i| self.wanted[*i].serves) {
            enter(self.wanted[i].host)?;
            let before = listening();
            self.start(i, Time::ZERO);
            let until = Instant::now() + PATIENCE;
            while listening().is_subset(&before) && Instant::now() < until {
                self.look(i, Time::ZERO);
                let Running { error, status, .. } = &self.all[i];
                let why = error.clone().or_else(|| status.map(|status| format!("ended ({status})")));
                if let Some(why) = why {
                    return Err(io::Error::other(format!("{}: {why}, before it listened", self.wanted[i].command[0])));
                }
                thread::sleep(NAP);
            }
        }
        Ok(())
    }

    /// Starts the others.
    pub fn begin(&mut self, enter: &dyn Fn(usize) -> io::Result<()>, now: Time) -> io::Result<()> {
        for i in (0..self.wanted.len()).filter(|i| !self.wanted[*i].serves) {
            enter(self.wanted[i].host)?;
            self.start(i, now);
        }
        Ok(())
    }

    /// What can be read when a program has ended.
    pub fn descriptors(&self) -> impl Iterator<Item = &OwnedFd> {
        self.all.iter().filter_map(|one| one.descriptor.as_ref())
    }

    /// If it is a program that this descriptor is about, notes its end.
    pub fn ended(&mut self, descriptor: RawFd, now: Time) -> bool {
        let mine = |one: &Running| one.descriptor.as_ref().is_some_and(|of| of.as_raw_fd() == descriptor);
        let Some(i) = self.all.iter().position(mine) else { return false };
        self.look(i, now);
        true
    }

    /// Whether the run is over: all that do not serve have ended, and nothing is on the way from them.
    pub fn are_over(&mut self, now: Time, on_the_way: usize) -> bool {
        let mut clients = self.wanted.iter().zip(&self.all).filter(|(wanted, _)| !wanted.serves).peekable();
        if clients.peek().is_none() || !clients.all(|(_, one)| one.status.is_some() || one.error.is_some()) {
            return false;
        }
        let since = now.saturating_sub(*self.over.get_or_insert(now));
        since >= LINGER.1 || since >= LINGER.0 && on_the_way == 0
    }

    /// When [`Programs::are_over`] may change by itself.
    pub fn next_wake(&self, now: Time) -> Time {
        self.over.map_or(Time::MAX, |_| now.saturating_add(Time::from_ms(5)))
    }

    /// Ends those that still run: a polite signal, then one that nobody survives.
    pub fn stop(&mut self, now: Time) {
        for one in self.all.iter_mut().filter(|one| one.child.is_some()) {
            one.stopped = one.status.is_none();
        }
        for signal in [Signal::TERM, Signal::KILL] {
            // What it has left in its group, too.
            self.all.iter().filter_map(|one| one.child.as_ref()).for_each(|child| to_group(child, signal));
            let until = Instant::now() + GRACE;
            while Instant::now() < until {
                (0..self.all.len()).for_each(|i| self.look(i, now));
                if self.all.iter().all(|one| one.child.is_none() || one.status.is_some()) {
                    break;
                }
                thread::sleep(NAP);
            }
        }
        let until = Instant::now() + GRACE;
        while self.all.iter().any(|one| one.output.as_ref().is_some_and(|it| !it.is_finished()))
            && Instant::now() < until
        {
            thread::sleep(NAP);
        }
    }

    /// What became of them.
    pub fn to_json(&self) -> Value {
        let rows = self.wanted.iter().zip(&self.all).map(|(wanted, one)| {
            json!({
                "host": wanted.host, "started_s": one.started.map(Time::as_secs_f64),
                "ended_s": one.ended.map(Time::as_secs_f64), "exit": one.status.and_then(|status| status.code()),
                "signal": one.status.and_then(|status| status.signal()), "stopped": one.stopped, "error": one.error,
                "tcp": one.tcp,
            })
        });
        rows.collect()
    }

    fn start(&mut self, i: usize, now: Time) {
        self.all[i].started = Some(now);
        let tcp = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        self.all[i].tcp = tcp.ok().map(|name| name.trim().to_owned());
        match start(&self.wanted[i]) {
            Ok((child, descriptor, output)) => {
                let one = &mut self.all[i];
                (one.child, one.descriptor, one.output) = (Some(child), Some(descriptor), Some(output));
            }
            Err(error) => self.all[i].error = Some(format!("cannot be started: {error}")),
        }
    }

    fn look(&mut self, i: usize, now: Time) {
        let one = &mut self.all[i];
        if one.status.is_some() {
            return;
        }
        if let Some(child) = &mut one.child
            && let Ok(Some(status)) = child.try_wait()
        {
            (one.status, one.ended, one.descriptor) = (Some(status), Some(now), None);
        }
    }
}

/// Starts a program in this thread's namespace, as the leader of a group of its own.
fn start(program: &Program) -> io::Result<(Child, OwnedFd, JoinHandle<()>)> {
    let file = File::options().append(true).create(true).open(&program.output)?;
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(&program.command[0]);
    command.args(&program.command[1..]).env_clear().envs(&program.environment).current_dir(&program.directory);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    let mut child = command.spawn()?;
    drop(command);
    let descriptor = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    };
    let output = thread::Builder::new().spawn(move || keep(reader, file))?;
    Ok((child, descriptor, output))
}

/// Writes what a program says into a file, as far as that is kept. Whoever says more is not held up.
fn keep(mut from: PipeReader, mut to: File) {
    let (mut room, mut left) = (vec![0; 64 << 10], MOST_OUTPUT);
    while let Ok(got) = from.read(&mut room) {
        if got == 0 {
            return;
        }
        let kept = left.min(got as u64) as usize;
        if to.write_all(&room[..kept]).is_err() {
            left = 0;
        }
        if left > 0 && kept < got {
            let _ = writeln!(to, "\n[midpath: more than {} MiB of output are not kept]", MOST_OUTPUT >> 20);
        }
        left = left.saturating_sub(got as u64);
    }
}

/// The sockets of this thread's namespace that wait for others: TCP's that listen, UDP's that are bound.
fn listening() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            // proc(5): number, local address, remote address, state; TCP_LISTEN is 0A.
            let mut words = line.split_whitespace().skip(1);
            let (Some(local), Some(_), Some(state)) = (words.next(), words.next(), words.next()) else { continue };
            if name.starts_with("udp") || state == "0A" {
                found.insert(format!("{name} {local}"));
            }
        }
    }
    found
}

fn to_group(leader: &Child, signal: Signal) {
    // The leader's number stays the group's while anything of it runs; an error says that nothing does.
    let _ = kill_process_group(Pid::from_child(leader), signal);
}
