//! What a node costs and keeps on this machine: CPU of a packet-hop, the shaper's rate, how late it wakes. Nothing has to
//! run. `cargo run --release -p midpathd --example node_cost -- --seconds 10`; with `--json` one object.

#[cfg(target_os = "linux")]
mod cost;
#[cfg(target_os = "linux")]
mod hop;
#[cfg(target_os = "linux")]
mod plain;
#[cfg(target_os = "linux")]
mod source;
#[cfg(target_os = "linux")]
mod wakes;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    cost::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("nodes run on Linux only");
}
