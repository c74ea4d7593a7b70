//! Sentences of the paper that no other test would miss.

use midpath_core::packet::FlowId;
use midpath_core::units::{Rate, Time};

use super::ends::{END, ROUND};
use super::groups::{OwnGroup, PEER, account};
use super::script::{CAPACITY, RTT, Scripted, basis, close, gauge, play};
use crate::fcp::header::{Class, FcpHeader};
use crate::fcp::host::Host;
use crate::fcp::network::{Aggregate, Uniform};
use crate::fcp::params::{FcpParams, GroupParams};
use crate::fcp::policy::CustomPolicies;
use crate::fcp::price::Load;
use crate::fcp::pricing::{Arrival, Pricing};
use crate::fcp::resolved::Resolved;
use crate::fcp::{Config, policy};
use crate::tcp::tests::harness::{HOSTS, Lab, LabOf, Setup};

/// The scripted link's pricing, without what we add.
fn uniform() -> Uniform {
    Uniform::new(super::script::RULE, RTT.as_secs_f64())
}

fn arrival(now: Time) -> Arrival {
    Arrival { now, load: Load { capacity: CAPACITY, queue: 0.0 }, factor: 1.0 }
}

/// §4.1: what a flow paid that says nothing when it goes decays over d, two round trips, and not longer.
#[test]
fn what_a_silent_flow_paid_decays_in_d() {
    let (mut pricing, mut prices) = (uniform(), Vec::new());
    let mut senders = [Scripted::new(0.0, |_| 1.0), Scripted::new(0.5, |_| 1.0)];
    for ms in 1..3000 {
        let here = if ms < 2000 { 2 } else { 1 };
        senders[..here].iter_mut().for_each(|sender| sender.tick(&mut pricing, Time::from_ms(ms)));
        prices.push(gauge(&pricing, "price"));
    }
    let [both, half, most, alone] = [1990, 2100, 2190, 2205].map(|ms| prices[ms - 1]);
    assert!(close(half, 0.75 * both, 0.02), "{half} of {both} half of d later");
    assert!(most > 0.51 * both && close(alone, 0.5 * both, 0.01), "{most} and {alone} of {both}");
}

/// §4: "routers update the price on every packet reception".
#[test]
fn each_packet_moves_the_price() {
    let (mut pricing, mut prices) = (uniform(), Vec::new());
    for ms in 1..150 {
        // The first is a SYN, which pays the price that it is told.
        let rtt = if ms == 1 { 0.0 } else { 0.1 };
        let mut header = FcpHeader { rtt, balance: 1e-6, preload: 0.5, exchange: 1.0, ..FcpHeader::default() };
        prices.push(pricing.charge(&mut header, 1000, &arrival(Time::from_ms(ms))).quote);
    }
    assert!(prices.windows(2).skip(100).all(|pair| pair[0] != pair[1]), "{prices:?}");
}

/// A flow of the group with these parameters through a link of 20 Mbps; 100 ms are a round trip.
fn lab(group: GroupParams) -> LabOf<Config> {
    let params = FcpParams { groups: [("own".to_owned(), group)].into(), ..FcpParams::default() };
    let bound = params.clone().resolve(CustomPolicies::default()).and_then(|p| p.bind(&OwnGroup)).expect("valid");
    let setup = Setup { size: None, rate: Rate::from_mbps(20), ..Setup::default() };
    Lab::new(setup, params.tcp, Config::new(bound))
}

/// §4.1: "so that we can send 10 packets per RTT after receiving a SYN/ACK".
#[test]
fn the_first_round_trip_has_ten_packets() {
    let mut lab = lab(GroupParams::default());
    lab.run_until(END);
    let first = lab.data().next().expect("data").at;
    let of_first_round = lab.data().filter(|sent| sent.at < first + ROUND).count();
    assert!((10..=11).contains(&of_first_round), "{of_first_round}");
}

/// §4.2: "end-points limit the maximum preload to 1".
#[test]
fn stability_flows_at_most_double_in_a_round_trip() {
    let largest = |class| {
        let mut lab = lab(GroupParams { class, ..GroupParams::default() });
        lab.run_until(END);
        let headers = lab.data().filter_map(|sent| sent.packet.header::<FcpHeader>());
        headers.map(|header| header.preload).fold(0.0, f32::max)
    };
    assert_eq!(largest(Class::Stability), 1.0);
    assert!(largest(Class::Normal) > 100.0);
}

/// §6.2: a background flow has 1/10000 of its host's budget, and the others the rest.
#[test]
fn background_flows_have_next_to_nothing() {
    let back = GroupParams { policy: Some(policy::BACKGROUND.to_owned()), ..GroupParams::default() };
    let params = FcpParams { groups: [("own".to_owned(), back)].into(), budget: 2.0, ..FcpParams::default() };
    let params: Resolved = params.resolve(CustomPolicies::default()).and_then(|p| p.bind(&OwnGroup)).expect("valid");
    let mut host = Host::default();
    [(0, 0), (1, 7)].iter().for_each(|(flow, group)| {
        host.open((FlowId(*flow), PEER), account(*group), HOSTS[0], &params, Time::ZERO);
    });
    let target = |flow| host.account((FlowId(flow), PEER)).expect("open").target;
    assert!(close(target(0), 2e-4, 1e-9) && close(target(1), 2.0 - 2e-4, 1e-9), "{} {}", target(0), target(1));
}

/// §4.3: E_G = w_G / I_G; a link's price is worth p/E_G to the group G (the printed p·E_G is upside down).
#[test]
fn groups_are_told_the_price_at_their_exchange_rates() {
    let mut pricing = Aggregate::new(basis(), &[(7, 2.0), (9, 1.0)].into());
    let mut senders = [Scripted::new(0.0, |_| 10.0).tenant(7), Scripted::new(0.5, |_| 100.0).tenant(9)];
    play(&mut pricing, &mut senders, 6.0);
    let told = senders.each_ref().map(|sender| *sender.prices.last().expect("it has sent"));
    assert!(close(told[0] / told[1], (10.0 / 2.0) / (100.0 / 1.0), 0.02), "{told:?}");
}

/// §4, (1): Σ price·size ≤ W. Whatever the policies give and the network knows of, all flows together may
/// spend the budget.
#[test]
fn all_flows_of_a_host_spend_its_budget_at_most() {
    let params = FcpParams::default().resolve(CustomPolicies::default()).expect("valid");
    let mut host = Host::default();
    (0..5).for_each(|flow| host.open((FlowId(flow), PEER), account(0), HOSTS[0], &params, Time::ZERO));
    for (flow, spends) in [0.9, 0.0, 0.7, 0.1, 2.0].into_iter().enumerate() {
        host.on_feedback((FlowId(flow as u32), PEER), |a| a.spending = spends, HOSTS[0], &params, Time::ZERO);
    }
    let all: f64 = (0..5).map(|flow| host.allowance((FlowId(flow), PEER), 1.0)).sum();
    assert!(close(all, 1.0, 1e-12), "{all}");
    host.on_feedback((FlowId(4), PEER), |a| a.spending = 0.0, HOSTS[0], &params, Time::ZERO);
    host.on_feedback((FlowId(0), PEER), |a| a.spending = 0.1, HOSTS[0], &params, Time::ZERO);
    assert_eq!(host.allowance((FlowId(2), PEER), 1.0), 0.7, "less than all is spent");
}
