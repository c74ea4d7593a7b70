//! Turning RPM on.

use midpath_ebpf::{Config, Loaded, Program, Running, unsupported};

use crate::error::{Error, Tried};
use crate::net::{Link, LinkKind, Net, Side};
use crate::random::random;
use crate::rpm::down::take_down;
use crate::rpm::find::{Pair, no_device, pairs};
use crate::rpm::settings::Settings;

/// The pair has no MTU of its own to get into a packet's way, whatever becomes of the device's.
const PAIR_MTU: u32 = 65_535;
/// Filters before ours would keep packets from us only if they end the list; ours never does on the
/// device.
const FIRST_PRIORITY: u16 = 1;

/// What `up` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// RPM was off.
    Started,
    /// RPM was on with other settings.
    Changed,
    /// RPM was on with these settings.
    Nothing,
}

/// Turns RPM on for a device, or changes how it runs. If a step fails, all steps before it are
/// undone.
pub fn up(net: &mut Net, device: &str, settings: &Settings) -> Result<Done, Error> {
    settings.check()?;
    let link = device_named(net, device)?;
    let config = settings.config(&link);
    let mut changed = false;
    for pair in pairs(net)?.into_iter().filter(|pair| pair.device_index == link.index || pair.device == device) {
        let here = pair.device_index == link.index;
        if let Some(running) = pair.running(net)?.filter(|_| here) {
            let now = running.config()?;
            if same(&now, &config) {
                return Ok(Done::Nothing);
            }
            if now.register_mask == config.register_mask && now.bare == config.bare {
                change(net, &pair, &running, &now, &link, settings)?;
                return Ok(Done::Changed);
            }
            changed = true;
        }
        // Half-done, another version's, another device's of this name, or with other registers.
        take_down(net, &pair)?;
    }
    start(net, &link, settings, config)?;
    Ok(if changed { Done::Changed } else { Done::Started })
}

fn device_named(net: &mut Net, device: &str) -> Result<Link, Error> {
    let links = net.links().tried(|| "cannot list devices".into())?;
    let Some(link) = links.iter().find(|link| link.name == device) else {
        return Err(no_device(device, &links));
    };
    if let LinkKind::Unfit(why) = link.kind {
        return Err(Error::Usage(format!("--dev {device}: {why}")));
    }
    if pairs(net)?
        .iter()
        .any(|pair| pair.queue.index == link.index || pair.exit.as_ref().is_some_and(|e| e.index == link.index))
    {
        return Err(Error::Usage(format!("--dev {device}: belongs to RPM on another device")));
    }
    Ok(link.clone())
}

/// Whether what runs is what is asked for; what was drawn, and the pair's numbers, are as they are.
fn same(now: &Config, asked: &Config) -> bool {
    let comparable = |config: &Config| Config {
        hash_key: [0; 2],
        ticket: 0,
        queue_ifindex: 0,
        exit_ifindex: 0,
        device: [0; 16],
        ..*config
    };
    comparable(now) == comparable(asked)
}

/// Changes what runs, without a packet going astray and without forgetting a flow.
fn change(
    net: &mut Net,
    pair: &Pair,
    running: &Running,
    now: &Config,
    link: &Link,
    settings: &Settings,
) -> Result<(), Error> {
    let asked = Config {
        hash_key: now.hash_key,
        ticket: now.ticket,
        queue_ifindex: now.queue_ifindex,
        exit_ifindex: now.exit_ifindex,
        ..settings.config(link)
    };
    running.set_config(&asked)?;
    let shaped = net.set_shaper(pair.queue.index, &settings.shaper(link));
    if shaped.is_err() {
        running.set_config(now)?;
    }
    shaped.tried(|| "cannot change the shaper".into())
}

/// A step that was taken, as what takes it back.
type Undo = Box<dyn FnOnce(&mut Net)>;

fn start(net: &mut Net, link: &Link, settings: &Settings, config: Config) -> Result<(), Error> {
    let mut undo = Vec::new();
    let started = steps(net, link, settings, config, &mut undo);
    if started.is_err() {
        for step in undo.into_iter().rev() {
            step(net);
        }
    }
    started
}

