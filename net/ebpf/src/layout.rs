//! The memory that programs and user space share: the structures of `bpf/maps.h` and
//! `bpf/rpm_core.h`.

/// A register's clock ticks once in so many nanoseconds (`RPM_TICK_SHIFT`).
pub const TICK_NS: u64 = 1 << 20;

/// Buckets of the histogram of sojourn times (`RPM_SOJOURN_BUCKETS`).
pub const SOJOURN_BUCKETS: usize = 24 * SOJOURN_STEPS as usize;
const SOJOURN_FIRST: u32 = 10;
const SOJOURN_STEPS: u64 = 8;

/// Which active queue management finds congestion. The numbers here and below are those of
/// `bpf/rpm_core.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aqm {
    /// Every packet that waited longer than the target.
    Step = 0,
    /// RFC 8289.
    Codel = 1,
    /// CoDel as a P4 switch runs it.
    CodelDataplane = 2,
}

/// Which way signals go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nowhere: the shaper alone.
    Off = 0,
    /// CE in data packets.
    Fwd = 1,
    /// ECE in ACKs on their way back.
    Rpm = 2,
    /// Both.
    Both = 3,
}

/// What a register is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registers {
    /// One flow's, as long as its ACKs come back here.
    Guarded = 0,
    /// The paper's algorithm 1 to the letter.
    Plain = 1,
}

/// What the algorithm is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Which AQM.
    pub aqm: Aqm,
    /// CoDel's target, or the step's threshold.
    pub target_ns: u64,
    /// CoDel's interval; below 2³¹ ns.
    pub interval_ns: u64,
    /// RFC 8289's maxpacket.
    pub mtu_bytes: u64,
    /// Which way signals go.
    pub mode: Mode,
    /// What a register is.
    pub registers: Registers,
    /// One register for all flows.
    pub aggregate: bool,
    /// Ticks after which a register without a packet on the way back has no owner.
    pub age_ticks: u32,
    /// A register counts up to this.
    pub register_max: u16,
    /// Guarded registers: packets whose TCP numbers are more MiB than this from the flow's last ACK are
    /// taken for a stranger's; 0: none are.
    pub window_mib: u32,
}

/// `struct rpm_params`: the same as the programs read it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawParams {
    target_ns: u64,
    interval_ns: u64,
    mtu_bytes: u64,
    age_ticks: u32,
    register_max: u32,
    aqm: u8,
    mode: u8,
    registers: u8,
    aggregate: u8,
    window_mib: u32,
}

impl RawParams {
    /// A full packet of the device, with its Ethernet header.
    pub fn mtu_bytes(&self) -> u64 {
        self.mtu_bytes
    }
}

impl From<Params> for RawParams {
    fn from(p: Params) -> RawParams {
        RawParams {
            target_ns: p.target_ns,
            interval_ns: p.interval_ns,
            mtu_bytes: p.mtu_bytes,
            age_ticks: p.age_ticks,
            register_max: p.register_max.into(),
            aqm: p.aqm as u8,
            mode: p.mode as u8,
            registers: p.registers as u8,
            aggregate: p.aggregate.into(),
            window_mib: p.window_mib,
        }
    }
}

impl From<RawParams> for Params {
    fn from(raw: RawParams) -> Params {
        Params {
            aqm: [Aqm::Step, Aqm::Codel, Aqm::CodelDataplane][usize::from(raw.aqm.min(2))],
            target_ns: raw.target_ns,
            interval_ns: raw.interval_ns,
            mtu_bytes: raw.mtu_bytes,
            mode: [Mode::Off, Mode::Fwd, Mode::Rpm, Mode::Both][usize::from(raw.mode.min(3))],
            registers: [Registers::Guarded, Registers::Plain][usize::from(raw.registers.min(1))],
            aggregate: raw.aggregate != 0,
            age_ticks: raw.age_ticks,
            register_max: raw.register_max as u16,
            window_mib: raw.window_mib,
        }
    }
}

/// `struct rpm_config`: all that the programs are told, and all that `status` needs to know what
/// runs.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Config {
    /// The algorithm's.
    pub params: RawParams,
    /// SipHash's key; drawn at each start.
    pub hash_key: [u64; 2],
    /// For tests: the time; 0: the kernel's clock.
    pub test_now_ns: u64,
    /// The shaper's.
    pub rate_bps: u64,
    /// Bytes that may wait in the shaper.
    pub buffer_bytes: u64,
    /// Bytes that the shaper may send at once.
    pub burst_bytes: u32,
    /// The device that RPM was asked for.
    pub dev_ifindex: u32,
    /// The internal pair's end before the shaper,
    pub queue_ifindex: u32,
    /// and the one behind it.
    pub exit_ifindex: u32,
    /// Registers less one; they are a power of two.
    pub register_mask: u32,
    /// What a diverted packet carries into the pair; never 0.
    pub ticket: u32,
    /// 1: the device has no link header (tun, ppp).
    pub bare: u32,
    /// Of this structure; [`Config::VERSION`].
    pub version: u32,
    /// The device's name.
    pub device: [u8; 16],
}

