//! The congestion-control schemes of Midpath, one folder each, all of the same shape: parameters,
//! equations, endpoints, ports, a description, tests beside the code.
//!
//! Five folders are shared code: `transport` has a sender and a receiver of TCP segments, `calls` those of media, `tunnel` links over a TCP
//! connection, `icn` forwarding and fetching by name, `explicit` numeric headers.
//!
//! [`Catalogue`] turns a name and a table of parameters into a [`midpath_core::roles::Scheme`]. A
//! scheme of your own needs no change here: implement that trait in your crate and add a builder
//! with [`Catalogue::with`]. Each scheme provides a [`Description`].
//!
//! What an outside crate needs is public, and nothing else: names, descriptions, tables of
//! parameters ([`params`]), what a TCP with a congestion controller of your own is made of
//! ([`controller`]), ours for transports of others ([`controllers`]), FCP's endpoint policies
//! ([`policies`]), and MIRCC without packets ([`rated`]). The feature `internals` exposes the rest to
//! tests, benchmarks and fuzz targets, without stability.

// Without that feature, what only tests of other crates look at seems to be unused.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]

mod bbr;
mod bfc;
mod bolt;
mod calls;
mod catalogue;
mod dcqcn;
pub mod describe;
mod eqds;
mod explicit;
mod falcon;
mod fcp;
mod gcc;
mod hpcc;
mod icn;
mod inrpp;
mod marking;
mod mircc;
mod mptcp;
mod ndn;
mod ndp;
pub mod params;
mod powertcp;
mod rcp;
mod rpm;
mod scream;
mod swift;
mod tally;
mod tcp;
#[cfg(test)]
mod testing;
mod timely;
mod transport;
pub mod tunnel;
mod udp;
mod uec;
mod xcp;

pub use catalogue::{CONSTANT_RATE, CONTRACT, Catalogue, DEFAULT};
pub use describe::Description;

/// The folders and files of this crate that have schemes. A new one is a line here, and its `mod` above.
const FOLDERS: &[fn() -> Catalogue] = &[
    bbr::schemes,
    bfc::schemes,
    bolt::schemes,
    dcqcn::schemes,
    eqds::schemes,
    falcon::schemes,
    fcp::schemes,
    gcc::schemes,
    hpcc::schemes,
    inrpp::schemes,
    mircc::schemes,
    mptcp::schemes,
    ndn::schemes,
    ndp::schemes,
    powertcp::schemes,
    rcp::schemes,
    rpm::schemes,
    scream::schemes,
    swift::schemes,
    tcp::schemes,
    timely::schemes,
    udp::schemes,
    uec::schemes,
    xcp::schemes,
];

impl Catalogue {
    /// The schemes of this crate: of each folder, what an outside crate would bring.
    pub fn standard() -> Catalogue {
        let mut all = Catalogue::empty();
        for schemes in FOLDERS {
            all.extend(schemes());
        }
        all
    }

    /// The schemes of a process whose node has used all numbers up to `first` in an earlier run, where a
    /// scheme has some that only rise (INRPP's): they go on above.
    #[must_use]
    pub fn after(self, first: u64) -> Catalogue {
        self.with("inrpp", inrpp::build_after(first))
    }
}

/// A scheme, or which parameter is wrong.
pub type Built = Result<std::sync::Arc<dyn midpath_core::roles::Scheme>, midpath_core::spec::SpecError>;

/// TCP's transport around a congestion controller: implement
/// [`CongestionController`](controller::CongestionController) and its
/// [`ControllerConfig`](controller::ControllerConfig), and [`build`](controller::build) makes the
/// scheme. One that the network assists has [`NetworkAssisted`](controller::NetworkAssisted) and
/// [`AssistedConfig`](controller::AssistedConfig).
pub mod controller {
    pub use crate::transport::cc::{
        Ack, Acknowledged, AssistedConfig, AssistedTraits, Codepoints, Congestion, CongestionController,
        ControllerConfig, ControllerTraits, Echo, Lost, NetworkAssisted, Opening, Pause, Reflect, Sample, Seen, View,
        Window,
    };
    pub use crate::transport::ecn::EcnMode;
    pub use crate::transport::growth::Growth;
    pub use crate::transport::{Tcp, TcpParams, TcpTable, build};
}

