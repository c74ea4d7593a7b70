//! Nodes, ports and queues from outside. One program: each would link the crate again.

mod cake;
mod common;
mod compose;
mod faces;
mod node;
mod queues;
mod receive;
mod rfcs;
mod timers;
mod trimming;
