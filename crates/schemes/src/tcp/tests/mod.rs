//! Two endpoints joined by a pipe in virtual time, and what TCP must do there.

mod accecn;
mod ecn;
mod flood;
mod growth;
pub(crate) mod harness;
mod hostile;
mod listen;
mod misbehaving_receiver;
mod numbers;
mod oracle;
mod overtaken;
mod own_window;
mod pauses;
mod prague;
mod properties;
mod recovery;
mod reordering;
mod tail;
mod timeout;
mod transfer;
