//! Drivers for [`midpath_core::node::Node`] besides the simulator's: they own the clock and the
//! wires, the nodes are the same.
//!
//! An [`event_loop`] runs one node of an overlay: its links are datagrams or connections to other machines, and local
//! applications hand bytes to it ([`gateway`]). Drivers that only tests have are in `midpath-testing`.

pub mod bytes;
#[cfg(target_os = "linux")]
pub mod carrier;
#[cfg(target_os = "linux")]
pub mod commands;
#[cfg(target_os = "linux")]
pub mod event_loop;
#[cfg(target_os = "linux")]
mod gate;
#[cfg(target_os = "linux")]
pub mod gateway;
pub mod host;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod overlay;
#[cfg(target_os = "linux")]
pub mod poller;
#[cfg(target_os = "linux")]
pub mod priority;
pub mod schedule;
#[cfg(target_os = "linux")]
pub mod seldom;
pub mod served;
#[cfg(target_os = "linux")]
pub mod streams;
pub mod udp;

/// A driver with bytes passes on what it hears of packets and their bytes: `carry_bytes!(table)` in its `impl Driver`, where
/// `self.table()` is its [`bytes::Bytes`]. A second name is a method to call when an end is gone.
#[macro_export]
macro_rules! carry_bytes {
    ($table:ident) => {
        $crate::carry_bytes!($table, @calls);
        fn gone(&mut self, end: midpath_core::node::EndId) {
            self.$table().gone(end);
        }
    };
    ($table:ident, $gone:ident) => {
        $crate::carry_bytes!($table, @calls);
        fn gone(&mut self, end: midpath_core::node::EndId) {
            self.$gone(end);
        }
    };
    ($table:ident, @calls) => {
        const BYTES: bool = true;
        fn supply(&mut self, end: midpath_core::node::EndId) -> Option<midpath_core::roles::Supply> {
            self.$table().supply(end)
        }
        fn room(&mut self, end: midpath_core::node::EndId) -> Option<u64> {
            self.$table().room(end)
        }
        fn made(&mut self, end: midpath_core::node::EndId, id: midpath_core::packet::PacketId, packet: &midpath_core::packet::Packet, at: u64) {
            self.$table().made(end, id, packet, at);
        }
        fn arrived(&mut self, end: midpath_core::node::EndId, at: u64) {
            self.$table().arrived(end, at);
        }
        fn acknowledged(&mut self, end: midpath_core::node::EndId, up_to: u64) {
            self.$table().acknowledged(end, up_to);
        }
        fn completed(&mut self, end: midpath_core::node::EndId, half: midpath_core::roles::Half) {
            self.$table().completed(end, half);
        }
        fn ended(&mut self, end: midpath_core::node::EndId, why: midpath_core::roles::Ended) {
            self.$table().ended(end, why);
        }
    };
}
