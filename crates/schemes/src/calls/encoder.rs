//! A synthetic encoder.

use midpath_core::rng::{Stream, unit};

/// Frame sizes are within this of the mean, relative to it: what keeps the mean where it is, and every frame above
/// nothing. Ours.
const WIDEST: f64 = 0.75;

/// A frame's size over the mean: Laplace's distribution around one (RFC 8593, §5.1), cut off on both sides.
pub fn frame_factor(spread: f64, rng: &mut Stream) -> f64 {
    let u = unit(rng) - 0.5;
    let noise = -spread * u.signum() * (1.0 - 2.0 * u.abs()).max(f64::MIN_POSITIVE).ln();
    1.0 + noise.clamp(-WIDEST, WIDEST)
}

/// Sizes of a frame's data units: all but the last are full.
pub fn data_units(frame: u32, mss: u32, header: u32) -> impl Iterator<Item = u32> {
    let frame = frame.max(header + 1);
    let full = (frame - 1) / mss;
    let rest = (frame - full * mss).max(header + 1);
    std::iter::repeat_n(mss, full as usize).chain([rest])
}
