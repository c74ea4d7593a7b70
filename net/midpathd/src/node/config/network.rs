//! The network named by a configuration, and the node's part of it.

use std::fs;
use std::ops::Range;
use std::path::Path;

use midpath_node::overlay;
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;
use midpath_sim::setup::Setup;

use super::Source;
use crate::error::Error;

/// Why there is no network.
#[derive(Debug)]
pub enum NoNetwork {
    /// Its file is not there: what is wrong is the line that names it.
    Unreadable(String),
    /// Something in its file is wrong: the file, the line and the key are in the text.
    Wrong(String),
}

/// Reads the network at a path.
pub type NetworkAt<'a> = &'a dyn Fn(&Path) -> Result<Setup, NoNetwork>;

pub fn read(path: &Path) -> Result<Setup, NoNetwork> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| NoNetwork::Unreadable(format!("cannot read {name}: {e}")))?;
    let base = path.parent().unwrap_or(Path::new("."));
    let setup = midpath_sim::prepare(&text, base, &RunOptions::default(), &Catalogue::standard()).map_err(|e| {
        let line = e.line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if e.key.is_empty() { String::new() } else { format!("{}: ", e.key) };
        NoNetwork::Wrong(format!("{name}{line}: {key}{}", e.message))
    })?;
    match setup.scenario.deploy.iter().position(|row| row.tunnels.is_some()) {
        Some(i) => Err(NoNetwork::Wrong(format!(
            "{name}: deploy[{i}].tunnels: supported in the simulator only; \
            leave it out"
        ))),
        None => Ok(setup),
    }
}

/// Windows are told in units that follow from the largest one (RFC 7323, §2.3): with the simulator's
/// default, which never limits, a window of less than 16 KiB would be none.
pub fn with_window(setup: Setup, window: u64, base: Option<&Path>) -> Setup {
    let (base, mut setup) = (base.unwrap_or(Path::new(".")), setup);
    for name in setup.scenario.scheme.clone().split('+') {
        let mut scenario = setup.scenario.clone();
        let table = scenario.schemes.entry(name.to_owned()).or_insert_with(|| serde_json::json!({}));
        if let Some(table) = table.as_object_mut() {
            let window = serde_json::json!(format!("{} B", window.min(1 << 30)));
            table.entry("receive_window").or_insert(window);
        }
        // A scheme that has no such parameter stays as it is.
        if let Ok(changed) = Setup::new(scenario, base, &Catalogue::standard()) {
            setup = changed;
        }
    }
    setup
}

/// The largest packet that all links of the network carry, inside a datagram.
pub fn largest_packet(setup: &Setup, source: &Source<'_>, at: Range<usize>) -> Result<u32, Error> {
    let transport = setup.transport().ok_or_else(|| {
        source.wrong(Some(at.clone()), "network", "its `scheme` carries no flows; name one that does, such as cubic")
    })?;
    let narrowest = setup.topology.links().iter().min_by_key(|link| link.mtu);
    let least = narrowest.map_or(overlay::MTU, |link| link.mtu);
    let (mtu, headers) = (least.min(overlay::MTU), transport.headers());
    // RFC 9293, §3.7.1: what any host takes.
    let least = headers + 536;
    if mtu < least {
        let name = |node: usize| setup.topology.nodes()[node].name.as_str();
        let link = narrowest.map_or(String::new(), |link| format!("`{}` to `{}`: ", name(link.a), name(link.b)));
        let what = format!(
            "{link}packets of {mtu} B leave no room for the scheme's headers of {headers} B; the minimum is {least} B"
        );
        return Err(source.wrong(Some(at), "network", what));
    }
    Ok(mtu)
}

/// A secret that stands in everybody's sources is none.
pub fn refuse_known_secrets(setup: &Setup, source: &Source<'_>, at: Range<usize>) -> Result<(), Error> {
    let scenario = &setup.scenario;
    let runs = scenario.scheme.split('+').any(|name| name == "inrpp")
        || scenario.deploy.iter().any(|d| d.scheme.as_deref() == Some("inrpp"));
    let secret = scenario.schemes.get("inrpp").and_then(|table| table.get("secret")).and_then(|s| s.as_str());
    if runs && secret.is_none_or(|secret| secret == "midpath" || secret.is_empty()) {
        let what = "INRPP routers sign their messages; set your own `[schemes.inrpp] secret = \"…\"`";
        return Err(source.wrong(Some(at), "network", what));
    }
    Ok(())
}
