//! Where applications connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use midpath_core::packet::NodeId;
use midpath_node::gateway::exit::Allowed;
use midpath_node::gateway::services::Names;
use midpath_node::gateway::{Kind, Listener};
use midpath_sim::setup::Setup;
use toml::Spanned;

use super::file::File;
use super::{Source, named};
use crate::error::Error;

/// Where applications connect, and where the configuration says so.
pub fn entrances(file: &File, setup: &Setup, source: &Source<'_>) -> Result<(Vec<Listener>, Vec<String>), Error> {
    let at = |listen: &Spanned<SocketAddr>, open: bool| (*listen.get_ref(), listen.span(), "listen", open);
    let mut all = Vec::new();
    for table in &file.forward {
        let kind = Kind::Forward(target(&table.to, source)?);
        all.push((at(&table.listen, table.open), Some(&table.exit), kind, "forward"));
    }
    all.extend(file.socks.iter().map(|t| (at(&t.listen, t.open), Some(&t.exit), Kind::Socks, "socks")));
    all.extend(file.connect.iter().map(|t| (at(&t.listen, t.open), Some(&t.exit), Kind::Connect, "connect")));
    for table in &file.transparent {
        let (targets, listen) = transparent(&table.to, source)?;
        // At all addresses, but of other machines none is let in.
        let at = (listen, table.to.span(), "to", true);
        all.push((at, Some(&table.exit), Kind::Transparent(targets), "transparent"));
    }
    let names: Names = setup.topology.nodes().iter().map(|node| node.name.clone()).collect::<Vec<_>>().into();
    for table in &file.application {
        all.push((at(&table.listen, table.open), None, Kind::Application(names.clone()), "application"));
    }
    let (mut entrances, mut places) = (Vec::<Listener>::new(), Vec::new());
    for ((listen, span, at, open), exit, kind, table) in all {
        let exit = match exit {
            Some(exit) if exit.get_ref() == file.node.get_ref() => {
                let what = "a node cannot be its own exit";
                return Err(source.wrong(Some(exit.span()), &format!("{table}.exit"), what));
            }
            Some(exit) => named(setup, exit, &format!("{table}.exit"), source)?,
            None => NodeId(0),
        };
        let key = format!("{table}.{at}");
        if !open && !listen.ip().is_loopback() {
            let what = format!("anyone who reaches {listen} could use this node; confirm with `open = true`");
            return Err(source.wrong(Some(span), &key, what));
        }
        if listen.port() != 0 && entrances.iter().any(|e| e.listen == listen) {
            return Err(source.wrong(Some(span), &key, format!("{listen} is configured twice")));
        }
        places.push(source.place(Some(span), &key));
        entrances.push(Listener { listen, exit, kind });
    }
    Ok((entrances, places))
}

/// `host:port`, as the exit will see it.
fn target(to: &Spanned<String>, source: &Source<'_>) -> Result<String, Error> {
    let parts = to.get_ref().rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let port = parts.and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port != 0);
    match port {
        Some(_) => Ok(to.get_ref().clone()),
        None => Err(source.wrong(Some(to.span()), "forward.to", format!("`{}` is not `host:port`", to.get_ref()))),
    }
}

/// Addresses and the one port that are taken for others, and where such connections arrive.
fn transparent(to: &Spanned<String>, source: &Source<'_>) -> Result<(Allowed, SocketAddr), Error> {
    let wrong = |what: String| source.wrong(Some(to.span()), "transparent.to", what);
    let targets = Allowed::parse(&[to.get_ref()]).map_err(&wrong)?;
    let port = targets.only_port().filter(|port| *port != 0);
    let port = port.ok_or_else(|| wrong(format!("`{}` has no single port, such as `:80`", to.get_ref())))?;
    let six = targets.first().is_some_and(|first| first.is_ipv6());
    let any = if six { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
    Ok((targets, SocketAddr::new(any, port)))
}
