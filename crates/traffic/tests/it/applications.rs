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
        seed: &1.into(),
        horizon: None,
        room: FlowMemoryBudget::MAX,
        constant_rate: "udp",
        reads: &|_, _| Ok(()),
    };
    generate(&Specs { client, job, ..Specs::default() }, &cx).expect("valid")
}

/// Each step waits for as many ends as count for it, at the node where these are known, and starts something; from the
/// flows that start at times, all others follow, but copies of requests that have a reply.
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
    let said = |step: usize| flows.rare(step).unwrap_or_default();
    let leads_on = |step: usize| said(step).then.is_some() || said(step).call.is_some() || !starts[step].is_empty();
    assert!((0..steps.len()).all(leads_on));
    let (mut ended, mut copies) = (0, 0);
    while let Some(flow) = ready.pop() {
        ended += 1;
        copies += usize::from(flows.guard(flow).is_some());
        let mut over: Vec<u32> = flows.counts_for(flow).collect();
        while let Some(step) = over.pop() {
            let again = said(step as usize).call.is_some() && left[step as usize] == 0;
            if again {
                continue;
            }
            left[step as usize] -= 1;
            if left[step as usize] == 0 {
                ready.extend(&starts[step as usize]);
                let then = said(step as usize).then.map(|(next, _)| next.get());
                for next in then.into_iter().chain(flows.more_then(step).iter().map(|(next, _)| *next)) {
                    assert_eq!(steps[next as usize].node, steps[step as usize].node);
                    over.push(next);
                }
            }
        }
    }
    let guarded = (0..flows.len()).filter(|i| flows.guard(*i).is_some()).count();
    assert_eq!((ended, copies), (flows.len(), guarded));
    assert!(left.iter().all(|left| *left == 0));
}

proptest! {
    #[test]
    fn all_flows_of_a_job_come_to_start(
        n in 2u32..40, iterations in 1u64..4, size in 40u64..100_000, batches in 1u64..5,
        collective in prop::sample::select(vec![
            "all-reduce", "all-reduce-tree", "all-gather", "reduce-scatter", "all-to-all", "all-reduce-halving",
            "all-gather-doubling", "reduce-scatter-halving", "pipeline",
        ]),
    ) {
        let power = collective.ends_with("ing");
        let n = if power { 1 << n.ilog2() } else { n };
        let mut job = json!({
            "collective": collective, "hosts": ["h*"], "size": format!("{size} B"), "iterations": iterations,
            "compute_time": { "kind": "exponential", "mean": "1 ms" },
        });
        if collective == "pipeline" {
            job["micro_batches"] = json!(batches);
        }
        let job: JobSpec = serde_json::from_value(job).expect("valid");
        let flows = drawn(n, &[], &[job]);
        check(&flows);
        let sent: u64 = flows.iter().filter_map(|flow| flow.size).map(|size| size.0).sum();
        let n = u64::from(n);
        let each = match collective {
            "all-reduce" | "all-reduce-tree" | "all-reduce-halving" => 2 * (n - 1) * size,
            "pipeline" => 2 * batches * (n - 1) * size,
            _ => (n - 1) * size,
        };
        prop_assert_eq!(sent, iterations * each);
        prop_assert_eq!(flows.len(), flows.jobs()[0].flows(iterations as usize - 1).end);
    }

    #[test]
    fn all_requests_come_to_start(
        clients in 1usize..4, requests in 1u64..30, concurrency in 1u64..5, fan_out in 1u64..5, think in any::<bool>(),
        levels in prop::collection::vec(1u64..4, 0..3), retries in 0u64..3, hedges in any::<bool>(), workers in 0u64..3,
    ) {
        let mut spec = json!({
            "from": (0..clients).map(|i| format!("h{i}")).collect::<Vec<_>>(), "to": ["h*"], "requests": requests,
            "concurrency": concurrency.min(requests), "fan_out": fan_out, "jitter": "1 ms",
            "request_sizes": { "kind": "fixed", "size": "100 B" }, "reply_sizes": { "kind": "exponential", "mean": "3 kB" },
            "service_time": { "kind": "fixed", "time": "7 us" },
            "then": levels.iter().map(|fan_out| json!({ "to": ["h*"], "fan_out": fan_out })).collect::<Vec<_>>(),
        });
        if think {
            spec["think_time"] = json!({ "kind": "pareto", "mean": "2 ms", "shape": 1.5 });
        }
        if retries > 0 {
            spec["timeout"] = json!("10 ms");
            spec["retries"] = json!(retries);
            spec["backoff"] = json!({ "kind": "exponential", "mean": "1 ms" });
        }
        if hedges {
            spec["hedge_after"] = json!("3 ms");
        }
        if workers > 0 {
            spec["workers"] = json!(workers);
            spec["tied"] = json!(hedges);
        }
        let client: ClientSpec = serde_json::from_value(spec).expect("valid");
        let flows = drawn(6, &[client.clone(), client], &[]);
        check(&flows);
        let copies = (retries + 1) * (1 + u64::from(hedges));
        let calls: u64 = levels.iter().scan(copies * fan_out, |all, level| { *all *= level; Some(*all) }).sum();
        prop_assert_eq!(flows.len() as u64, 4 * clients as u64 * requests * (copies * fan_out + calls));
        for client in flows.clients() {
            for i in 0..client.requests {
                let [asked, replies] = client.flows(i);
                for (a, b) in asked.clone().zip(replies.clone()) {
                    let (a, b) = (flows.get(a), flows.get(b));
                    prop_assert_eq!((a.src, a.dst, a.size), (b.dst, b.src, Some(Bytes(100))));
                    // Servers of levels work before they ask.
                    prop_assert_eq!(b.start, Time::from_us(if levels.is_empty() { 7 } else { 0 }));
                }
                // Copies carry the same to different servers, later and later.
                for k in 0..client.fan_out {
                    let [asked, replies] = client.copies(i, k);
                    for (a, b) in asked.clone().zip(asked.clone().skip(1)) {
                        let (a, b) = (flows.get(a), flows.get(b));
                        prop_assert!(a.dst != b.dst && a.start < b.start && a.wait == b.wait);
                    }
                    prop_assert!(replies.clone().all(|reply| flows.get(reply).size == flows.get(replies.start).size));
                }
            }
        }
    }
}
