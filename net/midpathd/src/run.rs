//! Dispatches commands.

use midpath_ebpf::{Aqm, Mode, Params, Registers};

use crate::cli::{AqmName, Cli, Command, ModeName, Ndn, Node, RegistersName, Rpm, Up};
use crate::error::{Error, Tried};
use crate::ndn;
use crate::net::Net;
use crate::node;
use crate::quantity::show_rate;
use crate::rpm::{self, Done, Settings, Shape};

/// Does what the command line says.
pub fn run(cli: Cli) -> Result<(), Error> {
    match cli.command {
        Command::Rpm(command) => rpm(command),
        Command::Node(command) => node(command),
        Command::Ndn(command) => ndn(command),
    }
}

fn ndn(command: Ndn) -> Result<(), Error> {
    match command {
        Ndn::Up { config } => ndn::up(&ndn::Config::read(&config)?),
        Ndn::Check { config } => ndn::check(&ndn::Config::read(&config)?),
        Ndn::Status { config } => {
            println!("{:#}", ndn::tell(&ndn::Config::read(&config)?, "status")?);
            Ok(())
        }
        Ndn::Down { config } => ndn::down(&ndn::Config::read(&config)?),
        Ndn::Fetch { name, forwarder, output, window, key, certificate } => {
            let trust = ndn::trust(key.as_deref(), certificate.as_deref())?;
            ndn::fetch(&name, forwarder.as_deref(), output.as_deref(), window, trust)
        }
        Ndn::Metrics { config, listen } => ndn::serve_metrics(&ndn::Config::read(&config)?, &listen),
    }
}

fn node(command: Node) -> Result<(), Error> {
    match command {
        Node::Up { config } => node::up(node::Config::read(&config)?, &config),
        Node::Check { config } => node::check(&node::Config::read(&config)?),
        Node::Status { config } => {
            println!("{:#}", node::tell(&node::Config::read(&config)?, "status")?);
            Ok(())
        }
        Node::Down { config } => node::down(&node::Config::read(&config)?),
        Node::Reload { config } => {
            // What is wrong is said here, too, with the line.
            let read = node::Config::read(&config)?;
            read.secret()?;
            node::tell(&read, "reload").map(drop)
        }
        Node::Metrics { config, listen } => node::serve_metrics(&node::Config::read(&config)?, &listen),
        Node::Key { file } => {
            println!("{}", node::make_key(&file)?);
            Ok(())
        }
    }
}

fn rpm(command: Rpm) -> Result<(), Error> {
    if let Rpm::Metrics { listen } = &command {
        return rpm::serve(listen); // it opens nothing that needs rights
    }
    let mut net = Net::new().tried(|| "cannot open the kernel's netlink interface".into())?;
    match command {
        Rpm::Up(up) => {
            let _alone = rpm::Alone::wait()?;
            let said = match rpm::up(&mut net, &up.dev, &settings(&up))? {
                Done::Started => "is on",
                Done::Changed => "is changed",
                Done::Nothing => "is on already",
            };
            println!("RPM {said}: {} at {}", up.dev, show_rate(up.rate));
            Ok(())
        }
        Rpm::Down { dev } => {
            let _alone = rpm::Alone::wait()?;
            let off = rpm::down(&mut net, dev.as_deref())?;
            match (off.is_empty(), dev) {
                (false, _) => println!("RPM is off: {}", off.join(", ")),
                (true, Some(dev)) => println!("RPM was not on for {dev}"),
                (true, None) => println!("RPM was not on"),
            }
            Ok(())
        }
        Rpm::Status { dev, json, watch, every } => {
            rpm::watch(&mut net, dev.as_deref(), json, Rpm::interval(watch, every))
        }
        Rpm::Metrics { .. } => unreachable!("already done"),
        Rpm::Reader => rpm::read(&mut net),
    }
}

fn settings(up: &Up) -> Settings {
    let params = Params {
        aqm: match up.aqm {
            AqmName::Codel => Aqm::Codel,
            AqmName::CodelDataplane => Aqm::CodelDataplane,
            AqmName::Step => Aqm::Step,
        },
        target_ns: up.target,
        interval_ns: up.interval,
        // The device's, known later.
        mtu_bytes: 0,
        mode: match up.mode {
            ModeName::Rpm => Mode::Rpm,
            ModeName::Fwd => Mode::Fwd,
            ModeName::Both => Mode::Both,
            ModeName::Off => Mode::Off,
        },
        registers: match up.registers {
            RegistersName::Guarded => Registers::Guarded,
            RegistersName::Plain => Registers::Plain,
        },
        aggregate: up.aggregate,
        age_ticks: rpm::ticks(up.ack_timeout),
        register_max: up.register_max,
        window_mib: up.window,
    };
    Settings { shape: Shape { rate_bps: up.rate, buffer_ns: up.buffer }, params, flows: up.flows }
}
