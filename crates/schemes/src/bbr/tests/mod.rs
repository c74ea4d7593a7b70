//! BBR's state machine with anything as input, and its arithmetic by hand from the draft.

mod machine;
mod path;
