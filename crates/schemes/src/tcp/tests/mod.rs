//! Two endpoints joined by a pipe in virtual time, and what TCP must do there.

mod harness;
mod transfer;
