//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::log::Log;
use crate::quantity::{rate_bps, time_ns};

/// Midpath on a Linux router.
#[derive(Debug, Parser)]
#[command(name = "midpathd", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Of what runs.
    #[command(flatten)]
    pub log: Log,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reverse Path congestion Marking: tell senders of congestion by the ACKs that pass here.
    #[command(subcommand)]
    Rpm(Rpm),
    /// A node of a simulated network on a real one: connections go through its scheme.
    #[command(subcommand)]
    Node(Node),
    /// An NDN forwarder, to which applications of NDN connect.
    #[command(subcommand)]
    Ndn(Ndn),
}

/// A forwarder's commands.
#[derive(Debug, Subcommand)]
pub enum Ndn {
    /// Run the forwarder, until `down`.
    Up {
        /// Its configuration.
        config: PathBuf,
    },
    /// Say what is wrong with a configuration, or would change in what runs; nothing is started or changed.
    Check {
        /// The configuration.
        config: PathBuf,
    },
    /// Show what a running forwarder has to say, as JSON.
    Status {
        /// Its configuration.
        config: PathBuf,
    },
    /// Stop a running forwarder.
    Down {
        /// Its configuration.
        config: PathBuf,
    },
    /// Fetch an object through the forwarder of this machine, to standard output.
    Fetch {
        /// Its name, such as /a/file: the newest version below it, in segments or in one piece.
        name: String,
        /// The forwarder, as unix:///path or tcp4://address:port; NDN_CLIENT_TRANSPORT unless given.
        #[arg(long, value_name = "URI")]
        forwarder: Option<String>,
        /// The file that it is written to.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Interests under way at most.
        #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=65_536))]
        window: u64,
        /// A file with the key that Data are signed by (HMAC with SHA-256); others are refused.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// A file with the producer's certificate (RSA, ECDSA or Ed25519), as ndnsec cert-dump prints it;
        /// Data that its key has not signed are refused.
        #[arg(long, value_name = "FILE", conflicts_with = "key")]
        certificate: Option<PathBuf>,
    },
    /// Serve what a running forwarder has to say to Prometheus, at /metrics.
    Metrics {
        /// Its configuration.
        config: PathBuf,
        /// Address and port. Whoever can reach it can read it.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9468")]
        listen: String,
    },
}

/// A node's commands.
#[derive(Debug, Subcommand)]
pub enum Node {
    /// Run the node, until `down`.
    Up {
        /// Its configuration.
        config: PathBuf,
    },
    /// Say what is wrong with a configuration, or would change in what runs; nothing is started or changed.
    Check {
        /// The configuration.
        config: PathBuf,
    },
    /// Show what a running node has to say, as JSON.
    Status {
        /// Its configuration.
        config: PathBuf,
    },
    /// Stop a running node: its connections are reset.
    Down {
        /// Its configuration.
        config: PathBuf,
    },
    /// Let a running node read its configuration again: neighbours' keys, addresses and rates, its own
    /// key, and what it connects to for others. Connections stay.
    Reload {
        /// Its configuration.
        config: PathBuf,
    },
    /// Serve what a running node has to say to Prometheus, at /metrics.
    Metrics {
        /// Its configuration.
        config: PathBuf,
        /// Address and port. Whoever can reach it can read it.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9467")]
        listen: String,
    },
    /// Make a key, and show the public half for neighbours' configurations.
    Key {
        /// The file that it is written to.
        file: PathBuf,
    },
}

/// RPM's commands.
#[derive(Debug, Subcommand)]
pub enum Rpm {
    /// Shape what leaves through a device, and mark where its queue grows.
    Up(Up),
    /// Turn it off; the device is as it was before.
    Down {
        /// The device; all that RPM is on for, unless given.
        #[arg(long, value_name = "DEV")]
        dev: Option<String>,
    },
    /// Show what was sent, how long it waited, and what was marked.
    Status {
        /// The device; all that RPM is on for, unless given.
        #[arg(long, value_name = "DEV")]
        dev: Option<String>,
        /// For machines: one JSON object a line.
        #[arg(long)]
        json: bool,
        /// Again and again.
        #[arg(long)]
        watch: bool,
        /// How often with --watch.
        #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = "1s", requires = "watch")]
        every: u64,
    },
    /// Serve the same to Prometheus, at /metrics.
    Metrics {
        /// Address and port. Whoever can reach it can read it.
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9466")]
        listen: String,
    },
    /// What `metrics` starts: reads the kernel's maps for it.
    #[command(hide = true)]
    Reader,
}

