//! Pricing policies of networks: one file for each of §4.1 to §4.3.

mod aggregate;
mod deadline;
mod domain;
mod metro;
mod stability;
mod uniform;
mod virtual_queue;

pub use aggregate::Aggregate;
pub use deadline::Deadline;
pub use domain::{Border, Exchange};
pub use metro::Metro;
pub use stability::Stability;
pub use uniform::Uniform;
pub use virtual_queue::{Basis, VirtualQueue};
