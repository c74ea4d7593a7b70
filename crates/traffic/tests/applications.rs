//! Clients and jobs: what waits for what.

use std::path::Path;

use midpath_core::units::{Bytes, Rate, Time};
use midpath_traffic::{
    ClientSpec, Context, FlowList, FlowMemoryBudget, Host, HostTable, JobSpec, NoLinks, Specs, WaitFor, generate,
};
use proptest::prelude::*;
use serde_json::json;

fn drawn(hosts: u32, client: &[ClientSpec], job: &[JobSpec]) -> FlowList {
    let hosts = HostTable::new((0..hosts).map(|i| Host::new(format!("h{i}"), i, Rate::from_gbps(1))));
    let cx = Context {
        hosts: &hosts,
        links: &NoLinks,
        files: Path::new("").into(),
        seed: 1,
        horizon: None,
        room: FlowMemoryBudget::MAX,
        constant_rate: "udp",
        reads: &|_, _| Ok(()),
    };
    generate(&Specs { client, job, ..Specs::default() }, &cx).expect("valid")
}

/// Each step waits for as many ends as count for it, at the node where these are known, and starts something; from the
/// flows that start at times, all others follow.
fn check(flows: &FlowList) {
    let steps = flows.steps();
    let mut left: Vec<u32> = steps.iter().map(|step| step.ends).collect();
    let mut starts = vec![Vec::new(); steps.len()];
    let mut ready = Vec::new();
    for (i, flow) in flows.iter().enumerate() {
        match flow.wait {
            Some(WaitFor::Step(step)) => {
                assert_eq!(flow.src, steps[step as usize].node);
                starts[step as usize].push(i);
            }
            _ => ready.push(i),
        }
    }
    assert!(steps.iter().zip(&starts).all(|(step, starts)| step.then.is_some() || !starts.is_empty()));
    let mut ended = 0;
    while let Some(flow) = ready.pop() {
        ended += 1;
        let mut over: Vec<u32> = flows.counts_for(flow).collect();
        while let Some(step) = over.pop() {
            left[step as usize] -= 1;
            if left[step as usize] == 0 {
                ready.extend(&starts[step as usize]);
                if let Some((next, _)) = steps[step as usize].then {
                    assert_eq!(steps[next as usize].node, steps[step as usize].node);
                    over.push(next);
                }
            }
        }
    }
    assert_eq!(ended, flows.len());
    assert!(left.iter().all(|left| *left == 0));
}

proptest! {
    #[test]
    fn all_flows_of_a_job_come_to_start(
        n in 2u32..40, iterations in 1u64..4, size in 40u64..100_000,
        collective in prop::sample::select(vec!["all-reduce", "all-reduce-tree", "all-gather", "reduce-scatter", "all-to-all"]),
    ) {
        let job: JobSpec = serde_json::from_value(json!({
            "collective": collective, "hosts": ["h*"], "size": format!("{size} B"), "iterations": iterations,
            "compute_time": { "kind": "exponential", "mean": "1 ms" },
        })).expect("valid");
        let flows = drawn(n, &[], &[job]);
        check(&flows);
        let sent: u64 = flows.iter().filter_map(|flow| flow.size).map(|size| size.0).sum();
        let n = u64::from(n);
        let each = match collective {
            "all-reduce" | "all-reduce-tree" => 2 * (n - 1) * size,
            _ => (n - 1) * size,
        };
        prop_assert_eq!(sent, iterations * each);
        prop_assert_eq!(flows.len(), flows.jobs()[0].flows(iterations as usize - 1).end);
    }

    #[test]
    fn all_requests_come_to_start(
        clients in 1usize..4, requests in 1u64..30, concurrency in 1u64..5, fan_out in 1u64..5, think in any::<bool>(),
    ) {
        let mut spec = json!({
            "from": (0..clients).map(|i| format!("h{i}")).collect::<Vec<_>>(), "to": ["h*"], "requests": requests,
            "concurrency": concurrency.min(requests), "fan_out": fan_out, "jitter": "1 ms",
            "request_sizes": { "kind": "fixed", "size": "100 B" }, "reply_sizes": { "kind": "exponential", "mean": "3 kB" },
            "service_time": { "kind": "fixed", "time": "7 us" },
        });
        if think {
            spec["think_time"] = json!({ "kind": "pareto", "mean": "2 ms", "shape": 1.5 });
        }
        let client: ClientSpec = serde_json::from_value(spec).expect("valid");
        let flows = drawn(6, &[client.clone(), client], &[]);
        check(&flows);
        prop_assert_eq!(flows.len() as u64, 4 * clients as u64 * requests * fan_out);
        for client in flows.clients() {
            for i in 0..client.requests {
                let [asked, replies] = client.flows(i);
                for (a, b) in asked.zip(replies) {
                    let (a, b) = (flows.get(a), flows.get(b));
                    prop_assert_eq!((a.src, a.dst, a.size), (b.dst, b.src, Some(Bytes(100))));
                    prop_assert_eq!(b.start, Time::from_us(7));
                }
            }
        }
    }
}
