//! RPM on a device of this machine.
//!
//! All state is the kernel's: a veth pair whose first end says in its alias which device it is for,
//! filters on that device and on the pair, and the maps of the filters' programs. Nothing is pinned
//! or written to disk, so there is nothing that could disagree with what runs, and a crash of this
//! program leaves nothing undone that `down` would miss.

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
