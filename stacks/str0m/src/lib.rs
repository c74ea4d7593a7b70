//! str0m as the ends of simulated flows: `scheme = "str0m"`, with `[schemes.str0m]` for parameters. A synthetic encoder
//! sends video at the rate that its bandwidth estimator (WebRTC's, over transport-wide feedback) allows.

mod config;
pub mod insecure_simulation_crypto;

use std::collections::VecDeque;
use std::time::Duration;

pub use config::{Str0mParams, schemes};
use midpath_core::packet::Ecn;
use midpath_stack::{Burst, Connection as App, EndSpec, Figures, Stack, Work, elapsed, instant};
use str0m::bwe::BweKind;
use str0m::net::{Protocol, Receive};
use str0m::rtp::RtpWrite;
use str0m::{Event, IceConnectionState, Input, Output, Rtc};

/// The SSRC of the video; repeats have the next.
const VIDEO: u32 = 1;
/// Bytes of a packet's payload at most. Ours: with headers and tag below str0m's datagrams of 1,150 bytes.
const PAYLOAD: usize = 1_080;
/// How long an end that has sent all answers requests for repeats. Ours.
const LINGER: Duration = Duration::from_millis(500);
/// Tenths of the estimate that the encoder uses: headers and repeats, which libwebrtc subtracts, take the rest. Ours.
const SHARE: u64 = 9;
/// RTP's clock of videos, in Hz (RFC 7741, §4.1).
const CLOCK: u128 = 90_000;

/// One end: a peer connection with one video.
struct Peer {
    end: EndSpec,
    rtc: Rtc,
    /// That of the generator that str0m draws from, between calls.
    seed: u64,
    opens: bool,
    outbound: VecDeque<Vec<u8>>,
    wake: Duration,
    connected: bool,
    closed: bool,
    /// What the estimator allows, and what the encoder is capable of, in bits per second.
    estimate: u64,
    max_rate: u64,
    srtt: Duration,
    /// Between frames, and when the next is due.
    frame: (Duration, Duration),
    packets: u64,
    ended: Option<Duration>,
    delivered: u64,
}

impl Peer {
    /// Gives str0m an input and takes all its outputs.
    fn poll(&mut self, at: Duration, input: Input<'_>) {
        fastrand::seed(self.seed);
        self.rtc.handle_input(input).expect("the other end's datagrams are good");
        loop {
            match self.rtc.poll_output().expect("a good session") {
                Output::Timeout(wake) => break self.wake = elapsed(wake),
                Output::Transmit(sent) => self.outbound.push_back(sent.contents.to_vec()),
                Output::Event(Event::Connected) => (self.connected, self.frame.1) = (true, at),
                Output::Event(Event::Closed | Event::IceConnectionStateChange(IceConnectionState::Disconnected)) => {
                    self.closed = true;
                }
                Output::Event(Event::RtpPacket(packet)) => self.delivered += packet.payload.len() as u64,
                Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => {
                    self.estimate = estimate.as_u64();
                }
                Output::Event(Event::PeerStats(stats)) => self.srtt = stats.rtt.unwrap_or(self.srtt),
                Output::Event(_) => {}
            }
        }
        self.seed = fastrand::get_seed();
    }

    /// The encoder: a frame of as many bytes as the estimator allows, and the application has. Whether it was the last.
    fn encode(&mut self, app: &mut App) -> bool {
        let (every, due) = self.frame;
        self.frame.1 += every;
        let rate = u128::from((self.estimate / 10 * SHARE).min(self.max_rate));
        let mut left = (rate * every.as_nanos() / 8_000_000_000) as usize;
        let format = self.rtc.codec_config().params().iter().find(|format| format.spec().codec.is_video());
        let (format, mut api) = (format.expect("a video codec").pt(), self.rtc.direct_api());
        let stream = api.stream_tx(&VIDEO.into()).expect("declared");
        app.write(|zeros| {
            let length = PAYLOAD.min(left).min(zeros.len());
            left -= length;
            if length > 0 {
                let time = (due.as_nanos() * CLOCK / 1_000_000_000) as u32;
                let packet = RtpWrite::new(format, self.packets.into(), time, instant(due), &zeros[..length]);
                stream.write_rtp(packet.marker(left == 0).nackable(true));
                self.packets += 1;
            }
            length
        })
    }
}

impl Stack for Peer {
    fn receive(&mut self, at: Duration, datagram: &[u8], _ecn: Ecn) {
        let (source, destination) = (self.end.peer, self.end.local);
        if let Ok(contents) = datagram.try_into() {
            self.poll(at, Input::Receive(instant(at), Receive { proto: Protocol::Udp, source, destination, contents }));
        }
    }

    fn timeout(&mut self, at: Duration) {
        self.poll(at, Input::Timeout(instant(at)));
    }

    fn serve(&mut self, at: Duration, work: &mut Work) {
        let app = work.of(0);
        (app.delivered, app.complete, app.over) = (self.delivered, self.closed, self.closed || !self.rtc.is_alive());
        app.acknowledged = app.over;
        if !self.opens || !self.connected || app.over || self.frame.1 > at {
            return;
        }
        if self.encode(app) {
            self.ended = self.ended.or(Some(at + LINGER));
        }
        let mut api = self.rtc.direct_api();
        let queue = api.stream_tx(&VIDEO.into()).expect("declared").queue_info();
        let is_sent = queue.is_some_and(|queue| queue.packet_count() == 0);
        if app.abort || self.ended.is_some_and(|ended| ended <= at) && is_sent {
            self.rtc.close().expect("its own DTLS");
        }
        self.poll(at, Input::Timeout(instant(at)));
    }

    fn transmit(&mut self, _at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        out.extend(self.outbound.pop_front()?);
        Some(Burst { ecn: Ecn::NotEct, segment: None })
    }

    fn wake(&mut self) -> Option<Duration> {
        let encodes = self.opens && self.connected && self.rtc.is_alive();
        Some(if encodes { self.wake.min(self.frame.1) } else { self.wake })
    }

    fn figures(&self) -> Figures {
        Figures { srtt: self.srtt, rate: self.estimate, ..Figures::default() }
    }
}