impl Config {
    /// Programs that were loaded by another version of this crate may keep other structures.
    pub const VERSION: u32 = 1;

    /// The device's name as text.
    pub fn device_name(&self) -> String {
        let end = self.device.iter().position(|b| *b == 0).unwrap_or(self.device.len());
        String::from_utf8_lossy(&self.device[..end]).into_owned()
    }
}

/// `struct rpm_register`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Register {
    lock: u32,
    /// The owner; 0: nobody.
    pub tag: u32,
    /// The tick at which a packet last came back.
    pub seen: u32,
    /// Signals that wait for an ACK.
    pub count: u16,
    /// [`RegisterFlags`], and above them where the flow's acknowledgement numbers are, and how many have
    /// agreed on it.
    pub flags: u16,
}

impl Register {
    /// A register without an owner, with signals.
    pub fn waiting(count: u16) -> Register {
        Register { count, ..Register::default() }
    }
}

/// The bits of [`Register::flags`].
#[derive(Debug, Clone, Copy)]
pub struct RegisterFlags;

impl RegisterFlags {
    /// The connection does AccECN.
    pub const ACCECN: u16 = 1;
    /// The flow fell back to forward marking.
    pub const FALLEN: u16 = 2;
    /// The flow sends ECT packets (noted with one register for all only).
    pub const ECT: u16 = 4;
}

/// `struct rpm_codel`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Codel {
    /// RFC 8289's `first_above_time_`.
    pub first_above_ns: u64,
    /// `drop_next_`.
    pub drop_next_ns: u64,
    /// `count_`.
    pub count: u32,
    /// `lastcount_`.
    pub last_count: u32,
    /// `dropping_`.
    pub dropping: u32,
    /// The last packet was dropped in the dropping state.
    pub dropped: u32,
}

/// `struct rpm_dataplane`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dataplane {
    /// When the next mark is due, modulo 2³² ns.
    pub next_ns: u32,
    /// Marks since the delay went above target, and one.
    pub count: u32,
    /// The delay is above target.
    pub above: u32,
}

/// `struct rpm_port`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Port {
    lock: u32,
    /// The one register for all: when an ACK last took from it,
    pub together_seen: u32,
    /// and its signals.
    pub together: u16,
    reserved: u16,
    reserved2: u32,
    /// CoDel's state.
    pub codel: Codel,
    /// Its data-plane variant's.
    pub dataplane: Dataplane,
    reserved3: u32,
    /// The last stamp that came out of the queue,
    pub stamp_ns: u64,
    /// the bytes with that stamp,
    pub stamp_bytes: u64,
    /// and all bytes.
    pub left_bytes: u64,
    /// Bytes that the last packet has left behind.
    pub behind_bytes: u64,
}

/// `struct rpm_entrance`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entrance {
    /// Bytes that went into the queue.
    pub bytes: u64,
    /// Stamp and size of the last packet that did.
    pub last_ns: u64,
    /// See `last_ns`.
    pub last_bytes: u64,
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// `struct rpm_stats`: one for each CPU; [`Stats::add`] sums them.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Packets by sojourn time; [`sojourn_bounds_ns`] has the buckets.
            pub sojourn: [u64; SOJOURN_BUCKETS],
        }

        impl Default for Stats {
            fn default() -> Stats {
                Stats { $($name: 0,)* sojourn: [0; SOJOURN_BUCKETS] }
            }
        }

        impl Stats {
            /// The counters by name, without the histogram.
            pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }

            /// Adds another CPU's.
            pub fn add(&mut self, other: &Stats) {
                // Sums of times go round.
                $(self.$name = self.$name.wrapping_add(other.$name);)*
                for (mine, theirs) in self.sojourn.iter_mut().zip(other.sojourn) {
                    *mine += theirs;
                }
            }
        }
    };
}

stats! {
    /// Packets through the queue.
    packets,
    /// Their bytes.
    bytes,
    /// Their sojourn times.
    sojourn_sum_ns,
    /// Packets that the AQM chose; each is one of `counted`, `saturated`, `marked_ce`, `dropped`,
    /// `spared` (in mode `both`, of the first two and of `marked_ce`).
    signals,
    /// Signals that a register took.
    counted,
    /// Signals that found their register full.
    saturated,
    /// CE marks set.
    marked_ce,
    /// Packets dropped because they are not ECT.
    dropped,
    /// Signals that changed nothing: not IP, CE already, SYN, RST, or not ECT under a step.
    spared,
    /// Signals that went forward because the register is another flow's,
    collisions,
    /// because nothing has come back,
    no_acks,
    /// because the flow does AccECN,
    accecn,
    /// because the packet does not lie in the flow's window: somebody else may have sent it.
    strange,
    /// TCP packets that came back through the device.
    returned,
    /// Signals that left a register with an ACK,
    marked_ece,
    /// of these with an ACK that carried ECE already.
    already_ece,
    /// Packets that came back for a flow whose register is another's,
    return_collisions,
    /// or outside the flow's window: they take no signal.
    return_strange,
    /// The times of signals that registers took, summed,
    counted_at_ns,
    /// and of those that left them.
    gone_at_ns,
    /// Signals dropped because no ACK came for them.
    aged,
    /// Flows that took a register.
    claimed,
    /// Flows that fell back to forward marking.
    fallen,
    /// Packets longer than the device's MTU was at `up`; they pass unshaped.
    too_long,
    /// Packets that lost their stamp.
    unstamped,
    /// Packets that somebody else sent into the internal pair; dropped.
    foreign,
    /// Marks that the kernel refused to write.
    failed,
}

