//! Turning RPM off.

#![expect(clippy::disallowed_methods, reason = "it waits for the kernel")]

use std::thread::sleep;
use std::time::{Duration, Instant};

use midpath_ebpf::Program;

use crate::error::{Error, Tried};
use crate::net::{Net, Side};
use crate::rpm::find::{Pair, asked, pairs};

/// How long `down` waits for the queue to run empty; what is left then is lost, as in any restart
/// of a link.
const DRAIN: Duration = Duration::from_secs(1);

/// Turns RPM off for a device, or for all; says for which devices it was on.
pub fn down(net: &mut Net, device: Option<&str>) -> Result<Vec<String>, Error> {
    let links = net.links().tried(|| "cannot list devices".into())?;
    let mut off = Vec::new();
    for pair in asked(pairs(net)?, &links, device)? {
        take_down(net, &pair)?;
        off.push(pair.device);
    }
    Ok(off)
}

/// Takes away whatever there is of a pair. The device's traffic goes its own way first.
pub fn take_down(net: &mut Net, pair: &Pair) -> Result<(), Error> {
    for (side, program) in [(Side::Egress, Program::Divert), (Side::Ingress, Program::Return)] {
        detach(net, pair.device_index, side, program)?;
    }
    drain(net, pair);
    net.delete_link(pair.queue.index).tried(|| format!("cannot remove {}", pair.queue.name))?;
    if pair.made_clsact {
        give_back_clsact(net, pair.device_index)?;
    }
    Ok(())
}

fn detach(net: &mut Net, device: u32, side: Side, program: Program) -> Result<(), Error> {
    // A device that has gone has no filters.
    for filter in net.filters(device, side).unwrap_or_default() {
        if filter.program.is_some_and(|(name, _)| name == program.name()) {
            net.delete_filter(device, side, filter.priority).tried(|| format!("cannot detach {}", program.name()))?;
        }
    }
    Ok(())
}

fn drain(net: &mut Net, pair: &Pair) {
    let begin = Instant::now();
    while begin.elapsed() < DRAIN {
        match net.shaper_stats(pair.queue.index) {
            Ok(Some(stats)) if stats.backlog_packets > 0 => sleep(Duration::from_millis(5)),
            _ => return,
        }
    }
}

/// Unless somebody else uses it by now.
fn give_back_clsact(net: &mut Net, device: u32) -> Result<(), Error> {
    for side in [Side::Ingress, Side::Egress] {
        match net.filters(device, side) {
            Ok(filters) if filters.is_empty() => {}
            _ => return Ok(()),
        }
    }
    match net.delete_clsact(device) {
        // The device, or the qdisc, has gone.
        Err(error) if matches!(error.raw_os_error(), Some(2 | 19 | 22)) => Ok(()),
        done => done.tried(|| "cannot remove the clsact qdisc".into()),
    }
}
