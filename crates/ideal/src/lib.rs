//! The fluid processor-sharing bound.
