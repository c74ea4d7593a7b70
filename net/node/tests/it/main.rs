//! Nodes under drivers, in virtual and in real time.

mod departure;
mod drivers;
mod hosts;
#[path = "../network/mod.rs"]
mod network;
#[cfg(target_os = "linux")]
mod path_mtu;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod short_paths;
