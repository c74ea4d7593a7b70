//! RPM on a device of this machine.
//!
//! All state is in the kernel: a veth pair whose first end names its device in its alias, filters on that device and
//! on the pair, and the maps of the filters' programs. Nothing is pinned or written to disk, so no state can
//! disagree with the kernel, and `down` finds everything after a crash.

mod alone;
mod down;
mod find;
mod metrics;
mod reader;
mod settings;
mod status;
mod up;

pub use alone::Alone;
pub use down::down;
pub use metrics::{read, serve};
pub use settings::{Settings, Shape, ticks};
pub use status::watch;
pub use up::{Done, up};
