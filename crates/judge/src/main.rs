//! Linux's TCP as the judge of ours: random conversations between the two, over a TUN device in a
//! network namespace of their own. What each side reads is what the other has written, or the side is
//! told of an error.
//!
//! `midpath-judge RUNS SEED` does so many, from that number on. Exit codes: 0 all right, 1 not, 77
//! there is no right to namespaces or devices here.

#![cfg_attr(target_os = "linux", expect(clippy::disallowed_methods, reason = "Linux's TCP lives in real time"))]

#[cfg(target_os = "linux")]
mod court;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod seen;
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
