//! The P4 programs on their interpreter.

#[path = "../../../ebpf/tests/linux/common/frame.rs"]
mod frame;
mod law;
mod sources;
mod switch;
