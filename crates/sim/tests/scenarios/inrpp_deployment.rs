//! INRPP's deployment (§V): attackers, plain routers in between, TCP carried through a domain; and
//! that nothing circulates.

mod attack;
mod carry;
mod mixed;
mod overlay;
mod paths;
mod tunnels;
