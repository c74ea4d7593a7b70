//! Clients that load pages (`page = "….har"`): closed forms, drawn pages, and what is refused.
//!
//! Responses come over a connection of their own, which opens with a handshake: a first response takes three round trips,
//! as with TLS 1.3.

use std::collections::BTreeMap;
use std::fmt::Write;

use midpath_core::files::Files;
use midpath_sim::{RunOptions, RunOutput, run_text};
use proptest::prelude::*;

use crate::common::cases;
use crate::common::critical::{check_critical, paths, spent};
use crate::common::reads::texts;

/// Committed before the first run.
const TOLERANCE: f64 = 0.01;
/// Of sums of times in picoseconds, in seconds.
const ROUNDING: f64 = 1e-9;
const MBPS: f64 = 100.0;
/// Of each of the two links.
const DELAY_MS: f64 = 5.0;

/// An entry of a HAR; times in milliseconds.
#[derive(Debug, Clone, Default)]
struct Entry {
    origin: usize,
    start: u64,
    wait: u64,
    receive: u64,
    request: u64,
    header: u64,
    body: u64,
    /// The entry that has asked for it.
    by: Option<usize>,
    html: bool,
    cached: bool,
    page: usize,
    /// Place among [`PRIORITIES`].
    priority: usize,
}

/// As Chromium writes them; the first is none.
const PRIORITIES: [&str; 6] = ["", "VeryHigh", "High", "Medium", "Low", "VeryLow"];

impl Entry {
    fn header_ms(&self) -> u64 {
        self.start + self.wait
    }
    fn end_ms(&self) -> u64 {
        self.header_ms() + self.receive
    }
    fn response(&self) -> u64 {
        self.header + self.body
    }
}

fn url(entries: &[Entry], i: usize) -> String {
    format!("https://o{}.example/r{i}", entries[i].origin)
}

/// The file, with the load event of each page.
fn har(entries: &[Entry], on_load: &[Option<u64>]) -> String {
    let at = |ms: u64| format!("2026-01-31T12:{:02}:{:02}.{:03}Z", ms / 60_000, ms / 1000 % 60, ms % 1000);
    let pages = on_load.iter().enumerate().map(|(page, on_load)| {
        let start = entries.iter().filter(|entry| entry.page == page).map(|entry| entry.start).min().unwrap_or(0);
        let on_load = on_load.map_or(-1, |ms| (ms - start) as i64);
        format!(
            "{{\"id\": \"p{page}\", \"startedDateTime\": \"{}\", \"pageTimings\": {{\"onLoad\": {on_load}}}}}",
            at(start)
        )
    });
    let rows = entries.iter().enumerate().map(|(i, entry)| {
        let mut row = format!(
            "{{\"pageref\": \"p{}\", \"startedDateTime\": \"{}\", \"request\": {{\"url\": \"{}\", \"headersSize\": {}, \
             \"bodySize\": 0}}, \"response\": {{\"status\": 200, \"headersSize\": {}, \"bodySize\": {}, \"content\": \
             {{\"mimeType\": \"{}\"}}}}, \"timings\": {{\"blocked\": -1, \"send\": 0, \"wait\": {}, \"receive\": {}}}",
            entry.page,
            at(entry.start),
            url(entries, i),
            entry.request,
            entry.header,
            entry.body,
            if entry.html { "text/html; charset=utf-8" } else { "text/javascript" },
            entry.wait,
            entry.receive
        );
        if let Some(by) = entry.by {
            write!(row, ", \"_initiator\": {{\"type\": \"script\", \"url\": \"{}\"}}", url(entries, by)).unwrap();
        }
        if entry.priority > 0 {
            write!(row, ", \"_priority\": \"{}\"", PRIORITIES[entry.priority]).unwrap();
        }
        if entry.cached {
            row += ", \"_fromCache\": \"disk\"";
        }
        row + "}"
    });
    let (pages, rows) = (pages.collect::<Vec<_>>().join(","), rows.collect::<Vec<_>>().join(","));
    format!("{{\"log\": {{\"version\": \"1.2\", \"pages\": [{pages}], \"entries\": [{rows}]}}}}")
}