/// The parameters of our controllers. Each makes its controller without our TCP, for transports of others:
/// [`TcpTable::split`](controller::TcpTable::split), then
/// [`ControllerConfig::build`](controller::ControllerConfig::build).
pub mod controllers {
    pub use crate::bbr::BbrParams;
    pub use crate::swift::SwiftParams;
    pub use crate::tcp::{CubicParams, NewRenoParams, PragueParams};
}

/// MIRCC without the simulator's packets: what a forwarder of real ones runs. A link's rates and
/// shaper, what a consumer asks for, paths and where they lead.
pub mod rated {
    pub use crate::icn::above::Via;
    pub use crate::icn::header::{Class, Stamped, Stamps, Trail, Way};
    pub use crate::icn::path::{NextHop, NodeLink, PathId, Shortcut, without_hint};
    pub use crate::icn::round_trips::RoundTrips;
    pub use crate::icn::segments::Segments;
    pub use crate::icn::shaper::{Interest, Offer};
    pub use crate::mircc::asking::{Ask, Asking};
    pub use crate::mircc::link::{MirccLink, Request};
    pub use crate::mircc::params::MirccParams;
}

/// FCP with endpoint policies that are not ours: how a host splits a group's budget over its flows.
pub mod policies {
    pub use crate::fcp::policy::{CustomPolicies, Factory, GroupView, Policy};
    pub use crate::fcp::{FcpParams, build_with};
}

/// The insides of schemes that tests of other crates look at.
#[cfg(feature = "internals")]
#[allow(missing_docs, reason = "their modules say what they are")]
pub mod internals {
    pub mod calls {
        pub use crate::calls::feedback;
    }
    pub mod fcp {
        pub use crate::fcp::*;
    }
    pub mod icn {
        pub use crate::icn::*;
    }
    pub mod inrpp {
        pub use crate::inrpp::*;
    }
    pub mod mircc {
        pub use crate::mircc::*;
    }
    pub mod mptcp {
        pub use crate::mptcp::*;
    }
    pub mod rcp {
        pub use crate::rcp::*;
    }
    pub mod rpm {
        pub use crate::rpm::*;
    }
    pub mod xcp {
        pub use crate::xcp::*;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_folder_and_file_of_schemes_is_in_the_catalogue() {
        let listed = include_str!("lib.rs");
        let mut found = 0;
        for entry in std::fs::read_dir("src").expect("this crate's folder") {
            let path = entry.expect("readable").path();
            let files = [path.clone(), path.join("describe.rs"), path.join("mod.rs")];
            let mut texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
            if texts.any(|text| text.lines().any(|line| line.ends_with("fn schemes() -> Catalogue {"))) {
                let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
                let line = format!("\n    {name}::schemes,\n");
                assert!(listed.contains(&line), "add `mod {name};` and `{name}::schemes` to src/lib.rs");
                found += 1;
            }
        }
        assert_eq!(found, super::FOLDERS.len());
    }

    #[test]
    fn what_is_public_is_what_an_outside_crate_needs() {
        let (shown, _) = include_str!("lib.rs").split_once("mod tests {").expect("this module");
        let public = shown.lines().filter_map(|line| line.strip_prefix("pub ").map(|rest| rest.trim_end_matches(" {")));
        let expected = [
            "mod describe;",
            "mod params;",
            "mod tunnel;",
            "use catalogue::{CONSTANT_RATE, CONTRACT, Catalogue, DEFAULT};",
            "use describe::Description;",
            "type Built = Result<std::sync::Arc<dyn midpath_core::roles::Scheme>, midpath_core::spec::SpecError>;",
            "mod controller",
            "mod controllers",
            "mod rated",
            "mod policies",
            "mod internals",
        ];
        assert_eq!(public.collect::<Vec<_>>(), expected);
        let insides =
            shown.find("pub mod internals {").and_then(|at| shown[..at].rfind("#[cfg(")).map(|at| &shown[at..]);
        assert!(insides.is_some_and(|text| text.starts_with("#[cfg(feature = \"internals\")]")));
    }
}
