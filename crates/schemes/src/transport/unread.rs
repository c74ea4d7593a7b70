//! TCP's parameters that schemes have in hand themselves, and therefore refuse: lists that several have in common.

/// The network tells the window, and with it the pace.
pub const TOLD_WINDOW: &[&str] = &["growth", "abc_limit", "hystart", "pacing_slow_start", "pacing_avoidance"];

/// The scheme alone moves the window, after losses too, and paces.
pub const OWN_WINDOW: &[&str] =
    &["recovery", "growth", "abc_limit", "hystart", "pacing", "pacing_slow_start", "pacing_avoidance"];

/// The same from the first packet on.
pub const OWN_RATE: &[&str] = &[
    "initial_window",
    "recovery",
    "growth",
    "abc_limit",
    "hystart",
    "pacing",
    "pacing_slow_start",
    "pacing_avoidance",
];