fn star(hosts: usize, scheme: &str, queue: &str, client: &str) -> String {
    format!(
        "scheme = \"{scheme}\"\nschemes.fixed-window.window = 100000\nqueue.limit = \"{queue}\"\n[topology]\n\
         generate = \"star\"\nn = {hosts}\naccess = {{ rate = \"{MBPS} Mbps\", delay = \"{DELAY_MS} ms\" }}\n\
         [[client]]\npage = \"page.har\"\nto = [\"h*\"]\n{client}"
    )
}

fn load(text: &str, har: &str) -> Result<RunOutput, String> {
    let given = BTreeMap::from([("page.har".to_owned(), har.as_bytes().to_vec())]);
    let run = |options: RunOptions| {
        run_text(text, Files::Given(&given), &options, &mut |_| true).map(|out| out.expect("not cancelled"))
    };
    let plain = run(RunOptions::default()).map_err(|e| e.to_string())?;
    assert_eq!(plain.run["invariants"]["conserved"], true);
    for options in [2, 3].map(|threads| RunOptions { threads, ..RunOptions::default() }) {
        assert!(run(options).expect("the same").repeatable() == plain.repeatable(), "{text}");
    }
    let bytes = run(RunOptions { wire: true, ..RunOptions::default() }).expect("the same");
    assert!(bytes.repeatable() == plain.repeatable(), "{text}");
    Ok(plain)
}

fn wire_s(bytes: u64) -> f64 {
    let payload = bytes as f64;
    8.0 * (payload + 52.0 * (payload / 1448.0).ceil()) / (MBPS * 1e6)
}

const WAY_S: f64 = 2.0 * DELAY_MS / 1e3;

/// A request and its response over open connections, without computation and service.
fn exchange_s(entry: &Entry) -> f64 {
    let last_hop = |bytes: u64| wire_s(bytes.min(1448));
    2.0 * WAY_S
        + [entry.request, entry.response()].into_iter().map(|bytes| wire_s(bytes) + last_hop(bytes)).sum::<f64>()
}

fn onload_s(out: &RunOutput) -> f64 {
    out.table("pages").expect("a page").f64("onload_s")[0]
}

/// Bodies in an order of three decades.
fn body(i: u64) -> u64 {
    2_000 + 90_000 * (i * 7 % 4)
}

#[test]
fn a_chain_takes_its_exchanges_one_after_another() {
    let mut entries: Vec<Entry> = Vec::new();
    for i in 0..12 {
        let before = entries.last().map_or(0, Entry::end_ms);
        let by = (i > 0).then(|| i as usize - 1);
        let (start, wait, receive) = (before + 3 * i, 5 * i, 20);
        entries.push(Entry {
            start,
            wait,
            receive,
            request: 300 + i,
            header: 200,
            body: body(i),
            by,
            ..Entry::default()
        });
    }
    let computed: u64 = (0..12).map(|i| 3 * i + 5 * i).sum();
    let wanted = 4.0 * WAY_S + computed as f64 / 1e3 + entries.iter().map(exchange_s).sum::<f64>();
    for connections in ["multiplex", "reuse"] {
        let client = format!("from = [\"h0\"]\nrequests = 1\nconnections = \"{connections}\"\n");
        let found = onload_s(&load(&star(2, "fixed-window", "1 GB", &client), &har(&entries, &[None])).expect("valid"));
        assert!((found / wanted - 1.0).abs() < TOLERANCE, "{connections}: {found} s, {wanted} s");
    }
    // A handshake each way for each.
    let client = "from = [\"h0\"]\nrequests = 1\n";
    let found = onload_s(&load(&star(2, "fixed-window", "1 GB", client), &har(&entries, &[None])).expect("valid"));
    let wanted = wanted + 11.0 * 4.0 * WAY_S;
    assert!((found / wanted - 1.0).abs() < TOLERANCE, "new: {found} s, {wanted} s");
}

