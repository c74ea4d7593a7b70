//! Finds running instances.

use midpath_ebpf::{Program, Running};

use crate::error::{Error, Tried};
use crate::net::{Link, Net, Side};

/// What the alias of a pair's first end begins with.
const ALIAS: &str = "midpath-rpm";
/// What an alias ends with if the device had no clsact qdisc before.
const MADE_CLSACT: &str = "clsact";

/// The internal pair of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The device's number,
    pub device_index: u32,
    /// and its name, when the pair was made.
    pub device: String,
    /// The device had no clsact qdisc before.
    pub made_clsact: bool,
    /// The end before the shaper.
    pub queue: Link,
    /// The end behind it; `None` if somebody has moved it away.
    pub exit: Option<Link>,
}

impl Pair {
    /// The names of a pair's ends: short, for a device's name has at most 15 bytes.
    pub fn names(device_index: u32) -> (String, String) {
        (format!("mpq{device_index}"), format!("mpx{device_index}"))
    }

    /// What stands on the first end, so that the pair says itself what it is for.
    pub fn alias(device: &Link, made_clsact: bool) -> String {
        let end = if made_clsact { format!(":{MADE_CLSACT}") } else { String::new() };
        format!("{ALIAS}:{}:{}{end}", device.index, device.name)
    }

    fn read(links: &[Link], queue: &Link) -> Option<Pair> {
        let mut parts = queue.alias.split(':');
        if parts.next() != Some(ALIAS) {
            return Pair::unsigned(links, queue);
        }
        let device_index = parts.next()?.parse().ok()?;
        let device = parts.next()?.to_owned();
        let made_clsact = parts.next() == Some(MADE_CLSACT);
        let exit = links.iter().find(|link| link.name == Pair::names(device_index).1).cloned();
        Some(Pair { device_index, device, made_clsact, queue: queue.clone(), exit })
    }

    /// What an `up` has left that died before it could sign: both ends with our names, and nothing
    /// written on them.
    fn unsigned(links: &[Link], queue: &Link) -> Option<Pair> {
        let device_index = queue.name.strip_prefix("mpq")?.parse().ok()?;
        let exit = links.iter().find(|link| link.name == Pair::names(device_index).1)?.clone();
        let device =
            links.iter().find(|link| link.index == device_index).map_or(String::new(), |link| link.name.clone());
        let ours = queue.alias.is_empty() && exit.alias.is_empty();
        ours.then(|| Pair { device_index, device, made_clsact: false, queue: queue.clone(), exit: Some(exit) })
    }

    /// The programs of this pair, if the whole chain of filters is in place.
    pub fn running(&self, net: &mut Net) -> Result<Option<Running>, Error> {
        let Some(exit) = &self.exit else { return Ok(None) };
        let places = [
            (self.device_index, Side::Egress, Program::Divert),
            (self.device_index, Side::Ingress, Program::Return),
            (self.queue.index, Side::Egress, Program::Enqueue),
            (exit.index, Side::Ingress, Program::Dequeue),
        ];
        let mut id = None;
        for (device, side, program) in places {
            id = program_on(net, device, side, program)?;
            if id.is_none() {
                return Ok(None);
            }
        }
        let has_shaper = net.shaper_stats(self.queue.index).tried(|| "cannot list qdiscs".into())?.is_some();
        let Some(id) = id.filter(|_| has_shaper) else { return Ok(None) };
        match Running::of_program(id) {
            // It cannot be read, and so counts as not there: `up` replaces it.
            Err(midpath_ebpf::Error::OtherVersion) => Ok(None),
            found => Ok(Some(found?)),
        }
    }
}

/// The number of our program on a device's side, if it is there.
fn program_on(net: &mut Net, device: u32, side: Side, program: Program) -> Result<Option<u32>, Error> {
    let filters = match net.filters(device, side) {
        // The device has gone.
        Err(error) if error.raw_os_error() == Some(19) => return Ok(None),
        filters => filters.tried(|| "cannot list filters".into())?,
    };
    let ours = filters.into_iter().filter_map(|filter| filter.program).find(|(name, _)| name == program.name());
    Ok(ours.map(|(_, id)| id))
}

/// All pairs of this network namespace.
pub fn pairs(net: &mut Net) -> Result<Vec<Pair>, Error> {
    let links = net.links().tried(|| "cannot list devices".into())?;
    Ok(links.iter().filter_map(|link| Pair::read(&links, link)).collect())
}

/// Those that a command asks for: of a device by the name that it has or had, or all.
pub fn asked(found: Vec<Pair>, links: &[Link], device: Option<&str>) -> Result<Vec<Pair>, Error> {
    let Some(name) = device else { return Ok(found) };
    let index = links.iter().find(|link| link.name == name).map(|link| link.index);
    let is_of = |pair: &Pair| index == Some(pair.device_index) || pair.device == name;
    let of: Vec<Pair> = found.into_iter().filter(is_of).collect();
    if of.is_empty() && index.is_none() {
        return Err(no_device(name, links));
    }
    Ok(of)
}

/// There is no device of this name.
pub fn no_device(name: &str, links: &[Link]) -> Error {
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    Error::Usage(format!("--dev {name}: there is no such device; there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::LinkKind;

    fn link(index: u32, name: &str, alias: &str) -> Link {
        Link { index, name: name.into(), alias: alias.into(), kind: LinkKind::Ethernet, mtu: 1500 }
    }

    #[test]
    fn a_pair_says_what_it_is_for() {
        let eth0 = link(2, "eth0", "the uplink");
        let (queue, exit) = Pair::names(2);
        for made_clsact in [false, true] {
            let links = [eth0.clone(), link(9, &exit, ""), link(10, &queue, &Pair::alias(&eth0, made_clsact))];
            let found: Vec<Pair> = links.iter().filter_map(|l| Pair::read(&links, l)).collect();
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].device_index, found[0].device.as_str()), (2, "eth0"));
            assert_eq!((found[0].made_clsact, found[0].exit.as_ref().unwrap().index), (made_clsact, 9));
        }
        let unsigned = [eth0.clone(), link(9, &exit, ""), link(10, &queue, "")];
        assert_eq!(Pair::read(&unsigned, &unsigned[2]).unwrap().device, "eth0");
        assert_eq!(Pair::read(&unsigned[..1], &unsigned[2]), None);
        for strange in ["", "midpath-rpm", "midpath-rpm:x:eth0", "other:2:eth0"] {
            assert_eq!(Pair::read(&[], &link(3, "a", strange)), None);
        }
    }

    #[test]
    fn names_fit_the_kernels_limit() {
        let (queue, exit) = Pair::names(u32::MAX);
        assert!(queue.len() <= 15 && exit.len() <= 15);
    }
}
