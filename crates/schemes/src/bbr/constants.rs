//! The draft's constants. Each is in "Terminology" under this name, unless a comment names another section.

use midpath_core::units::Time;

/// BBR.StartupPacingGain, 4 ln 2: the least that lets the rate double in a round trip.
pub const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DrainPacingGain.
pub const DRAIN_PACING_GAIN: f64 = 0.5;
/// BBR.DefaultCwndGain.
pub const DEFAULT_CWND_GAIN: f64 = 2.0;
/// "ProbeBW_DOWN", and the table in "Summary of Control Behavior".
pub const DOWN_PACING_GAIN: f64 = 0.9;
/// "ProbeBW_UP", and the same table.
pub const UP_PACING_GAIN: f64 = 1.25;
/// "ProbeBW_UP", and the same table.
pub const UP_CWND_GAIN: f64 = 2.25;
/// BBR.PacingMarginPercent: the pace is 1 % below the bandwidth.
pub const PACING_MARGIN: f64 = 0.99;
/// BBR.LossThresh.
pub const LOSS_THRESH: f64 = 0.02;
/// BBR.Beta.
pub const BETA: f64 = 0.7;
/// BBR.Headroom.
pub const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd, in segments.
pub const MIN_PIPE_CWND: u64 = 4;
/// BBR.MinRTTFilterLen.
pub const MIN_RTT_FILTER_LEN: Time = Time::from_secs(10);
/// BBR.ProbeRTTCwndGain.
pub const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// BBR.ProbeRTTDuration.
pub const PROBE_RTT_DURATION: Time = Time::from_ms(200);
/// BBR.ProbeRTTInterval.
pub const PROBE_RTT_INTERVAL: Time = Time::from_secs(5);
/// BBR.MaxBwFilterLen, in cycles of ProbeBW.
pub const MAX_BW_FILTER_LEN: u32 = 2;
/// Ours: `max_bw` expires where the path delivers less than this share of it. ProbeRTT leaves BBR.ProbeRTTCwndGain of
/// a BDP by `max_bw` in flight: where that is more than the path's own BDP, ProbeRTT finds a queue, and takes it for
/// the path's round trip.
pub const EXPIRY_SHARE: f64 = PROBE_RTT_CWND_GAIN;
/// Ours: packets wait where a round trip is so many times `min_rtt`. BBR.DefaultCwndGain lets it grow to that, and no
/// further, while `max_bw` is the path's.
pub const EXPIRY_RTT: u64 = 2;
/// Ours: as many segments arrive in a span of which the rate is taken, at least. A few that a host held back say
/// little.
pub const EXPIRY_SEGMENTS: u64 = 8;
/// BBR.ExtraAckedFilterLen, in round trips.
pub const EXTRA_ACKED_FILTER_LEN: u32 = 10;
/// "Exiting Acceleration Based on Bandwidth Plateau": a round that grows by less is on the plateau.
pub const FULL_BW_GROWTH: f64 = 1.25;
/// The same section: so many of them in a row, and the bandwidth is full.
pub const FULL_BW_ROUNDS: u8 = 3;
/// "Exiting Startup Based on Packet Loss": BBRStartupFullLossCnt.
pub const STARTUP_FULL_LOSS_CNT: u32 = 6;
/// "Drain": round trips after which it ends in any case.
pub const DRAIN_ROUNDS: u32 = 3;
/// PickProbeWait: the least wait; up to a second is added.
pub const PROBE_WAIT: Time = Time::from_secs(2);
/// IsRenoCoexistenceProbeTime: the most round trips between two probes.
pub const RENO_ROUNDS: u32 = 63;
/// RaiseInflightLongtermSlope: how often the growth doubles at most.
pub const MOST_DOUBLINGS: u8 = 30;
/// SetSendQuantum: what is sent in this time leaves together, up to this much.
pub const QUANTUM_TIME: Time = Time::from_ms(1);
/// SetSendQuantum.
pub const MOST_QUANTUM: u64 = 64 << 10;
/// UpdateOffloadBudget: "TCP Offload Budget".
pub const QUANTA: u64 = 3;
