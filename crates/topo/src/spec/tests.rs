use std::path::PathBuf;

use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::*;
use crate::graph::Topology;
use midpath_core::spec::SpecError;

fn spec(table: Value) -> TopologySpec {
    serde_json::from_value(table).expect("the table has the right keys")
}

fn fixtures() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures").into()
}

fn try_built(table: Value) -> Result<Topology, SpecError> {
    build(&spec(table), &fixtures(), 1)
}

fn built(table: Value) -> Topology {
    try_built(table).expect("valid")
}

/// The error as the scenario loader prints it.
fn refused(table: Value) -> String {
    try_built(table.clone()).err().unwrap_or_else(|| panic!("{table} must be refused")).to_string()
}

fn link_of<'a>(t: &'a Topology, a: &str, b: &str) -> &'a crate::graph::LinkInfo {
    let (a, b) = (t.find(a).expect("named"), t.find(b).expect("named"));
    let port = t.port_to(a, b).expect("linked");
    &t.links()[t.ports(a)[port as usize].link as usize]
}

fn wire() -> Value {
    json!({"rate": "1 Gbps", "delay": "5 ms"})
}

#[test]
fn links_written_in_the_scenario() {
    let t = built(json!({
        "nodes": [{"name": "r0", "class": "core", "x": 8.5, "y": 47.4}, {"name": "h9", "kind": "host"}],
        "links": [
            {"a": "h0", "b": "r0", "rate": "40 Mbps", "delay": "5 ms", "mtu": 9000, "weight": 2.5, "corruption": "1e-4"},
            {"a": "r0", "b": "h9", "rate": "10 Mbps", "rate_back": "1 Mbps", "delay": "0 ms"},
            {"a": "r0", "b": "r1", "rate": "10 Mbps", "delay": "1 ns"},
            {"a": "r1", "b": "h9", "rate": "10 Mbps", "delay": "1 ms"}
        ]
    }));
    let names: Vec<_> = t.nodes().iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["r0", "h9", "h0", "r1"]);
    assert_eq!(t.hosts().collect::<Vec<_>>(), [1, 2]);
    assert_eq!((t.nodes()[0].class.as_deref(), t.nodes()[3].class.as_deref()), (Some("core"), Some("edge")));
    let l = &t.links()[0];
    assert_eq!(
        (l.rate, l.delay, l.mtu, l.weight, l.corruption),
        (Rate::from_mbps(40), Time::from_ms(5), 9000, 2.5, 1e-4)
    );
    assert_eq!((t.links()[1].rate_from(1), t.links()[1].rate_from(0)), (Rate::from_mbps(1), Rate::from_mbps(10)));
    assert_eq!(t.links()[1].delay, Time::from_us(1), "a zero delay gets the floor");
    assert_eq!(t.links()[2].delay, Time::from_ns(1), "any other stays");
}

#[test]
fn links_without_a_distance_take_the_default_and_are_counted() {
    let nodes = json!([{"name": "a", "x": 7.0, "y": 47.0}, {"name": "b", "x": 8.0, "y": 47.0}, {"name": "c"}]);
    let link = |a: &str, b: &str| json!({"a": a, "b": b, "rate": "1 Gbps"});
    let links = json!([link("a", "b"), link("b", "c"), link("a", "c")]);
    for (key, fallback, slow) in [
        (json!({"delay": "distance"}), json!("7 ms"), true),
        (json!({"rules": [{"delay": "distance"}]}), json!("7 ms"), true),
        (json!({"delay": "distance"}), json!("distance"), false),
        (json!({"delay": "distance"}), Value::Null, false),
    ] {
        let mut table = json!({"links": links, "nodes": nodes, "default_delay": fallback, "hosts": {"per_node": 1}});
        table.as_object_mut().expect("a table").extend(key.as_object().expect("a table").clone());
        if !slow {
            assert!(refused(table).contains("`c` has no position; write one, such as default_delay"));
            continue;
        }
        let t = built(table);
        assert_eq!(link_of(&t, "b", "c").delay, Time::from_ms(7));
        assert!(link_of(&t, "a", "b").delay < Time::from_ms(1));
        assert!(t.unused().iter().any(|u| u.starts_with("2 of 3 links have no length")), "{:?}", t.unused());
    }
}