#[test]
fn a_fan_takes_its_bytes_over_the_rate() {
    let root = Entry { wait: 10, receive: 10, request: 400, header: 300, body: 40_000, ..Entry::default() };
    let mut entries = vec![root.clone()];
    for i in 0..20 {
        entries.push(Entry {
            start: 20,
            wait: 0,
            receive: 50,
            request: 300,
            header: 200,
            body: body(i),
            by: Some(0),
            ..Entry::default()
        });
    }
    let client = "from = [\"h0\"]\nrequests = 1\nconnections = \"multiplex\"\n";
    let found = onload_s(&load(&star(2, "fixed-window", "1 GB", client), &har(&entries, &[None])).expect("valid"));
    let first = 4.0 * WAY_S + 0.01 + exchange_s(&root);
    let all: f64 = entries[1..].iter().map(|entry| wire_s(entry.response())).sum();
    let wanted = first + 2.0 * WAY_S + 2.0 * wire_s(300) + all + wire_s(1448);
    assert!((found / wanted - 1.0).abs() < TOLERANCE, "{found} s, {wanted} s");
}

/// HTML is read as it comes: what it names waits for its header, so much later as it did.
#[test]
fn what_a_document_names_does_not_wait_for_its_end() {
    let document =
        Entry { wait: 10, receive: 400, request: 400, header: 300, body: 2_000_000, html: true, ..Entry::default() };
    let script = Entry {
        start: 25,
        wait: 0,
        receive: 9,
        request: 300,
        header: 200,
        body: 900,
        by: Some(0),
        origin: 1,
        ..Entry::default()
    };
    let client = "from = [\"h0\"]\nrequests = 1\nconnections = \"multiplex\"\n";
    let out = load(&star(3, "fixed-window", "1 GB", client), &har(&[document, script], &[None])).expect("valid");
    let resources = out.table("resources").unwrap();
    let header = resources.f64("start_s")[0] + resources.f64("ttfb_s")[0];
    assert!((resources.f64("start_s")[1] - header - 0.015).abs() < ROUNDING);
    assert!(resources.f64("completion_s")[1] + resources.f64("start_s")[1] < onload_s(&out));
}

/// The load event waits for what had come before it in the recording, and as long after that.
#[test]
fn the_load_event_is_that_of_the_recording() {
    let of = |start: u64, body: u64| Entry {
        start,
        wait: 1,
        receive: 9,
        request: 300,
        header: 200,
        body,
        by: (start > 0).then_some(0),
        ..Entry::default()
    };
    let entries = [of(0, 9_000), of(15, 9_000), of(40, 900_000)];
    let client = "from = [\"h0\"]\nrequests = 1\nconnections = \"multiplex\"\ndeadline = \"1 ms\"\n";
    let out = load(&star(2, "fixed-window", "1 GB", client), &har(&entries, &[Some(32)])).expect("valid");
    let (pages, resources) = (out.table("pages").unwrap(), out.table("resources").unwrap());
    let end = resources.f64("start_s")[1] + resources.f64("completion_s")[1];
    assert!((pages.f64("onload_s")[0] - end - 0.007).abs() < ROUNDING);
    assert!(pages.f64("loaded_s")[0] > pages.f64("onload_s")[0] + 0.03);
    assert_eq!(out.run["pages"][0]["missed"], 1);
}

#[test]
fn an_origin_has_six_connections_with_a_request_each() {
    let mut entries = vec![Entry { wait: 1, receive: 1, request: 300, header: 200, body: 500, ..Entry::default() }];
    for i in 0..30 {
        entries.push(Entry {
            start: 2,
            wait: 0,
            receive: 9,
            request: 300,
            header: 200,
            body: body(i),
            by: Some(0),
            ..Entry::default()
        });
    }
    let text = star(2, "fixed-window", "1 GB", "from = [\"h0\"]\nrequests = 2\nconnections = \"reuse\"\n");
    let out = load(&text, &har(&entries, &[None])).expect("valid");
    let resources = out.table("resources").unwrap();
    assert_eq!(resources.rows(), 62);
    assert_eq!(under_way(&out, 0), 6);
    assert_eq!(out.run["pages"][0]["completed"], 2);
    let groups = texts(&out, "flows", "group");
    assert_eq!(groups.iter().filter(|group| *group == "client0-connections").count(), 12);
    assert_eq!(groups.iter().filter(|group| *group == "client0").count(), 3 * 62);
}