/// In the order in which a packet finds each piece behind it in place: the device's own traffic
/// moves last.
fn steps(
    net: &mut Net,
    link: &Link,
    settings: &Settings,
    mut config: Config,
    undo: &mut Vec<Undo>,
) -> Result<(), Error> {
    config.hash_key = [u64::from_ne_bytes(random()?), u64::from_ne_bytes(random()?)];
    config.ticket = u32::from_ne_bytes(random()?) | 1;
    // The verifier speaks before anything is touched.
    let mut programs = Loaded::new(&config).map_err(refused)?;
    let had_clsact = has_clsact(net, link)?;

    let (queue, exit) = make_pair(net, link, !had_clsact, undo)?;
    config.queue_ifindex = queue;
    config.exit_ifindex = exit;
    programs.set_config(&config)?;

    for end in [queue, exit] {
        net.add_clsact(end).tried(no_clsact)?;
    }
    attach(net, &mut programs, exit, Side::Ingress, Program::Dequeue, undo)?;
    attach(net, &mut programs, queue, Side::Egress, Program::Enqueue, undo)?;
    net.set_shaper(queue, &settings.shaper(link)).tried(|| "the kernel has no token bucket (sch_tbf)".into())?;
    for end in [exit, queue] {
        net.set_up(end).tried(|| "cannot set up the internal pair".into())?;
    }

    let device = link.index;
    if net.add_clsact(device).tried(no_clsact)? {
        undo.push(Box::new(move |net| drop(net.delete_clsact(device))));
    }
    attach(net, &mut programs, device, Side::Ingress, Program::Return, undo)?;
    attach(net, &mut programs, device, Side::Egress, Program::Divert, undo)
}

/// A kernel that is too old says so in the verifier's words; ours are shorter.
fn refused(error: midpath_ebpf::Error) -> Error {
    match (&error, unsupported()) {
        (midpath_ebpf::Error::Kernel { .. }, Some(why)) => Error::Machine(why),
        _ => error.into(),
    }
}

fn no_clsact() -> String {
    "the kernel has no clsact qdisc (sch_ingress)".into()
}

fn has_clsact(net: &mut Net, link: &Link) -> Result<bool, Error> {
    let kinds = net.qdisc_kinds(link.index).tried(|| "cannot list qdiscs".into())?;
    if kinds.iter().any(|kind| kind == "ingress") {
        let remedy = format!("remove it with: tc qdisc del dev {} ingress", link.name);
        return Err(Error::Machine(format!("{} has an ingress qdisc instead of clsact; {remedy}", link.name)));
    }
    Ok(kinds.iter().any(|kind| kind == "clsact"))
}

/// The pair, still down; gives the numbers of its ends.
fn make_pair(net: &mut Net, device: &Link, made_clsact: bool, undo: &mut Vec<Undo>) -> Result<(u32, u32), Error> {
    let (queue, exit) = Pair::names(device.index);
    let failed = || "cannot create the internal pair of devices".to_owned();
    net.add_pair(&queue, &exit, PAIR_MTU).tried(failed)?;
    let links = net.links().tried(failed)?;
    let index = |name: &str| links.iter().find(|link| link.name == name).map(|link| link.index);
    let (Some(queue_index), Some(exit_index)) = (index(&queue), index(&exit)) else {
        return Err(Error::Machine(failed()));
    };
    undo.push(Box::new(move |net| drop(net.delete_link(queue_index))));
    net.set_alias(queue_index, &Pair::alias(device, made_clsact)).tried(failed)?;
    net.cut_segments(queue_index).tried(failed)?;
    for name in [&queue, &exit] {
        // Else the kernel would send router solicitations into the queue. Where there is no IPv6,
        // nothing is to be done.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    }
    Ok((queue_index, exit_index))
}

fn attach(
    net: &mut Net,
    programs: &mut Loaded,
    device: u32,
    side: Side,
    program: Program,
    undo: &mut Vec<Undo>,
) -> Result<(), Error> {
    let taken = net.filters(device, side).tried(|| "cannot list filters".into())?;
    let free = |priority: &u16| taken.iter().all(|filter| filter.priority != *priority);
    let Some(priority) = (FIRST_PRIORITY..u16::MAX).find(free) else {
        return Err(Error::Machine("the device has filters at every priority".into()));
    };
    let fd = programs.program(program)?;
    net.add_filter(device, side, priority, program.name(), fd)
        .tried(|| format!("the kernel cannot attach {} (cls_bpf)", program.name()))?;
    undo.push(Box::new(move |net| drop(net.delete_filter(device, side, priority))));
    Ok(())
}
