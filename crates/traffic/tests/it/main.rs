//! Flows that are drawn against the laws that they are drawn by.

mod applications;
mod generate;
mod laws;