/// The most requests to one origin of a client that are under way at a time, over loads of one loop.
fn under_way(out: &RunOutput, origin: usize) -> usize {
    let (resources, origins) = (out.table("resources").unwrap(), texts(out, "resources", "origin"));
    let (start, took) = (resources.f64("start_s"), resources.f64("completion_s"));
    let own = (0..resources.rows()).filter(|i| origins[*i] == format!("https://o{origin}.example"));
    let mut events: Vec<(f64, i32)> = own.flat_map(|i| [(start[i], 1), (start[i] + took[i] - ROUNDING, -1)]).collect();
    events.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut now = 0;
    events
        .into_iter()
        .map(|(_, change)| {
            now += change;
            now
        })
        .max()
        .unwrap_or(0) as usize
}

/// What an entry waits for, worked out a second time: the nearest that is loaded, whether its header alone, and the
/// computation.
fn cause(entries: &[Entry], i: usize, begin: u64) -> (Option<usize>, bool, u64) {
    let mut by = entries[i].by;
    while let Some(cached) = by.filter(|by| entries[*by].cached) {
        by = entries[cached].by;
    }
    let start = entries[i].start;
    match by.map(|by| (by, &entries[by])) {
        None => (None, false, start - begin),
        Some((by, before)) if before.end_ms() <= start => (Some(by), false, start - before.end_ms()),
        Some((by, before)) => (Some(by), true, start - before.header_ms()),
    }
}

