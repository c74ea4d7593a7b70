//! Tools of the laboratory, which `midpath lab` starts: links in user space, and the ends of flows.

#[cfg(target_os = "linux")]
mod budget;
#[cfg(target_os = "linux")]
mod conversations;
#[cfg(target_os = "linux")]
mod emulated;
#[cfg(target_os = "linux")]
mod emulated_link;
#[cfg(target_os = "linux")]
mod emulator;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod frame;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod qdisc;
#[cfg(target_os = "linux")]
mod routers;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tools that `midpath lab` starts.
#[derive(Debug, Parser)]
#[command(name = "midpath-lab", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Forward frames between devices, each a constant time after it came, until standard input
    /// ends. With a rate they leave one after the other before that, and wait in a queue.
    Wire {
        /// A path for frames, such as `in=w0,out=b1,mac=02:00:00:00:00:01,delay=10ms`. Without
        /// `mac` it takes what no other path of the device takes. `rate=20Mbps,queue=250kB` is its
        /// rate, and what may wait; `at=8s:0Mbps,at=13s:20Mbps` are later ones, counted from the
        /// first line on standard input.
        #[arg(long = "path", required = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Say what a scenario on standard input (as JSON: `text`, `base`, `scheme`, `seed`) makes the
    /// laboratory build.
    Plan,
    /// Measure for two seconds what this machine can do in real time.
    Budget,
    /// Run a scenario between namespaces that are there. The order is one line of JSON on standard
    /// input.
    Run,
    /// Switch off a guest whose first process this is.
    Halt,
    /// Say why this machine cannot run RPM's programs, if it cannot.
    Check,
    /// Write DCTCP, as an object for `bpftool struct_ops register`, to standard output.
    Dctcp,
}

fn main() -> ExitCode {
    match start(Cli::parse().tool) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("midpath-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn start(tool: Tool) -> Result<(), String> {
    use std::io::Write as _;
    let said = |error: std::io::Error| error.to_string();
    match tool {
        Tool::Wire { paths } => {
            let paths = paths.iter().map(|path| wire::Path::parse(path)).collect::<Result<Vec<_>, _>>()?;
            println!("{}", wire::run(&paths).map_err(said)?.to_json());
        }
        Tool::Plan => {
            let asked: plan::Asked = serde_json::from_reader(std::io::stdin()).map_err(|error| error.to_string())?;
            println!("{}", plan::plan(&asked.setup()?));
        }
        Tool::Budget => println!("{}", budget::measure().map_err(said)?),
        Tool::Run => println!("{}", run::run()?),
        Tool::Halt => run::halt()?,
        Tool::Check => {
            midpath_ebpf::rpm().map_err(|error| error.to_string())?;
            midpath_ebpf::unsupported().map_or(Ok(()), Err)?;
        }
        Tool::Dctcp => {
            let object = midpath_ebpf::dctcp().map_err(|error| error.to_string())?;
            std::io::stdout().write_all(object).map_err(said)?;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn start(_: Tool) -> Result<(), String> {
    Err("works on Linux only".into())
}
