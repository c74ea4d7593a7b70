//! Domains of any shape, with plain routers among INRPP's, TCP carried or beside, and faults: every
//! byte arrives, and nothing is left behind.

use std::fmt::Write;

use midpath_sim::RunOptions;
use proptest::prelude::*;

use super::overlay::deployed_at;
use super::paths::{Mesh, mesh};
use crate::common::{cases, run};

/// What is drawn beside the network.
#[derive(Debug, Clone)]
struct Deployment {
    /// Which routers speak INRPP; none: all.
    speak: Vec<bool>,
    carry: bool,
    auth: bool,
    notify: bool,
    detours: u8,
    tcp: Vec<bool>,
    faults: Vec<(usize, usize, u64, u64)>,
    lossy: bool,
}

fn deployment() -> impl Strategy<Value = Deployment> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let faults = prop::collection::vec((0usize..3, 0usize..100, 0u64..1500, 1u64..800), 0..3);
    (
        prop::collection::vec(prop::bool::weighted(0.7), 8),
        flags,
        0u8..3,
        prop::collection::vec(any::<bool>(), 8),
        faults,
    )
        .prop_map(|(speak, (carry, auth, notify, lossy), detours, tcp, faults)| Deployment {
            speak,
            carry,
            auth,
            notify,
            detours,
            tcp,
            faults,
            lossy,
        })
}

fn scenario(mesh: &Mesh, d: &Deployment) -> String {
    let mut t = mesh.text(d.detours);
    let n = mesh.routers();
    let routers: Vec<String> = (0..n).filter(|i| d.speak[*i]).map(|i| format!("\"r{i}\"")).collect();
    let notify = if d.notify { "data" } else { "acks" };
    let params =
        format!("detours = {}\ncarry_tcp = {}\nauth = {}\nnotify = \"{notify}\"\n", d.detours, d.carry, d.auth);
    t = t.replace(&format!("detours = {}\n", d.detours), &params).replace("60 s", "600 s");
    if d.lossy {
        t = t.replace("delay = \"1 ms\"", "delay = \"1 ms\", corruption = \"0.5 %\"");
    }
    let mut flows = t.split("[[flow]]").map(str::to_owned).collect::<Vec<_>>().into_iter();
    let mut t = flows.next().expect("a head");
    for (i, flow) in flows.enumerate() {
        let scheme = if d.tcp[i % 8] { "scheme = \"newreno\"\n" } else { "" };
        write!(t, "[[flow]]\n{scheme}{flow}").unwrap();
    }
    t += &deployed_at(&routers.join(", "));
    let links = mesh.links();
    for (what, which, at, lasts) in &d.faults {
        let (a, b) = links[which % links.len()];
        let what = match what {
            0 => format!("kind = \"restart\"\nnode = \"r{}\"", which % n),
            _ => format!("kind = \"link-down\"\nlink = [\"r{a}\", \"r{b}\"]\nuntil = \"{} ms\"", at + lasts),
        };
        writeln!(t, "[[fault]]\nat = \"{at} ms\"\n{what}").unwrap();
    }
    t
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn every_byte_arrives_in_any_deployment(mesh in mesh(), d in deployment()) {
        let text = scenario(&mesh, &d);
        let with = |threads| run(&text, &RunOptions { threads, ..RunOptions::default() });
        let out = with(1);
        let flows = out.table("flows").unwrap();
        for row in 0..flows.rows() {
            prop_assert_eq!(flows.u64("delivered_bytes")[row] as f64, flows.f64("size_bytes")[row], "flow {} of\n{}", row, text);
        }
        prop_assert_eq!(&out.run["invariants"]["stored"], &serde_json::json!(0), "{}", text);
        prop_assert_eq!(out.repeatable(), with(3).repeatable(), "{}", text);
    }
}