/// What holds of every load: each resource is loaded once and whole, none before what it waits for; no page is faster than
/// its critical path and its bytes; the parts of the page load time add up.
fn check(out: &RunOutput, entries: &[Entry], on_load: &[Option<u64>], loads: usize) {
    let (pages, resources, flows) =
        (out.table("pages").unwrap(), out.table("resources").unwrap(), out.table("flows").unwrap());
    assert_eq!(pages.rows(), loads);
    check_critical(out);
    let (paths, client) = (paths(out), texts(out, "pages", "client"));
    let page = match pages.column("page") {
        Some(midpath_sim::Column::U32(all)) => all.clone(),
        _ => panic!(),
    };
    let entry = match resources.column("entry") {
        Some(midpath_sim::Column::U32(all)) => all.clone(),
        _ => panic!(),
    };
    let flow = match resources.column("flow") {
        Some(midpath_sim::Column::U32(all)) => all.clone(),
        _ => panic!(),
    };
    let [ready, start, ttfb, took, waits_for] =
        ["ready_s", "start_s", "ttfb_s", "completion_s", "waits_for"].map(|c| resources.f64(c));
    let mut row = 0;
    for (load, number) in page.iter().map(|page| *page as usize).enumerate() {
        let own: Vec<usize> =
            (0..entries.len()).filter(|i| entries[*i].page == number && !entries[*i].cached).collect();
        let all_begin = entries.iter().filter(|entry| entry.page == number).map(|entry| entry.start).min().unwrap();
        let rows: BTreeMap<usize, usize> = (row..row + own.len()).map(|row| (entry[row] as usize, row)).collect();
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), own);
        row += own.len();
        let begin = pages.f64("start_s")[load];
        let mut least = BTreeMap::<usize, (f64, f64)>::new();
        let mut order = own.clone();
        order.sort_by_key(|i| (entries[*i].start, *i));
        for i in order {
            let (one, r) = (&entries[i], rows[&i]);
            let (by, header, compute) = cause(entries, i, all_begin);
            let compute = compute as f64 / 1e3;
            assert_eq!(by.map_or(-1.0, |by| by as f64), if waits_for[r].is_nan() { -1.0 } else { waits_for[r] }, "{i}");
            let (came, soonest) = by.map_or((begin, 0.0), |by| {
                let b = rows[&by];
                let (head, end) = (start[b] + ttfb[b], start[b] + took[b]);
                if header { (head, least[&by].0) } else { (end, least[&by].1) }
            });
            assert!((ready[r] - came - compute).abs() < ROUNDING, "{i}: {} {came} {compute}", ready[r]);
            assert!(start[r] >= ready[r] - ROUNDING);
            let rate = |bytes: u64| 8.0 * bytes as f64 / (MBPS * 1e6);
            let asked = soonest + compute + 2.0 * WAY_S + one.wait as f64 / 1e3 + rate(one.request);
            least.insert(i, (asked + rate(one.header), asked + rate(one.response())));
            assert!(
                start[r] + ttfb[r] - begin >= least[&i].0 - ROUNDING
                    && start[r] + took[r] - begin >= least[&i].1 - ROUNDING
            );
            for (message, size) in [one.request, one.header, one.body].into_iter().enumerate() {
                let f = flow[r] as usize + message;
                assert_eq!(flows.f64("size_bytes")[f], size as f64);
                assert!(!flows.f64("fct_s")[f].is_nan());
            }
        }
        let gate = |i: &usize| on_load[number].is_none_or(|at| entries[*i].end_ms() <= at);
        let gating: Vec<usize> =
            if own.iter().any(gate) { own.iter().copied().filter(gate).collect() } else { own.clone() };
        let last = gating.iter().map(|i| start[rows[i]] + took[rows[i]] - begin).fold(0.0, f64::max);
        let recorded = gating.iter().map(|i| entries[*i].end_ms()).max().unwrap();
        let rest = on_load[number].filter(|at| *at >= recorded).map_or(0, |at| at - recorded) as f64 / 1e3;
        let onload = pages.f64("onload_s")[load];
        assert!((onload - last - rest).abs() < ROUNDING, "{onload} {last} {rest}");
        let bytes: u64 = gating.iter().map(|i| entries[*i].response()).sum();
        assert!(onload >= 8.0 * bytes as f64 / (MBPS * 1e6));
        assert!(onload >= gating.iter().map(|i| least[i].1).fold(0.0, f64::max) - ROUNDING);
        let parts: f64 =
            ["compute_s", "blocked_s", "service_s", "network_s"].iter().map(|part| pages.f64(part)[load]).sum();
        assert!((parts - onload).abs() < ROUNDING, "{parts} {onload}");
        let path = &paths[&(client[load].clone(), load as u32)];
        for part in ["compute", "blocked", "service", "network"] {
            let own = pages.f64(&format!("{part}_s"))[load];
            assert!((spent(path, part) - own).abs() < ROUNDING, "{part}: {own} {path:?}");
        }
    }
    assert_eq!(row, resources.rows());
}

prop_compose! {
    /// Deep: each waits for one of the two before it.
    fn deep()(n in 3usize..25)(
        drawn in prop::collection::vec((0usize..2, 0usize..2, 0u64..30, 0u64..20, 1u64..30, 1u64..200_000), n),
    ) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (i, (back, origin, compute, wait, receive, body)) in drawn.into_iter().enumerate() {
            let by = i.checked_sub(1 + back).or(i.checked_sub(1));
            let start = by.map_or(0, |by| entries[by].end_ms() + compute);
            let priority = (body % 6) as usize;
            entries.push(Entry { origin, start, wait, receive, request: 250 + body % 300, header: 1 + body % 700, body, by, priority, ..Entry::default() });
        }
        entries
    }
}

