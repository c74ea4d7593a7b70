//! Groups of one host have policies of their own (§4.2): none notices another but by its budget.

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;
use proptest::prelude::*;

use crate::fcp::FcpParams;
use crate::fcp::host::{Account, Host};
use crate::fcp::params::GroupParams;
use crate::fcp::policy::{CustomPolicies, NAMES};
use crate::fcp::resolved::Resolved;
use midpath_core::roles::Names;

const HOST: NodeId = NodeId(0);
pub(super) const PEER: NodeId = NodeId(1);
/// Flows of the group that is looked at, and the price of each one's path.
const OWN: [(u32, f64); 3] = [(0, 1.0), (1, 3.0), (2, 0.5)];
/// The groups' numbers.
const GROUPS: [u32; 2] = [0, 1];

struct TwoGroups;

impl Names for TwoGroups {
    fn node(&self, _name: &str) -> Option<NodeId> {
        None
    }
    fn group(&self, name: &str) -> Option<u32> {
        GROUPS.into_iter().find(|number| number.to_string() == name)
    }
}

/// Names one group, number 0.
pub struct OwnGroup;

impl Names for OwnGroup {
    fn node(&self, _name: &str) -> Option<NodeId> {
        None
    }
    fn group(&self, _name: &str) -> Option<u32> {
        Some(0)
    }
}

fn params(policies: [&str; 2]) -> Resolved {
    let group = |policy: &str| GroupParams { policy: Some(policy.to_owned()), ..GroupParams::default() };
    let groups = GROUPS.iter().map(|number| (number.to_string(), group(policies[*number as usize]))).collect();
    let params = FcpParams { groups, ..FcpParams::default() }.resolve(CustomPolicies::default()).expect("valid");
    params.bind(&TwoGroups).expect("known")
}

pub fn account(group: u32) -> Account {
    let cap = f64::INFINITY;
    Account { group, weight: 1.0, target: 0.0, spending: 0.0, price: 0.0, rtt: 0.0, cap, idle: false }
}

/// The first group's flows hear their prices, and spend what they were given.
fn hear(host: &mut Host, params: &Resolved, now: Time) {
    for (flow, price) in OWN {
        let heard = |a: &mut Account| (a.price, a.rtt, a.spending) = (price, 0.01, a.target);
        host.on_feedback((FlowId(flow), PEER), heard, HOST, params, now);
    }
}

/// The flows' parts of what their group has.
fn parts(host: &Host) -> Vec<f64> {
    let targets = OWN.map(|(flow, _)| host.account((FlowId(flow), PEER)).expect("open").target);
    targets.iter().map(|target| target / targets.iter().sum::<f64>()).collect()
}

proptest! {
    /// What another group does between two looks of ours changes no part: flows that open, close, fall
    /// silent, or hear another price.
    #[test]
    fn another_groups_flows_leave_the_parts_as_they_are(
        own in 0..NAMES.len(),
        other in 0..NAMES.len(),
        rounds in prop::collection::vec(prop::collection::vec((0u8..4, 10u32..14, 0.1f64..10.0), 0..4), 1..40),
    ) {
        let params = params([NAMES[own], NAMES[other]]);
        let (mut beside, mut alone) = (Host::default(), Host::default());
        let open = |host: &mut Host| {
            OWN.iter().for_each(|(flow, _)| host.open((FlowId(*flow), PEER), account(0), HOST, &params, Time::ZERO));
        };
        open(&mut beside);
        open(&mut alone);
        for (round, events) in rounds.iter().enumerate() {
            // Spending follows within 15 ms; the policy looks after two round trips, 20 ms.
            let now = Time::from_ms(100 * (round as u64 + 1));
            for at in [now.saturating_sub(Time::from_ms(85)), now] {
                hear(&mut beside, &params, at);
                hear(&mut alone, &params, at);
            }
            for (n, (what, flow, price)) in events.iter().enumerate() {
                let (flow, now) = ((FlowId(*flow), PEER), now + Time::from_ms(n as u64));
                match what {
                    0 if beside.account(flow).is_none() => beside.open(flow, account(1), HOST, &params, now),
                    1 => beside.close(flow, HOST, &params, now),
                    2 => beside.rest(flow, *price > 1.0, HOST, &params, now),
                    _ => beside.on_feedback(
                        flow,
                        |a| (a.price, a.rtt, a.spending) = (*price, 0.001, a.target),
                        HOST,
                        &params,
                        now,
                    ),
                }
            }
            for (x, y) in parts(&beside).iter().zip(parts(&alone)) {
                prop_assert!((x - y).abs() < 1e-6, "{} beside {}: {x} and {y}", NAMES[own], NAMES[other]);
            }
        }
    }
}
