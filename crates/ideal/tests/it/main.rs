//! Allocations against independent oracles.

mod allocations;
mod common;
mod fluid;
