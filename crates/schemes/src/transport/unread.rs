//! TCP's parameters that schemes have in hand themselves, and therefore refuse: lists that several have in common. Of
//! the last four each has one key less than one before.

/// The network tells the window, and with it the pace.
pub const TOLD_WINDOW: &[&str] = &["growth", "abc_limit", "hystart", "pacing_slow_start", "pacing_avoidance"];

/// The scheme alone has the rate from the first packet on, and each ACK tells of it.
pub const OWN_RATE_BY_ACKS: &[&str] = &[
    "delack_timeout",
    "initial_window",
    "recovery",
    "growth",
    "abc_limit",
    "hystart",
    "pacing_slow_start",
    "pacing_avoidance",
    "pacing",
];

/// The same, whether or not each packet has an ACK.
pub const OWN_RATE: &[&str] = OWN_RATE_BY_ACKS.split_at(1).1;

/// The same after the first window: the scheme alone moves it, after losses too, and paces.
pub const OWN_WINDOW: &[&str] = OWN_RATE.split_at(1).1;

/// The scheme alone says the window, after losses too; what it lets pass may be paced.
pub const GIVEN_WINDOW: &[&str] = OWN_RATE.split_at(OWN_RATE.len() - 1).0;