impl Stats {
    /// How long signals have waited in registers on average, where `waiting` wait at `now_ns`; `None`
    /// without signals.
    pub fn signal_wait_ns(&self, waiting: u64, now_ns: u64) -> Option<u64> {
        let all = self.gone_at_ns.wrapping_add(waiting.wrapping_mul(now_ns)).wrapping_sub(self.counted_at_ns);
        // Counters of several CPUs are not read at one moment: a little less than nothing is nothing.
        let all = if all > i64::MAX as u64 { 0 } else { all };
        all.checked_div(self.counted)
    }

    /// The sojourn time below which a share `q` of the packets stayed, in ns; within 6 %. `None`
    /// without packets.
    pub fn sojourn_quantile_ns(&self, q: f64) -> Option<u64> {
        let all: u64 = self.sojourn.iter().sum();
        let wanted = ((all as f64 * q).ceil() as u64).max(1);
        let mut sum = 0;
        for (bucket, packets) in self.sojourn.iter().enumerate() {
            sum += packets;
            if sum >= wanted && all > 0 {
                let (from, to) = sojourn_bounds_ns(bucket);
                return Some(from.midpoint(to));
            }
        }
        None
    }
}

/// From where (inclusive) to where a bucket of [`Stats::sojourn`] reaches. The last one also holds
/// all above it.
pub fn sojourn_bounds_ns(bucket: usize) -> (u64, u64) {
    let bound = |bucket: u64| {
        ((SOJOURN_STEPS + bucket % SOJOURN_STEPS) << (u64::from(SOJOURN_FIRST) - 3)) << (bucket / SOJOURN_STEPS)
    };
    let bucket = bucket as u64;
    (if bucket == 0 { 0 } else { bound(bucket) }, bound(bucket + 1))
}

#[cfg(target_os = "linux")]
macro_rules! shared {
    ($($name:ty),*) => {$(
        // SAFETY: `repr(C)`, integers only, no padding (a test compares sizes with the kernel's),
        // so that any bytes the kernel has are a value, and a value can be read as bytes.
        #[allow(unsafe_code)]
        unsafe impl aya::Pod for $name {}
    )*};
}
#[cfg(target_os = "linux")]
shared!(Config, Register, Port, Entrance, Stats);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_join_and_grow_by_an_eighth_of_a_doubling() {
        assert_eq!(sojourn_bounds_ns(0), (0, 1152));
        assert_eq!(sojourn_bounds_ns(8), (2048, 2304));
        for bucket in 1..SOJOURN_BUCKETS {
            let (before, here) = (sojourn_bounds_ns(bucket - 1), sojourn_bounds_ns(bucket));
            assert_eq!(before.1, here.0);
            assert!((here.1 - here.0) as f64 / here.0 as f64 <= 0.125);
        }
        assert_eq!(sojourn_bounds_ns(SOJOURN_BUCKETS - 1).1, 1 << 34);
    }

    #[test]
    fn waits_of_signals_are_what_lies_between_their_times() {
        // Two that left after 3 and 5 ns, one that has waited for 10: 18 in all. Times go round.
        let at = [u64::MAX - 2, 7, 20];
        let counted_at_ns = at.iter().fold(0u64, |sum, t| sum.wrapping_add(*t));
        let gone_at_ns = at[0].wrapping_add(3).wrapping_add(at[1] + 5);
        let stats = Stats { counted: 3, counted_at_ns, gone_at_ns, ..Stats::default() };
        assert_eq!(stats.signal_wait_ns(1, 30), Some(6));
        assert_eq!(Stats::default().signal_wait_ns(0, 30), None);
    }

    #[test]
    fn quantiles_count_packets() {
        let mut stats = Stats::default();
        assert_eq!(stats.sojourn_quantile_ns(0.5), None);
        stats.sojourn[16] = 98;
        stats.sojourn[80] = 2;
        let inside = |ns: u64, bucket: usize| (sojourn_bounds_ns(bucket).0..sojourn_bounds_ns(bucket).1).contains(&ns);
        assert!(inside(stats.sojourn_quantile_ns(0.98).unwrap(), 16));
        assert!(inside(stats.sojourn_quantile_ns(0.981).unwrap(), 80));
        assert!(inside(stats.sojourn_quantile_ns(0.0).unwrap(), 16));
    }
}
