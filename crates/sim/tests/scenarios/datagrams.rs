//! One-way delays of datagrams: against closed forms, and recounted from the trace of packets.

use std::collections::BTreeMap;

use midpath_sim::{Column, RunOptions, RunOutput, Table};

use crate::common::reads::texts_of;
use crate::common::{mean_sd, run, run_plain, same_with_threads_and_as_bytes};

fn table(out: &RunOutput) -> &Table {
    out.table("datagrams").expect("there are datagrams")
}

/// Datagrams of 1,250 B over one link of 10 Mbps: 1 ms each, and 7 ms on the way.
fn link(flow: &str, stop: &str) -> String {
    format!(
        "scheme = \"udp\"\nstop = \"{stop}\"\n[topology]\nlinks = [{{ a = \"s\", b = \"d\", rate = \"10 Mbps\", delay = \"7 ms\" }}]\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\n{flow}\n"
    )
}

#[test]
fn beside_nothing_a_datagram_takes_propagation_and_transmission_exactly() {
    let text = "scheme = \"newreno\"\nstop = \"3 s\"\n[topology]\nlinks = [\
        { a = \"s\", b = \"r\", rate = \"100 Mbps\", delay = \"2 ms\" }, { a = \"r\", b = \"d\", rate = \"8 Mbps\", delay = \"11 ms\" }]\n\
        [[flow]]\nfrom = \"s\"\nto = \"d\"\nrate = \"1 Mbps\"\nlate_after = \"14.62 ms\"\n\
        [[flow]]\nfrom = \"d\"\nto = \"s\"\nscheme = \"udp\"\nwrite = \"160 B\"\ninterval = \"20 ms\"\nlate_after = \"13 ms\"\n";
    let out = run_plain(text);
    let all = table(&out);
    // 1,500 B: 0.12 ms and 1.5 ms; 188 B: 0.01504 ms and 0.188 ms.
    for (row, delay) in [(0, 0.01462), (1, 0.01320304)] {
        for column in ["delay_min_s", "delay_mean_s", "delay_p50_s", "delay_p99_s", "delay_p999_s", "delay_max_s"] {
            let seen = all.f64(column)[row];
            assert!((seen - delay).abs() < 1e-15, "{column} of {row}: {seen}");
        }
        assert_eq!(all.f64("jitter_s")[row], 0.0);
    }
    assert_eq!(all.u64("late_packets"), [0, all.u64("received_packets")[1]]);
    assert_eq!(all.u64("sent_packets")[1], 150);
}

/// Pollaczek and Khinchine: the mean wait of M/D/1 is ρ S / (2 (1 − ρ)). Sixteen runs; the interval of their mean has
/// four standard errors. The first write, at the start, meets an empty queue: one of 20,000.
#[test]
fn poisson_datagrams_wait_as_in_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let (service, sent) = (0.001, 20_000.0);
        let gap = service / load;
        let flow = format!("write = \"1222 B\"\ninterval = {{ kind = \"exponential\", mean = \"{} us\" }}", gap * 1e6);
        let text = link(&flow, &format!("{} s", gap * sent));
        let means: Vec<f64> = (1..=16)
            .map(|seed| run(&text, &RunOptions { seed: Some(seed), ..RunOptions::default() }))
            .inspect(|out| assert_eq!(out.summary("lost_packets"), Some(0.0)))
            .map(|out| table(&out).f64("delay_mean_s")[0])
            .collect();
        let (mean, sd) = mean_sd(means);
        let expected = 0.007 + service + load * service / (2.0 * (1.0 - load));
        println!("load {load}: {mean:.6} s, expected {expected:.6}, sd {sd:.7}");
        assert!((mean - expected).abs() < 4.0 * sd / 4.0, "{load}: {mean} and not {expected}, sd {sd}");
        assert!(sd < 0.1 * (expected - 0.008), "else this tests nothing: {sd}");
    }
}

/// Delays by flow, in order of arrival, by the trace.
fn traced(out: &RunOutput) -> BTreeMap<u32, Vec<u64>> {
    let trace = out.table("trace").expect("traced");
    let (events, kinds) = (texts_of(trace, "event"), texts_of(trace, "kind"));
    let numbers = |name: &str| match trace.column(name) {
        Some(Column::U32OrNone(values)) => values.clone(),
        _ => panic!("{name}"),
    };
    let (flows, packets, times) = (numbers("flow"), numbers("packet"), trace.u64("time_ps"));
    let (mut sent, mut delays) = (BTreeMap::new(), BTreeMap::<u32, Vec<u64>>::new());
    for i in (0..trace.rows()).filter(|i| kinds[*i] == "datagram") {
        match events[i].as_str() {
            "sent" => drop(sent.entry(packets[i]).or_insert(times[i])),
            "delivered" => delays.entry(flows[i]).or_default().push(times[i] - sent[&packets[i]]),
            _ => {}
        }
    }
    delays
}

