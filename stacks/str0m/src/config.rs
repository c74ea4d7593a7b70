//! The parameters of scenarios, and peer connections configured by them.

use std::collections::VecDeque;
use std::time::Duration;

use midpath_core::units::Rate;
use midpath_schemes::Catalogue;
use midpath_schemes::params::require;
use midpath_stack::{Application, EndSpec, Stack, StackConfig, StackParams, instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use str0m::bwe::Bitrate;
use str0m::media::MediaKind;
use str0m::{Candidate, IceCreds, Rtc};

use crate::insecure_simulation_crypto::provider;
use crate::{Peer, VIDEO};

/// What `[schemes.str0m]` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Str0mParams {
    /// What all stacks share. A video is pushed: `application` and `connections` stay as they are.
    #[serde(flatten)]
    pub stack: StackParams,
    /// The estimate to begin with. That of libwebrtc.
    pub start_rate: Rate,
    /// The encoder's highest rate, which the estimator probes for. Ours.
    pub max_rate: Rate,
    /// Frames a second.
    pub frames: u32,
}

impl Default for Str0mParams {
    fn default() -> Str0mParams {
        let (start_rate, max_rate) = (Rate(300_000), Rate(20_000_000));
        Str0mParams { stack: StackParams::default(), start_rate, max_rate, frames: 30 }
    }
}

/// What this crate brings into a simulator.
pub fn schemes() -> Catalogue {
    Catalogue::empty().with_params::<Str0mParams>("str0m", |name, params| {
        require(params.stack.application == Application::Push, "application", "`push`: a video answers no request")?;
        require(params.stack.connections == 1, "connections", "1")?;
        require((1..=1000).contains(&params.frames), "frames", "from 1 to 1000")?;
        midpath_stack::build(name, params.stack, Str0m(params))
    })
}

/// Makes peer connections.
struct Str0m(Str0mParams);

impl Str0m {
    fn peer(&self, end: &EndSpec, opens: bool) -> Box<dyn Stack> {
        let seed = u64::from_be_bytes(end.seed[..8].try_into().expect("eight bytes"));
        fastrand::seed(seed);
        let credentials = |opens: bool| {
            let name = if opens { "opens" } else { "accepts" };
            IceCreds { ufrag: name.to_owned(), pass: format!("{name}: for simulation only") }
        };
        let mut rtc = Rtc::builder()
            .set_rtp_mode(true)
            .set_crypto_provider(provider())
            .set_local_ice_credentials(credentials(opens))
            .set_stats_interval(Some(Duration::from_millis(100)))
            .enable_bwe(opens.then(|| Bitrate::bps(self.0.start_rate.0)))
            .build(instant(end.at));
        rtc.bwe().set_desired_bitrate(Bitrate::bps(self.0.max_rate.0));
        rtc.add_local_candidate(Candidate::host(end.local, "udp").expect("a node's address"));
        rtc.add_remote_candidate(Candidate::host(end.peer, "udp").expect("a node's address"));
        let mut api = rtc.direct_api();
        api.set_remote_ice_credentials(credentials(!opens));
        api.set_ice_controlling(opens);
        api.start_dtls(opens).expect("not started before");
        api.declare_media("video".into(), MediaKind::Video);
        let (video, repeats) = (VIDEO.into(), Some((VIDEO + 1).into()));
        if opens {
            api.declare_stream_tx(video, repeats, "video".into(), None);
        } else {
            api.expect_stream_rx(video, repeats, "video".into(), None);
            api.enable_twcc_feedback();
        }
        Box::new(Peer {
            end: *end,
            rtc,
            seed: fastrand::get_seed(),
            opens,
            outbound: VecDeque::new(),
            wake: end.at,
            connected: false,
            closed: false,
            estimate: self.0.start_rate.0,
            max_rate: self.0.max_rate.0,
            srtt: Duration::ZERO,
            frame: (Duration::from_secs(1) / self.0.frames, end.at),
            packets: 0,
            ended: None,
            delivered: 0,
        })
    }
}

impl StackConfig for Str0m {
    fn open(&self, end: &EndSpec) -> Box<dyn Stack> {
        self.peer(end, true)
    }
    fn accept(&self, end: &EndSpec) -> Box<dyn Stack> {
        self.peer(end, false)
    }
}
