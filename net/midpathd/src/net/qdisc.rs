//! Qdiscs: clsact, which programs attach to, and the token bucket that shapes.

use std::io;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};

use super::Net;

/// The handle of our token bucket; any will do.
const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };

/// A token bucket's parameters (tc-tbf(8)). Sizes count Ethernet frames without checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaper {
    /// Bits per second.
    pub rate_bps: u64,
    /// Bytes that may leave at once after a pause.
    pub burst_bytes: u32,
    /// Bytes that may wait.
    pub limit_bytes: u32,
}

/// What a qdisc has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QdiscStats {
    /// Bytes that wait now.
    pub backlog_bytes: u32,
    /// Packets that wait now.
    pub backlog_packets: u32,
    /// Packets refused.
    pub drops: u32,
}

impl Shaper {
    /// `struct tc_tbf_qopt` and the attributes for what does not fit into it (linux/pkt_sched.h).
    fn options(&self) -> Vec<TcOption> {
        const TCA_TBF_PARMS: u16 = 1;
        const TCA_TBF_RATE64: u16 = 4;
        const TCA_TBF_BURST: u16 = 6;
        let bytes_per_s = self.rate_bps / 8;
        let other = |kind, value| TcOption::Other(DefaultNla::new(kind, value));
        let mut options = vec![
            other(TCA_TBF_PARMS, self.parameters(bytes_per_s)),
            other(TCA_TBF_BURST, self.burst_bytes.to_ne_bytes().to_vec()),
        ];
        if bytes_per_s > u64::from(u32::MAX) {
            options.push(other(TCA_TBF_RATE64, bytes_per_s.to_ne_bytes().to_vec()));
        }
        options
    }

    fn parameters(&self, bytes_per_s: u64) -> Vec<u8> {
        /// Any link layer but "unaware" spares the table of transmission times.
        const TC_LINKLAYER_ETHERNET: u8 = 1;
        let mut q = Vec::new();
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate.
        q.extend([0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0]);
        q.extend(u32::try_from(bytes_per_s).unwrap_or(u32::MAX).to_ne_bytes());
        // No peak rate.
        q.extend([0; 12]);
        q.extend(self.limit_bytes.to_ne_bytes());
        // `buffer` and `mtu`; TCA_TBF_BURST says the first in bytes, the second belongs to the peak
        // rate.
        q.extend([0; 8]);
        q
    }
}

impl Net {
    /// Gives a device a clsact qdisc; `false` if it has one already.
    pub fn add_clsact(&mut self, index: u32) -> io::Result<bool> {
        if self.qdisc_kinds(index)?.iter().any(|kind| kind == "clsact") {
            return Ok(false);
        }
        let message = qdisc(index, TcHandle { major: 0xffff, minor: 0 }, TcHandle::CLSACT, "clsact", Vec::new());
        self.request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(true)
    }

    /// Takes a device's clsact qdisc away, and all filters on it.
    pub fn delete_clsact(&mut self, index: u32) -> io::Result<()> {
        let message = qdisc(index, TcHandle { major: 0xffff, minor: 0 }, TcHandle::CLSACT, "clsact", Vec::new());
        self.request(RouteNetlinkMessage::DelQueueDiscipline(message), 0)
    }

    /// Makes a token bucket a device's root qdisc, or changes the one that is.
    pub fn set_shaper(&mut self, index: u32, shaper: &Shaper) -> io::Result<()> {
        let message = qdisc(index, SHAPER, TcHandle::ROOT, "tbf", shaper.options());
        self.request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// What a device's token bucket has counted; `None` if it has none.
    pub fn shaper_stats(&mut self, index: u32) -> io::Result<Option<QdiscStats>> {
        Ok(self.qdiscs(index)?.iter().find(|q| kind(q) == Some("tbf")).map(stats))
    }

    /// The kinds of a device's qdiscs.
    pub fn qdisc_kinds(&mut self, index: u32) -> io::Result<Vec<String>> {
        Ok(self.qdiscs(index)?.iter().filter_map(kind).map(str::to_owned).collect())
    }

    fn qdiscs(&mut self, index: u32) -> io::Result<Vec<TcMessage>> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        let found = self.dump(RouteNetlinkMessage::GetQueueDiscipline(message))?;
        // The kernel lists every device's.
        let ours = found.into_iter().filter_map(|message| match message {
            RouteNetlinkMessage::NewQueueDiscipline(q) if q.header.index == index as i32 => Some(q),
            _ => None,
        });
        Ok(ours.collect())
    }
}

fn qdisc(index: u32, handle: TcHandle, parent: TcHandle, kind: &str, options: Vec<TcOption>) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.handle = handle;
    message.header.parent = parent;
    message.attributes = vec![TcAttribute::Kind(kind.into())];
    if !options.is_empty() {
        message.attributes.push(TcAttribute::Options(options));
    }
    message
}

fn kind(message: &TcMessage) -> Option<&str> {
    message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.as_str()),
        _ => None,
    })
}

fn stats(message: &TcMessage) -> QdiscStats {
    let all = message.attributes.iter().filter_map(|attribute| match attribute {
        TcAttribute::Stats2(stats) => Some(stats),
        _ => None,
    });
    let queue = all.flatten().find_map(|stats| match stats {
        TcStats2::Queue(queue) => Some(*queue),
        _ => None,
    });
    queue.map_or_else(QdiscStats::default, |q| QdiscStats {
        backlog_bytes: q.backlog,
        backlog_packets: q.qlen,
        drops: q.drops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_bucket_is_told_as_the_kernel_reads_it() {
        let shaper = Shaper { rate_bps: 100_000_000, burst_bytes: 5000, limit_bytes: 1_000_000 };
        let q = shaper.parameters(shaper.rate_bps / 8);
        // sizeof(struct tc_tbf_qopt): two rates of 12 bytes, and three numbers.
        assert_eq!(q.len(), 36);
        assert_eq!(q[8..12], 12_500_000u32.to_ne_bytes());
        assert_eq!(q[24..28], 1_000_000u32.to_ne_bytes());
        assert_eq!(shaper.options().len(), 2);
        let fast = Shaper { rate_bps: 40_000_000_000, ..shaper };
        assert_eq!(fast.options().len(), 3);
        assert_eq!(fast.parameters(5_000_000_000)[8..12], u32::MAX.to_ne_bytes());
    }
}
