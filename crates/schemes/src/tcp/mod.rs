//! TCP's congestion controllers: NewReno, CUBIC, DCTCP, Prague and a fixed window, on the one sender
//! and receiver of [`crate::transport`]. Its tests are here, too: they run it with these controllers.
//!
//! Implemented and omitted parts: `docs/schemes/tcp.md`. Map from sections and equations to files: `README.md`.

pub mod cubic;
pub mod dctcp;
mod describe;
mod equations;
pub mod fixed;
mod marked;
pub mod newreno;
pub mod prague;
#[cfg(test)]
pub(crate) mod tests;

pub use cubic::CubicParams;
pub use dctcp::DctcpParams;
pub(crate) use describe::schemes;
pub use fixed::FixedWindowParams;
pub use newreno::NewRenoParams;
pub use prague::PragueParams;