prop_compose! {
    /// Wide: most wait for a document, some as it comes; some are cached; two pages.
    fn wide()(n in 10usize..60)(
        drawn in prop::collection::vec((0usize..4, 0usize..5, 0u64..40, 0u64..60, 1u64..80, 1u64..30_000, 0u64..10), n),
        on_load in prop::array::uniform2(prop::option::of(1u64..400)),
    ) -> (Vec<Entry>, Vec<Option<u64>>) {
        let mut entries: Vec<Entry> = Vec::new();
        let mut first = [None; 2];
        for (i, (other, origin, later, wait, receive, body, kind)) in drawn.into_iter().enumerate() {
            let page = i % 2;
            let by = first[page].map(|root| if other == 0 && i > 6 { i - 2 } else { root });
            let before = by.map(|by: usize| &entries[by]);
            let start = before.map_or(5_000 * page as u64, |before| {
                if before.html && kind % 2 == 0 { before.header_ms() + later } else { before.end_ms() + later }
            });
            let cached = by.is_some() && kind == 9;
            entries.push(Entry {
                origin, start, wait, receive, request: 300, header: 1 + body % 400, body, by, html: by.is_none(), cached,
                priority: body as usize % 6, page,
            });
            first[page] = first[page].or(Some(i));
        }
        let begin = |page: usize| 5_000 * page as u64;
        let on_load = on_load.iter().enumerate().map(|(page, at)| at.map(|at| begin(page) + at)).collect();
        (entries, on_load)
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    #[ignore = "nightly"]
    fn deep_pages_are_loaded(entries in deep(), multiplex in any::<bool>(), loads in 1usize..3) {
        let connections = if multiplex { "multiplex" } else { "reuse" };
        let client = format!("from = [\"h0\"]\nrequests = {loads}\nthink_time = \"20 ms\"\nconnections = \"{connections}\"\n");
        let out = load(&star(3, "cubic", "60 kB", &client), &har(&entries, &[None])).map_err(TestCaseError::fail)?;
        check(&out, &entries, &[None], loads);
    }

    #[test]
    fn wide_pages_are_loaded(
        (entries, on_load) in wide(), connections in prop::sample::select(vec!["new", "reuse", "multiplex"]), bulk in any::<bool>(),
    ) {
        let mut client = format!(
            "from = [\"h0\", \"h1\"]\nrequests = 3\nconcurrency = 2\nconnections = \"{connections}\"\njitter = \"9 ms\"\n"
        );
        if bulk {
            client += "[[flow]]\nfrom = \"h2\"\nto = \"h0\"\nsize = \"4 MB\"\n";
        }
        let out = load(&star(5, "newreno", "40 kB", &client), &har(&entries, &on_load)).map_err(TestCaseError::fail)?;
        check(&out, &entries, &on_load, 6);
    }
}

/// What is urgent goes before what has come earlier and has not begun: a response beside 20 others, and a request beside as
/// many that wait for a connection.
#[test]
fn urgent_resources_go_first() {
    let completion = |scheme: &str, connections: &str, priority: usize| {
        let mut entries = vec![Entry { wait: 1, receive: 1, request: 300, header: 200, body: 500, ..Entry::default() }];
        let one =
            Entry { start: 2, receive: 9, request: 300, header: 200, body: 100_000, by: Some(0), ..Entry::default() };
        entries.extend(std::iter::repeat_n(Entry { priority: 3, ..one.clone() }, 20));
        entries.push(Entry { priority, ..one });
        let client = format!("from = [\"h0\"]\nrequests = 1\nconnections = \"{connections}\"\n");
        let out = load(&star(2, scheme, "1 MB", &client), &har(&entries, &[None])).expect("valid");
        check(&out, &entries, &[None], 1);
        let resources = out.table("resources").unwrap();
        resources.f64("start_s")[21] + resources.f64("completion_s")[21] - resources.f64("ready_s")[21]
    };
    // The last of 21, or the next after those that have begun.
    for (scheme, connections, share) in
        [("newreno", "multiplex", 0.5), ("newreno", "reuse", 0.8), ("mptcp", "multiplex", 0.5), ("mptcp", "reuse", 0.8)]
    {
        let [urgent, equal, last] = [1, 3, 5].map(|priority| completion(scheme, connections, priority));
        assert!(urgent < share * equal && last == equal, "{scheme}, {connections}: {urgent} s, {equal} s, {last} s");
    }
}

/// Loops that start at once and share nothing but the network: with one loop the limit of each is that of all.
/// A document, and what it names, from two origins.
fn shop(resources: u64) -> Vec<Entry> {
    let document = Entry { wait: 1, receive: 1, request: 300, header: 200, body: 500, ..Entry::default() };
    let named = (0..resources).map(|i| Entry {
        start: 2 + i % 5,
        origin: i as usize % 2,
        wait: 3,
        receive: 9,
        request: 300,
        header: 200,
        body: body(i),
        by: Some(0),
        ..Entry::default()
    });
    [document].into_iter().chain(named).collect()
}

#[test]
fn limits_hold_under_loss() {
    let entries = shop(40);
    for (connections, most) in [("reuse", 6), ("new", 21), ("multiplex", 21)] {
        let text =
            star(3, "newreno", "20 kB", &format!("from = [\"h0\"]\nrequests = 2\nconnections = \"{connections}\"\n"));
        let out = load(&text, &har(&entries, &[None])).expect("valid");
        assert!(under_way(&out, 0) <= most && under_way(&out, 1) <= most.min(20), "{connections}");
        assert_eq!(under_way(&out, 1) > 6, connections != "reuse");
        check(&out, &entries, &[None], 2);
    }
}

#[test]
#[ignore = "nightly"]
fn pages_are_loaded_over_every_transport_of_streams() {
    let entries = shop(12);
    for scheme in [
        "newreno", "cubic", "dctcp", "prague", "bbr", "mptcp", "swift", "rcp", "xcp", "hpcc", "powertcp", "fcp",
        "inrpp", "bolt",
    ] {
        for connections in ["reuse", "new", "multiplex"] {
            let client = format!("from = [\"h0\"]\nrequests = 2\nconnections = \"{connections}\"\n");
            let out = load(&star(3, scheme, "40 kB", &client), &har(&entries, &[None])).expect("valid");
            assert_eq!(out.run["pages"][0]["completed"], 2, "{scheme}, {connections}");
        }
    }
}

/// A connection without a request has no data: who reads for ten seconds stalls nothing.
#[test]
fn reading_is_no_stall() {
    let entries = [Entry { wait: 1, receive: 1, request: 300, header: 200, body: 9_000, ..Entry::default() }];
    for connections in ["reuse", "multiplex"] {
        let client = format!(
            "from = [\"h0\"]\nrequests = 3\nconnections = \"{connections}\"\nthink_time = {{ kind = \"fixed\", time = \"10 s\" }}\n"
        );
        let out = load(&star(2, "newreno", "40 kB", &client), &har(&entries, &[None])).expect("valid");
        assert_eq!(out.run["pages"][0]["completed"], 3);
        assert_eq!(out.run["warnings"], serde_json::json!([]), "{connections}");
    }
}

#[test]
fn pages_wait_for_flows_and_flows_for_pages() {
    let entries = [Entry { wait: 1, receive: 1, request: 300, header: 200, body: 500, ..Entry::default() }];
    let more = "from = [\"h0\"]\nrequests = 2\ngroup = \"shop\"\nafter = [\"load\"]\nworkers = 1\n[[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"1 MB\"\n\
        group = \"load\"\n[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 kB\"\nafter = [\"shop\"]\n";
    let out = load(&star(2, "newreno", "40 kB", more), &har(&entries, &[None])).expect("valid");
    let flows = out.table("flows").unwrap();
    let groups = texts(&out, "flows", "group");
    let end = |name: &str| {
        let of = (0..groups.len()).filter(|i| groups[*i] == name);
        of.map(|i| flows.f64("start_s")[i] + flows.f64("fct_s")[i]).fold(0.0, f64::max)
    };
    let pages = out.table("pages").unwrap();
    assert!(
        pages.f64("start_s")[0] >= end("load")
            && flows.f64("start_s")[groups.iter().position(|g| g == "flows").unwrap()] >= end("shop")
    );
    let rest = pages.f64("start_s")[0] + pages.f64("loaded_s")[0] - pages.f64("start_s")[1];
    assert!(rest.abs() < ROUNDING, "no time to think: {rest}");
}

#[test]
fn what_cannot_be_loaded_is_refused_by_its_key() {
    let entries = [Entry { wait: 1, receive: 1, request: 300, header: 200, body: 500, ..Entry::default() }];
    let good = har(&entries, &[None]);
    let of = |more: &str, har: &str| {
        load(&star(2, "newreno", "40 kB", &format!("from = [\"h0\"]\nrequests = 1\n{more}")), har).expect_err("refused")
    };
    for (more, key, cure) in [
        ("request_sizes = { kind = \"fixed\", size = \"1 kB\" }\n", "request_sizes", "leave it out"),
        ("fan_out = 2\n", "fan_out", "leave it out"),
        ("timeout = \"1 s\"\n", "timeout", "leave it out"),
        ("scheduling = \"ps\"\n", "scheduling", "give these, or leave it out"),
        ("rate = \"1 Mbps\"\n", "page", "without `rate`"),
        ("scheme = \"ndn\"\n", "client[0]", "give it another `scheme`"),
        ("concurrency = 2\n", "concurrency", "reduce it"),
    ] {
        let message = of(more, &good);
        assert!(message.contains(key) && message.contains(cure), "{message}");
    }
    for (har, place, cure) in [
        (&good[..good.len() / 2], "page.har: ends too early", "export it again"),
        ("[]", "page.har: not a HAR", ""),
        ("{\"log\": {\"entries\": []}}", "page.har: no entry loads anything", "record the page with an empty cache"),
        (
            &good.replace("\"wait\": 1", "\"wait\": -5"),
            "log.entries[0] (https://o0.example/r0): timings.wait is -5 ms",
            "write 0",
        ),
        (&good.replace("T12:", "X"), "log.entries[0]", "correct it"),
        (&good.replace("\"bodySize\": 500", "\"bodySize\": -7"), "response.bodySize is -7", "write 0"),
        (&good.replace("\"wait\": 1", "\"wait\": \"long\""), "log.entries[0]: invalid type", ""),
    ] {
        let message = of("", har);
        assert!(message.contains("client[0].page") && message.contains(place) && message.contains(cure), "{message}");
        assert!(message.starts_with("line "), "{message}");
    }
    let plain = star(2, "newreno", "40 kB", "from = [\"h0\"]\nrequests = 1\n").replace("page = \"page.har\"\n", "");
    let message = load(&plain, &good).expect_err("no sizes");
    assert!(
        message.contains("client[0].request_sizes: is missing") && message.contains("a `page` or a `video`"),
        "{message}"
    );
    let sizes =
        "request_sizes = { kind = \"fixed\", size = \"1 kB\" }\nreply_sizes = { kind = \"fixed\", size = \"1 kB\" }\n";
    let message = load(&format!("{plain}{sizes}connections = \"multiplex\"\n"), &good).expect_err("no page");
    assert!(message.contains("client[0].connections") && message.contains("use `reuse`"), "{message}");
}

/// Set up in about a second: nothing is done for each pair of entries.
#[test]
fn a_page_of_twenty_thousand_entries_is_set_up() {
    let mut entries: Vec<Entry> = Vec::new();
    for i in 0..20_000u64 {
        let by = (i > 0).then(|| (i as usize - 1) / 3);
        let start = by.map_or(0, |by| entries[by].end_ms() + i % 3);
        entries.push(Entry {
            start,
            origin: i as usize % 40,
            wait: 1,
            receive: 1,
            request: 300,
            header: 200,
            body: 1000,
            by,
            ..Entry::default()
        });
    }
    let text = format!(
        "stop = \"1 us\"\n{}",
        star(9, "newreno", "40 kB", "from = [\"h0\"]\nrequests = 1\nconnections = \"reuse\"\n")
    );
    let given = BTreeMap::from([("page.har".to_owned(), har(&entries, &[None]).into_bytes())]);
    let out =
        run_text(&text, Files::Given(&given), &RunOptions::default(), &mut |_| true).expect("valid").expect("whole");
    assert_eq!(out.table("flows").unwrap().rows(), 60_000 + 2 * 6 * 40);
}
