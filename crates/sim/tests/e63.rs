#[path = "scenarios/common/mod.rs"]
mod common;
#[path = "scenarios/credits.rs"]
mod credits;
