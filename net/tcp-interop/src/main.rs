//! Interoperability test of our TCP with Linux's: random sessions between the two, over a TUN device in a network
//! namespace. Each side must read what the other wrote, or get an error.
//!
//! `midpath-tcp-interop RUNS SEED` runs that many, from that seed on. Exit codes: 0 passed, 1 failed, 77 no permission for
//! namespaces or devices.

#![cfg_attr(target_os = "linux", expect(clippy::disallowed_methods, reason = "Linux's TCP lives in real time"))]

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod seen;
#[cfg(target_os = "linux")]
mod session_group;
#[cfg(target_os = "linux")]
mod sessions;
#[cfg(target_os = "linux")]
mod tun;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    sessions::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("skipped: there is no Linux here");
    std::process::ExitCode::from(77)
}