#[test]
fn rocketfuels_halves_find_each_other_under_any_prefix() {
    let folder = std::env::temp_dir().join(format!("midpath-rocketfuel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for half in ["weights", "latencies"] {
        let from = fixtures().join(format!("{half}.intra"));
        std::fs::copy(from, folder.join(format!("1221.{half}.intra"))).expect("copied");
    }
    std::fs::copy(fixtures().join("latencies.intra"), folder.join("numbers")).expect("copied");
    for name in ["1221.weights.intra", "1221.latencies.intra"] {
        let d = read_path(&folder.join(name), None, Default::default()).expect("read");
        assert_eq!((d.links[0].weight, d.links[0].delay), (Some(2.5), Some(Time::from_ms(3))), "{name}");
        assert!(d.unused.is_empty(), "{:?}", d.unused);
    }
    let guessed = read_path(&folder.join("numbers"), None, Default::default()).expect("read");
    assert!(guessed.unused[0].contains("read as weights"), "{:?}", guessed.unused);
    std::fs::write(folder.join("x.cm"), "Nodes 16\nConnections 0\n").expect("written");
    std::fs::write(folder.join("x.odd"), "hello\n").expect("written");
    let message = |name: &str| read_path(&folder.join(name), None, Default::default()).expect_err(name).message;
    assert!(message("x.cm").starts_with("this is htsim .cm: flows, not a topology"));
    assert!(message("x.odd").contains("unknown file format"));
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn delays_by_distance() {
    let ends = json!([{"name": "a", "x": 0.0, "y": 0.0}, {"name": "b", "x": 90.0, "y": 0.0}]);
    let link = json!([{"a": "a", "b": "b", "rate": "1 Gbps", "delay": "distance"}]);
    let t = built(json!({"nodes": ends, "links": link, "default_delay": "3 ms"}));
    // A quarter of the equator, 10,007.5 km, at 199,861.6 km/s.
    assert!((t.links()[0].delay.as_secs_f64() - 0.050_072).abs() < 1e-5);
    let refused = refused(json!({"links": link}));
    assert!(
        refused.starts_with("links[0].delay: the link `a` – `b` has no delay")
            && refused.contains("`a` has no position"),
        "{refused}"
    );
}

#[test]
fn builtins_have_a_host_in_every_city() {
    let t = built(json!({"builtin": "abilene"}));
    assert_eq!((t.routers().count(), t.hosts().count(), t.links().len()), (11, 11, 25));
    let (seattle, denver) = (t.find("Seattle").expect("a city"), t.find("Denver").expect("a city"));
    assert!(t.port_to(t.find("h0").expect("a host"), seattle).is_some());
    let link = link_of(&t, "Seattle", "Denver");
    assert_eq!((link.rate, link.weight), (Rate(9_953_280_000), 2095.0));
    assert!((link.delay.as_secs_f64() * 1e3 - 16.87).abs() < 0.01, "3371.6 km: {}", link.delay);
    assert!(t.port_to(seattle, denver).is_some());
    let access = link_of(&t, "h0", "Seattle");
    assert_eq!((access.rate, access.delay), (Rate(9_953_280_000), Time::from_us(1)));
}

#[test]
fn the_table_overrides_the_source_and_rules_override_the_table() {
    let t = built(json!({
        "builtin": "abilene", "rate": "100 Mbps", "delay": "1 ms", "edge_degree": 3, "hosts": {"per_node": 0},
        "rules": [
            {"from": "edge", "to": "edge", "rate": "10 Mbps"},
            {"from": "gateway", "to": "*", "delay": "2 ms", "weight": 7, "queue": "big"},
            {"rate": "20 Mbps", "to": "gateway"}
        ]
    }));
    let edges = ["Seattle", "Los Angeles", "Chicago", "New York", "Washington"];
    for node in t.nodes() {
        let expected = if edges.contains(&node.name.as_str()) { "edge" } else { "gateway" };
        let expected = if node.name == "Kansas City" { "backbone" } else { expected };
        assert_eq!(node.class.as_deref(), Some(expected), "{}", node.name);
    }
    let of = |a, b| (link_of(&t, a, b).rate, link_of(&t, a, b).delay, link_of(&t, a, b).weight);
    assert_eq!(of("Chicago", "New York"), (Rate::from_mbps(10), Time::from_ms(1), 700.0));
    assert_eq!(of("Kansas City", "Denver"), (Rate::from_mbps(20), Time::from_ms(2), 7.0));
    assert_eq!(link_of(&t, "Denver", "Kansas City").queue.as_deref(), Some("big"));
}

#[test]
fn defaults_fill_only_gaps() {
    let t = built(json!({"file": "zoo.graphml", "default_rate": "7 Mbps", "default_delay": "4 ms"}));
    let rates: Vec<_> = t.links().iter().take(3).map(|l| l.rate).collect();
    assert_eq!(rates, [Rate::from_gbps(10), Rate(2_500_000_000), Rate::from_mbps(7)]);
    assert!(t.links()[..4].iter().all(|l| l.delay == Time::from_ms(4)));
    let e = refused(json!({"file": "zoo.graphml", "default_delay": "4 ms"}));
    assert!(e.starts_with("file: the link `Geneva` – `Geneva#2` has no rate; write default_rate"), "{e}");
    let e = refused(json!({"file": "zoo.graphml", "default_rate": "7 Mbps"}));
    assert!(e.starts_with("default_delay: the link `Geneva` – `Geneva#2` has no delay"), "{e}");
}

#[test]
fn rocketfuel_maps_with_the_papers_rules() {
    let table = |component: Value| {
        json!({
            "file": "sample.cch", "delay": "2 ms", "component": component,
            "rules": [{"from": "edge", "to": "gateway", "rate": "100 Mbps"}, {"rate": "1 Gbps"}],
            "hosts": {"total": 5, "on": "edge", "rate": "50 Mbps", "delay": "1 ms"}
        })
    };
    let t = built(table(json!("largest")));
    assert_eq!((t.routers().count(), t.hosts().count()), (4, 5));
    assert_eq!(link_of(&t, "1", "3").rate, Rate::from_mbps(100));
    assert_eq!(link_of(&t, "1", "2").rate, Rate::from_gbps(1));
    assert_eq!(link_of(&t, "h3", "1").rate, Rate::from_mbps(50));
    let e = refused(table(json!("all")));
    assert!(e.starts_with("file: the network is not connected: of its 2 parts"), "{e}");
    assert!(e.contains("component = \"largest\"") && e.contains("self-links removed"), "{e}");
}

#[test]
fn the_pair_of_weights_and_latencies_is_read_from_either() {
    for file in ["weights.intra", "latencies.intra"] {
        let t = built(json!({"file": file, "rate": "1 Gbps", "hosts": {"per_node": 0}}));
        let of = |i: usize| (t.links()[i].weight, t.links()[i].delay);
        assert_eq!([of(0), of(1)], [(2.5, Time::from_ms(3)), (7.0, Time::from_ms(9))], "{file}");
    }
}

#[test]
fn hpcc_and_node_link_files_bring_everything() {
    let t = built(json!({"file": "hpcc.txt"}));
    assert_eq!((t.hosts().count(), t.links().len()), (2, 4));
    let t = built(json!({"file": "node-link.json"}));
    assert_eq!((t.hosts().count(), t.links()[1].mtu), (1, 9000));
}

#[test]
fn every_generator_from_its_table() {
    let sizes = |table: Value| {
        let t = built(table);
        (t.routers().count(), t.hosts().count(), t.links().len())
    };
    assert_eq!(sizes(json!({"generate": "dumbbell", "bottleneck": wire(), "access": wire(), "pairs": 3})), (2, 6, 7));
    assert_eq!(sizes(json!({"generate": "chain", "n": 8, "link": wire()})), (8, 2, 9));
    assert_eq!(sizes(json!({"generate": "parking-lot", "n": 3, "link": wire()})), (4, 8, 11));
    assert_eq!(sizes(json!({"generate": "star", "n": 6, "access": wire()})), (1, 6, 6));
    assert_eq!(sizes(json!({"generate": "ring", "n": 5, "link": wire()})), (5, 5, 10));
    assert_eq!(sizes(json!({"generate": "fat-tree", "k": 4, "link": wire()})), (20, 16, 48));
    let (routers, hosts, _) =
        sizes(json!({"generate": "waxman", "n": 30, "link": {"rate": "1 Gbps"}, "hosts": {"per_node": 2}}));
    assert_eq!((routers, hosts), (30, 60));
}

#[test]
fn waxman_follows_its_own_seed_or_the_scenarios() {
    let table = |extra: Value| {
        let mut table = json!({"generate": "waxman", "n": 20, "link": {"rate": "1 Gbps"}});
        table.as_object_mut().expect("a table").extend(extra.as_object().expect("a table").clone());
        spec(table)
    };
    let links = |table: &TopologySpec, seed| build(table, &fixtures(), seed).expect("valid").links().to_vec();
    let free = table(json!({}));
    assert_eq!(links(&free, 1), links(&free, 1));
    assert_ne!(links(&free, 1), links(&free, 2));
    let fixed = table(json!({"seed": 7}));
    assert_eq!(links(&fixed, 1), links(&fixed, 2));
}

#[test]
fn hosts_may_have_several_homes() {
    let t = built(json!({"builtin": "geant", "hosts": {"total": 50, "homes": 2, "prefix": "mp"}}));
    assert!(t.hosts().all(|h| t.degree(h) == 2 && t.adjacency().neighbours(h).len() == 2));
    assert_eq!(t.hosts().count(), 50);
}

#[test]
fn bad_tables_name_the_key_and_what_would_do() {
    let dumbbell = |extra: Value| {
        let mut table = json!({"generate": "dumbbell", "bottleneck": wire(), "access": wire()});
        table.as_object_mut().expect("a table").extend(extra.as_object().expect("a table").clone());
        table
    };
    let links = |links: Value| json!({"links": links});
    let ab = json!({"a": "a", "b": "b", "rate": "1 Mbps", "delay": "1 ms"});
    let cases = [
        (json!({}), ": no network: write one of"),
        (json!({"builtin": "abilene", "file": "x"}), "file: excludes `builtin`"),
        (json!({"builtin": "abilen"}), "builtin: there is no network `abilen`; did you mean `abilene`?"),
        (json!({"builtin": "abilene", "k": 4}), "k: `k` is a parameter of `generate`"),
        (json!({"builtin": "abilene", "nodes": []}), "nodes: `nodes` belongs to `links`"),
        (json!({"builtin": "abilene", "radius": 1}), "radius: `radius` belongs to `file`"),
        (json!({"builtin": "abilene", "min_delay": "0 ms"}), "min_delay: a link needs a delay above zero"),
        (json!({"builtin": "abilene", "rate": "0 bps"}), "rate: a link needs a rate above zero"),
        (
            json!({"builtin": "abilene", "rules": [{"from": "egde", "rate": "1 Mbps"}]}),
            "rules[0].from: there is no class `egde`; did you mean `edge`?",
        ),
        (
            json!({"builtin": "abilene", "hosts": {"on": "gatway"}}),
            "hosts.on: there is no router of the class `gatway`; did you mean `gateway`?",
        ),
        (json!({"builtin": "abilene", "hosts": {"per_node": 1, "total": 2}}), "hosts.total: excludes `per_node`"),
        (
            json!({"builtin": "abilene", "hosts": {"homes": 12}}),
            "hosts.homes: 12 routers per host; must be from \
            1 to 11",
        ),
        (json!({"builtin": "abilene", "hosts": {"per_node": 1_000_000}}), "hosts.per_node: with these hosts"),
        (
            json!({"builtin": "abilene", "rules": [{"rate": "1 Mbps"}, {"weight": 0}]}),
            "rules[1].weight: 0 is not a weight",
        ),
        (json!({"builtin": "abilene", "hosts": {"rate": "0 bps"}}), "hosts.rate: a link needs a rate above zero"),
        (json!({"builtin": "abilene", "hosts": {"mtu": 20}}), "hosts.mtu: 20 bytes is below"),
        (
            dumbbell(json!({"access": {"rate": "0 bps", "delay": "1 ms"}})),
            "access.rate: a link needs a rate above zero",
        ),
        (
            dumbbell(json!({"access": {"rate": "1 Mbps", "delay": "1 ms", "corruption": "100 %"}})),
            "access.corruption: 100 % is out of range",
        ),
        (links(json!([{"a": "", "b": "x"}])), "links[0].a: a node needs a name"),
        (json!({"file": "none.cch"}), "file: none.cch: cannot be read"),
        (json!({"file": "README.md"}), "file: README.md: unknown file format"),
        (json!({"file": "zoo.gml", "format": "graphml"}), "file: zoo.gml, line 1: not XML"),
        (dumbbell(json!({"n": 1})), "n: 1 is out of range; generate = \"dumbbell\" accepts 2"),
        (dumbbell(json!({"pairs": 0})), "pairs: 0 is out of range"),
        (dumbbell(json!({"alpha": 0.5})), "alpha: generate = \"dumbbell\" takes no `alpha`; it takes `bottleneck`"),
        (dumbbell(json!({"bottleneck": {"rate": "1 Gbps"}})), "bottleneck.delay: the link has no delay"),
        (json!({"generate": "fat-tree", "k": 3, "link": wire()}), "k: 3 is odd"),
        (json!({"generate": "fat-tree", "k": 4}), "link: generate = \"fat-tree\" needs `link`, such as"),
        (json!({"generate": "waxman", "n": 9, "link": wire(), "beta": 0}), "beta: 0 is out of range"),
        (links(json!([])), "links: no links; write at least one"),
        (links(json!([ab, {"a": "x", "b": "x"}])), "links[1].b: `x` is linked to itself"),
        (links(json!([ab, {"a": "b", "b": "c", "delay": "1 ms"}])), "links[1].rate: the link has no rate"),
        (
            links(json!([ab, {"a": "b", "b": "c", "rate": "0 bps", "delay": "1 ms"}])),
            "links[1].rate: a link needs a rate above zero",
        ),
        (
            links(json!([ab, {"a": "c", "b": "d", "rate": "1 Mbps", "delay": "1 ms"}])),
            "links: the network is not connected",
        ),
        (json!({"links": [ab], "nodes": [{"name": "a"}, {"name": "a"}]}), "nodes[1].name: `a` is already"),
        (
            json!({"links": [ab, {"a": "b", "b": "c", "rate": "1 Mbps", "delay": "1 ms"}], "nodes": [{"name": "b", "kind": "host"}]}),
            "links: there is no router",
        ),
    ];
    for (table, expected) in cases {
        let message = refused(table.clone());
        assert!(message.starts_with(expected), "{table}\n{message}");
    }
}

#[test]
fn two_networks_that_meet_in_a_host_are_not_one() {
    let wire = |a: &str, b: &str| json!({"a": a, "b": b, "rate": "1 Gbps", "delay": "1 ms"});
    let pairs = [("a", "r0"), ("r0", "m"), ("m", "r1"), ("r1", "z")];
    let links: Vec<Value> = pairs.into_iter().map(|(a, b)| wire(a, b)).collect();
    let e = refused(json!({"links": links, "nodes": [{"name": "m", "kind": "host"}]}));
    assert!(e.contains("only through a host"), "{e}");
    assert_eq!(built(json!({"links": links})).hosts().count(), 2);
}

#[test]
fn unknown_keys_and_units_are_refused_when_read() {
    let read = |table: Value| serde_json::from_value::<TopologySpec>(table).expect_err("must be refused").to_string();
    assert!(read(json!({"bulitin": "abilene"})).contains("unknown field `bulitin`"));
    assert!(read(json!({"links": [{"a": "x", "b": "y", "rate": "10"}]})).contains("\"10 Mbps\""));
    assert!(read(json!({"delay": "far"})).contains("or \"distance\""));
    assert!(read(json!({"generate": "hypercube"})).contains("fat-tree"));
}

#[test]
fn a_table_survives_being_written_and_read() {
    let s =
        spec(json!({"builtin": "geant", "delay": "distance", "rules": [{"rate": "1 Gbps"}], "hosts": {"total": 3}}));
    assert_eq!(spec(serde_json::to_value(&s).expect("plain data")), s);
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schemars::schema_for!(TopologySpec).to_value();
    let properties = schema["properties"].as_object().expect("a table");
    for (key, property) in properties {
        assert!(property["description"].is_string(), "{key} has no description");
    }
    assert_eq!(schema["additionalProperties"], false);
}

/// Tables of every kind of generator, with sizes in and out of range.
fn generated() -> impl Strategy<Value = TopologySpec> {
    let kinds = ["dumbbell", "chain", "parking-lot", "star", "ring", "fat-tree", "waxman"];
    let hosts = (prop::option::of(0usize..3), prop::option::of(0usize..9), prop::option::of(0usize..3));
    (prop::sample::select(kinds.to_vec()), 0usize..12, 0u64..3, hosts).prop_map(
        |(kind, n, delay, (per_node, total, homes))| {
            let link = json!({"rate": "1 Gbps", "delay": format!("{delay} us")});
            let mut table = json!({"generate": kind, "hosts": {"per_node": per_node, "total": total, "homes": homes}});
            let wanted = spec(json!({"generate": kind})).generate.map_or(&[][..], Generator::keys);
            for key in wanted {
                let value = match *key {
                    "n" | "k" | "pairs" => json!(n),
                    "link" | "access" | "bottleneck" => link.clone(),
                    _ => continue,
                };
                table[*key] = value;
            }
            spec(table)
        },
    )
}

proptest! {
    #[test]
    fn what_is_built_is_sound_and_routed(table in generated(), seed: u64) {
        let Ok(t) = build(&table, &fixtures(), seed) else { return Ok(()) };
        prop_assert!(t.is_connected());
        prop_assert!(t.links().iter().all(|l| l.delay > Time::ZERO && l.rate > Rate::ZERO));
        let routes = crate::Routes::compute(&t, crate::Metric::Weight);
        let hosts: Vec<usize> = t.hosts().collect();
        for pair in hosts.windows(2) {
            prop_assert!(routes.flow_path(&t, pair[0], pair[1], seed as u32).is_some());
        }
        prop_assert_eq!(crate::layout::layout(&t).len(), t.nodes().len());
        prop_assert_eq!(crate::describe::topology(&t).nodes, t.nodes().len());
    }
}

#[test]
fn links_taken_out_leave_nodes_hosts_and_other_links_as_they_are() {
    let ring = |without: Value| json!({"generate": "ring", "n": 5, "link": wire(), "without": without});
    let (whole, cut) = (built(ring(json!([]))), built(ring(json!([["r1", "r0"], ["r2", "r3"]]))));
    assert_eq!(whole.nodes(), cut.nodes());
    assert_eq!(cut.links().len(), whole.links().len() - 2);
    let ends = |t: &Topology| t.links().iter().map(|l| (l.a, l.b)).collect::<Vec<_>>();
    let gone = |t: &Topology, a: &str, b: &str| (t.find(a).expect("named"), t.find(b).expect("named"));
    for (a, b) in [gone(&cut, "r0", "r1"), gone(&cut, "r2", "r3")] {
        assert!(cut.port_to(a, b).is_none() && cut.port_to(b, a).is_none());
    }
    let kept: Vec<_> = ends(&whole).into_iter().filter(|e| ends(&cut).contains(e)).collect();
    assert_eq!(kept, ends(&cut), "what is left keeps its order");
}

#[test]
fn all_parallel_links_are_taken_out() {
    let link = |a: &str, b: &str| json!({"a": a, "b": b, "rate": "1 Gbps", "delay": "5 ms"});
    let t = built(json!({
        "links": [link("a", "r"), link("r", "s"), link("s", "r"), link("s", "b"), link("r", "t"), link("t", "s")],
        "without": [["r", "s"]]
    }));
    assert_eq!(t.links().len(), 4);
    assert!(t.is_connected());
}

#[test]
fn a_link_that_is_not_there_cannot_be_taken_out() {
    let ring = |without: Value| json!({"generate": "ring", "n": 5, "link": wire(), "without": without});
    assert!(refused(ring(json!([["r0", "r7"]]))).starts_with("without[0][1]: there is no node `r7`; "));
    let far = refused(ring(json!([["r0", "r1"], ["r0", "r2"]])));
    assert!(
        far.starts_with("without[1]: there is no link between `r0` and `r2`; `r0` has links to `r1`, `r4`"),
        "{far}"
    );
}

/// 20,480 routers. All pairs of them would be a table of 1.7 GB; a flow needs ways to the routers
/// of its two ends.
#[test]
fn the_largest_fat_tree_is_routed_over_in_little_memory() {
    let wire = json!({"rate": "10 Gbps", "delay": "1 us"});
    let t = built(json!({"generate": "fat-tree", "k": 128, "link": wire}));
    assert_eq!((t.hosts().count(), t.routers().count()), (524_288, 20_480));
    let routes = crate::Routes::compute(&t, crate::Metric::Hops);
    let before = routes.memory();
    let (near, far) = (t.find("h0").expect("a host"), t.find("h524287").expect("a host"));
    for (src, dst) in [(near, far), (far, near)] {
        assert_eq!(routes.flow_path(&t, src, dst, 1).map(|path| path.len()), Some(6));
    }
    let nodes = t.nodes().len() + 2 * t.links().len();
    assert!(before < 32 * nodes, "{before} bytes for {nodes} nodes and ports");
    let added = routes.memory() - before;
    assert!(added < 2 * 2 * t.routers().count(), "{added} bytes for two destinations");
    assert!(routes.most_memory() > 1 << 30);
    let more = refused(json!({"generate": "fat-tree", "k": 130, "link": wire}));
    assert!(more.starts_with("k: 130 is out of range; generate = \"fat-tree\" accepts 2 to 128"), "{more}");
}

/// Half a million routers of which some have hosts: a way costs a byte for each router, and hosts at
/// all of them would be ways that no memory has room for.
#[test]
fn half_a_million_routers_are_routed_over_where_few_have_hosts() {
    let ring = |hosts: Value| {
        let wire = json!({"rate": "10 Gbps", "delay": "1 us"});
        json!({"generate": "ring", "n": 500_000, "link": wire, "hosts": hosts})
    };
    let t = built(ring(json!({"total": 2_000})));
    assert_eq!((t.hosts().count(), t.routers().count()), (2_000, 500_000));
    let routes = crate::Routes::compute(&t, crate::Metric::Hops);
    let before = routes.memory();
    let (here, there) = (t.find("h0").expect("a host"), t.find("h1999").expect("a host"));
    assert_eq!(routes.flow_path(&t, here, there, 1).map(|path| path.len()), Some(2_001));
    assert!(routes.memory() - before < 2 * t.routers().count(), "{} bytes more", routes.memory() - before);
    let more = refused(ring(json!({"per_node": 1})));
    assert!(more.contains("500000 routers with hosts at 500000 of them; at most 2147"), "{more}");
}

#[test]
fn fabrics_from_their_tables() {
    let sizes = |table: Value| {
        let t = built(table);
        (t.routers().count(), t.hosts().count(), t.links().len())
    };
    let clos = |more: Value| {
        let mut table = json!({"leaves": 4, "spines": 2, "per_leaf": 3, "link": wire()});
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        table
    };
    assert_eq!(sizes(clos(json!({"generate": "leaf-spine"}))), (6, 12, 20));
    assert_eq!(sizes(clos(json!({"generate": "leaf-spine", "planes": 2}))), (12, 12, 40));
    assert_eq!(sizes(json!({"generate": "fat-tree", "k": 4, "oversubscription": 3, "link": wire()})), (20, 48, 80));
    assert_eq!(sizes(clos(json!({"generate": "dragonfly-plus", "groups": 3, "global_ports": 2}))), (18, 36, 66));
    assert_eq!(sizes(json!({"generate": "torus", "dims": [4, 2, 3], "link": wire()})), (24, 24, 84));
    let rail = |more: Value| {
        let mut table = json!({"generate": "rail", "n": 4, "rails": 2, "access": wire(), "nvlink": wire()});
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        table
    };
    assert_eq!(sizes(rail(json!({"spines": 1, "link": wire()}))), (7, 8, 18));
    assert_eq!(sizes(rail(json!({"cross": "nvlink"}))), (14, 8, 32));
    for (table, why) in [
        (rail(json!({})), "spines: generate = \"rail\" needs `spines`"),
        (clos(json!({"generate": "leaf-spine", "rails": 2})), "rails: generate = \"leaf-spine\" takes no `rails`"),
        (clos(json!({"generate": "dragonfly-plus", "groups": 4, "global_ports": 2})), "global_ports: 2 spines with 2"),
        (clos(json!({"generate": "leaf-spine", "planes": 99})), "planes: 99 is out of range"),
        (json!({"generate": "torus", "dims": [1], "link": wire()}), "dims: write one to eight sizes"),
        (json!({"generate": "torus", "dims": [400_000, 400_000], "link": wire()}), "dims: about 160000000000 links"),
    ] {
        let error = refused(table);
        assert!(error.contains(why), "{error}");
    }
}
