//! Players of videos: which bitrate a client asks for, and when.

use std::sync::Arc;

use midpath_core::units::Time;
use midpath_traffic::{Playback, VideoSpec};

/// A player. It asks for one segment at a time.
#[derive(Debug, Clone)]
pub struct Player {
    video: Arc<VideoSpec>,
    playback: Playback,
    /// Of segments that have come, in bits per second.
    throughputs: Vec<f64>,
    /// When the last segment was asked for, and its bitrate.
    asked: Time,
    rung: usize,
}

impl Player {
    /// One that has not begun.
    pub fn new(video: Arc<VideoSpec>) -> Player {
        Player { video, playback: Playback::default(), throughputs: Vec::new(), asked: Time::ZERO, rung: 0 }
    }

    /// The next segment's bitrate, or how long that waits.
    pub fn ask(&mut self, now: Time) -> Result<usize, Time> {
        if self.throughputs.len() as u64 == self.video.segments {
            // Another view.
            *self = Player::new(self.video.clone());
        }
        self.rung = self.video.choose(self.playback.level_at(now), &self.throughputs)?;
        self.asked = now;
        Ok(self.rung)
    }

    /// The segment that was asked for has come.
    pub fn take(&mut self, now: Time) {
        self.playback.add(self.video.segment, now);
        let seconds = now.saturating_sub(self.asked).as_secs_f64();
        self.throughputs.push(8.0 * self.video.size(self.rung).as_f64() / seconds);
    }
}