impl Rpm {
    /// How often `status` prints; once without --watch.
    pub fn interval(watch: bool, every: u64) -> Option<Duration> {
        watch.then(|| Duration::from_nanos(every.max(10_000_000)))
    }
}

/// Options of `up`.
#[derive(Debug, Args)]
pub struct Up {
    /// The device whose outgoing traffic is shaped: the one towards the bottleneck.
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// The bottleneck's rate, a little less than the line's, so that the queue is here.
    #[arg(long, value_name = "RATE", value_parser = rate_bps)]
    pub rate: u64,
    /// How congestion is found.
    #[arg(long, value_enum, default_value = "codel")]
    pub aqm: AqmName,
    /// CoDel's target, or the step's threshold.
    #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = "5ms")]
    pub target: u64,
    /// CoDel's interval: about the longest usual round trip.
    #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = "100ms")]
    pub interval: u64,
    /// Which way signals go: in ACKs (rpm), in data packets (fwd), both, or nowhere (off).
    #[arg(long, value_enum, default_value = "rpm")]
    pub mode: ModeName,
    /// Registers; a power of two is taken. Flows beyond them are marked forward.
    #[arg(long, value_name = "COUNT", default_value_t = 65_536)]
    pub flows: u32,
    /// One register for all flows.
    #[arg(long)]
    pub aggregate: bool,
    /// How long a packet may wait.
    #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = "200ms")]
    pub buffer: u64,
    /// A flow none of whose packets came back for so long is marked forward.
    #[arg(long, value_name = "TIME", value_parser = time_ns, default_value = "1s")]
    pub ack_timeout: u64,
    /// Signals that a register holds.
    #[arg(long, value_name = "COUNT", default_value_t = 65_535)]
    pub register_max: u16,
    /// Packets whose TCP numbers are more MiB than this from the flow's last ACK are taken for a
    /// stranger's: they change nothing, and their signals go forward. 0: none are.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(..1024))]
    pub window: u32,
    /// Registers with an owner, or the published algorithm to the letter (for experiments:
    /// collisions mark other flows).
    #[arg(long, value_enum, default_value = "guarded")]
    pub registers: RegistersName,
}

/// `--aqm`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AqmName {
    /// RFC 8289.
    Codel,
    /// CoDel as a P4 switch runs it.
    CodelDataplane,
    /// Every packet that waited longer than the target.
    Step,
}

/// `--mode`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ModeName {
    /// In ACKs.
    Rpm,
    /// In data packets.
    Fwd,
    /// Both.
    Both,
    /// Nowhere.
    Off,
}

/// `--registers`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RegistersName {
    /// With an owner.
    Guarded,
    /// Algorithm 1.
    Plain,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_manuals_have_every_command_and_option() {
        for (name, manual) in [
            ("rpm", include_str!("../dist/midpathd-rpm.8")),
            ("node", include_str!("../dist/midpathd-node.8")),
            ("ndn", include_str!("../dist/midpathd-ndn.8")),
        ] {
            let manual = manual.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
            let cli = Cli::command();
            for option in cli.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(manual.contains(&format!("--{option}")), "--{option}");
            }
            let commands = cli.find_subcommand(name).expect("it is there");
            for command in commands.get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(manual.contains(&format!("midpathd {name} {}", command.get_name())), "{}", command.get_name());
                for option in command.get_arguments().filter_map(clap::Arg::get_long).filter(|name| *name != "help") {
                    assert!(manual.contains(&format!("--{option}")), "--{option}");
                }
            }
        }
    }
}
