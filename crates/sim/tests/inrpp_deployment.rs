//! INRPP's deployment (§V): attackers, plain routers in between, TCP carried through a domain; and that nothing circulates.

mod common;

#[path = "inrpp_deployment/attack.rs"]
mod attack;
#[path = "inrpp_deployment/carry.rs"]
mod carry;
#[path = "inrpp_deployment/mixed.rs"]
mod mixed;
#[path = "inrpp_deployment/overlay.rs"]
mod overlay;
#[path = "inrpp_deployment/paths.rs"]
mod paths;