/// Calls, Poisson writes and a burst of video beside a TCP that fills a queue, which drops some of them.
#[test]
fn the_table_says_what_a_recount_of_the_trace_says() {
    let flow =
        |keys: &str| format!("[[flow]]\nscheme = \"udp\"\nfrom = \"s\"\nto = \"d\"\nlate_after = \"40 ms\"\n{keys}\n");
    let text = format!(
        "scheme = \"cubic\"\nstop = \"12 s\"\n[trace]\nevents = 4000000\n[queue]\nlimit = \"40 packets\"\n[topology]\nlinks = [\
         {{ a = \"s\", b = \"r\", rate = \"100 Mbps\", delay = \"2 ms\" }}, {{ a = \"r\", b = \"d\", rate = \"8 Mbps\", delay = \"11 ms\" }}]\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\n{}{}{}",
        flow(
            "write = \"160 B\"\ninterval = \"20 ms\"\non = { kind = \"exponential\", mean = \"500 ms\" }\noff = { kind = \"exponential\", mean = \"300 ms\" }"
        ),
        flow(
            "write = { kind = \"exponential\", mean = \"900 B\" }\ninterval = { kind = \"exponential\", mean = \"10 ms\" }"
        ),
        flow("write = \"12 kB\"\ninterval = \"40 ms\"\nrate = \"4 Mbps\""),
    );
    let out = same_with_threads_and_as_bytes(&text, 3);
    let (all, recount) = (table(&out), traced(&out));
    let Some(Column::U32(flows)) = all.column("flow") else { panic!("flows") };
    assert_eq!(flows.len(), 3);
    for (row, flow) in flows.iter().enumerate() {
        let delays = &recount[flow];
        let n = delays.len() as f64;
        assert!(n > 200.0, "else this tests nothing: {n}");
        assert_eq!(all.u64("received_packets")[row], delays.len() as u64);
        assert_eq!(all.u64("late_packets")[row], delays.iter().filter(|d| **d > 40_000_000_000).count() as u64);
        let near = |column: &str, expected: f64| {
            let seen = all.f64(column)[row];
            assert!((seen - expected).abs() < 1e-12, "{column} of {flow}: {seen} and not {expected}");
        };
        let seconds = |ps: u64| ps as f64 / 1e12;
        near("delay_min_s", seconds(*delays.iter().min().unwrap()));
        near("delay_max_s", seconds(*delays.iter().max().unwrap()));
        near("delay_mean_s", delays.iter().map(|d| seconds(*d)).sum::<f64>() / n);
        let variation: f64 = delays.windows(2).map(|pair| seconds(pair[0].abs_diff(pair[1]))).sum();
        near("jitter_s", variation / (n - 1.0));
        let mut sorted = delays.clone();
        sorted.sort_unstable();
        for (column, q) in [("delay_p50_s", 0.5), ("delay_p95_s", 0.95), ("delay_p99_s", 0.99), ("delay_p999_s", 0.999)]
        {
            let exact = seconds(sorted[((n * q).ceil() as usize).clamp(1, delays.len()) - 1]);
            // Half a bucket: 16 to a doubling.
            assert!((all.f64(column)[row] / exact - 1.0).abs() <= 1.0 / 32.0, "{column} of {flow}: {exact}");
        }
    }
    let lost: u64 = all.u64("lost_packets").iter().sum();
    let on_the_way: u64 =
        (0..3).map(|r| all.u64("sent_packets")[r] - all.u64("received_packets")[r]).sum::<u64>() - lost;
    assert!(lost > 0 && on_the_way < 40, "{lost} lost, {on_the_way} on the way at the end");
}

/// Those whose datagrams all end in a queue have a row, without delays.
#[test]
fn a_flow_of_which_nothing_arrives_has_a_row() {
    let text = link("write = \"1222 B\"\ninterval = \"10 ms\"\nlate_after = \"1 s\"", "6 ms");
    let out = run_plain(&text);
    assert_eq!(table(&out).u64("received_packets"), [0]);
    assert!(table(&out).f64("delay_p50_s")[0].is_nan());
    let tcp = run_plain(&link("size = \"10 kB\"\nscheme = \"newreno\"", "1 s"));
    assert!(tcp.table("datagrams").is_none() && tcp.run["summary"]["datagrams"].is_null());
}
