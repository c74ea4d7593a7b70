use super::*;
use crate::graph::NodeKind;
use midpath_core::units::{Rate, Time};
use proptest::prelude::*;

const CCH: &str = include_str!("../../tests/fixtures/sample.cch");
const WEIGHTS: &str = include_str!("../../tests/fixtures/weights.intra");
const LATENCIES: &str = include_str!("../../tests/fixtures/latencies.intra");
const GRAPHML: &str = include_str!("../../tests/fixtures/zoo.graphml");
const GML: &str = include_str!("../../tests/fixtures/zoo.gml");
const NODE_LINK: &str = include_str!("../../tests/fixtures/node-link.json");
const HPCC: &str = include_str!("../../tests/fixtures/hpcc.txt");

const SNDLIB: &str = include_str!("../../tests/fixtures/sndlib.txt");
const SNDLIB_XML: &str = include_str!("../../tests/fixtures/sndlib.xml");
const SNDLIB_JSON: &str = include_str!("../../tests/fixtures/sndlib.json");
const HTSIM: &str = include_str!("../../tests/fixtures/two-pods.topo");
const REPETITA: &str = include_str!("../../tests/fixtures/towns.graph");
const CONTAINERLAB: &str = include_str!("../../tests/fixtures/lab.clab.yml");
const AS_REL: &str = include_str!("../../tests/fixtures/as-rel.txt");
const BRITE: &str = include_str!("../../tests/fixtures/three.brite");
const TOTEM: &str = include_str!("../../tests/fixtures/totem.xml");

const SAMPLES: [(Format, &str, &str); 16] = [
    (Format::RocketfuelCch, "64496.cch", CCH),
    (Format::RocketfuelWeights, "weights.intra", WEIGHTS),
    (Format::RocketfuelLatencies, "latencies.intra", LATENCIES),
    (Format::GraphMl, "zoo.graphml", GRAPHML),
    (Format::Gml, "zoo.gml", GML),
    (Format::NodeLink, "x.json", NODE_LINK),
    (Format::Hpcc, "topology.txt", HPCC),
    (Format::Htsim, "two-pods.topo", HTSIM),
    (Format::SndlibNative, "towns.txt", SNDLIB),
    (Format::SndlibXml, "towns.xml", SNDLIB_XML),
    (Format::SndlibJson, "towns.json", SNDLIB_JSON),
    (Format::Repetita, "towns.graph", REPETITA),
    (Format::Containerlab, "lab.clab.yml", CONTAINERLAB),
    (Format::AsRelationships, "20260101.as-rel2.txt", AS_REL),
    (Format::Brite, "three.brite", BRITE),
    (Format::Totem, "totem.xml", TOTEM),
];

fn read(format: Format, text: &str) -> Draft {
    parse_bytes(format, text.as_bytes()).expect("the sample is valid")
}

fn names(d: &Draft) -> Vec<&str> {
    d.nodes.iter().map(|n| n.name.as_str()).collect()
}

fn ends(d: &Draft) -> Vec<(usize, usize)> {
    d.links.iter().map(|l| (l.a, l.b)).collect()
}

fn refused(format: Format, text: &str) -> String {
    parse_bytes(format, text.as_bytes()).expect_err("must be refused").to_string()
}

#[test]
fn rocketfuel_maps_keep_the_isps_own_routers() {
    let d = read(Format::RocketfuelCch, CCH);
    assert_eq!(names(&d), ["1", "2", "3", "4", "5"]);
    assert_eq!(ends(&d), [(0, 1), (0, 2), (1, 2), (2, 2), (2, 3)]);
    assert_eq!(d.nodes[0].label.as_deref(), Some("New York, NY"));
    assert_eq!(d.nodes[2].label, None);
    assert_eq!(d.notes, ["1 routers beyond r0 removed"]);
    let wider =
        parse(Format::RocketfuelCch, CCH.as_bytes(), Options { radius: 1, ..Options::default() }).expect("valid");
    assert_eq!((wider.nodes.len(), wider.links.len()), (6, 6));
}

#[test]
fn rocketfuel_weights_and_latencies_come_together() {
    let d = rocketfuel_weights::merge(
        read(Format::RocketfuelWeights, WEIGHTS),
        &read(Format::RocketfuelLatencies, LATENCIES),
    );
    assert_eq!(names(&d), ["Oslo, Norway1", "Bergen, Norway2", "Tromso, Norway3"]);
    assert_eq!(d.nodes[0].label.as_deref(), Some("Oslo, Norway"));
    let link = |i: usize| (d.links[i].weight, d.links[i].delay);
    assert_eq!([link(0), link(1)], [(Some(2.5), Some(Time::from_ms(3))), (Some(7.0), Some(Time::from_ms(9)))]);
}

#[test]
fn graphml_has_speeds_positions_and_parallel_links() {
    let d = read(Format::GraphMl, GRAPHML);
    assert_eq!(names(&d), ["Zürich & co", "Geneva", "Geneva#2"]);
    assert_eq!(d.nodes[0].pos, Some((8.55, 47.37)));
    assert_eq!(d.nodes[2].pos, None);
    let rates: Vec<_> = d.links.iter().map(|l| l.rate).collect();
    assert_eq!(rates, [Some(Rate::from_gbps(10)), Some(Rate(2_500_000_000)), None, Some(Rate(9_953_280_000))]);
}

#[test]
fn directed_edges_and_their_opposites_make_one_link() {
    let d = read(Format::Gml, GML);
    assert_eq!(names(&d), ["München", "Wien"]);
    assert_eq!(d.nodes[0].pos, Some((11.58, 48.14)));
    assert_eq!(ends(&d), [(0, 1), (0, 1)]);
    assert_eq!((d.links[0].rate, d.links[0].rate_back), (Some(Rate::from_gbps(10)), Some(Rate::from_gbps(1))));
    assert_eq!((d.links[1].rate, d.links[1].delay), (None, None), "a zero speed and a bare delay say nothing");
    assert!(d.unused.len() == 1 && d.unused[0].contains("`delay` without a unit"), "{:?}", d.unused);
    assert!(d.notes.len() == 1 && d.notes[0].starts_with("1 one-way"), "{:?}", d.notes);
}

#[test]
fn node_link_json_has_our_own_attributes_too() {
    let d = read(Format::NodeLink, NODE_LINK);
    assert_eq!(names(&d), ["Berlin", "Hamburg", "h"]);
    assert_eq!((d.nodes[2].kind, d.nodes[1].class.as_deref()), (Some(NodeKind::Host), Some("core")));
    assert_eq!((d.links[0].length_km, d.links[0].weight), (Some(254.6), Some(2.0)));
    assert_eq!((d.links[1].delay, d.links[1].corruption, d.links[1].mtu), (Some(Time::from_us(10)), 0.001, Some(9000)));
    assert_eq!(read(Format::NodeLink, &NODE_LINK.replace("\"edges\"", "\"links\"")), d);
}

#[test]
fn hpcc_names_hosts_by_number() {
    let d = read(Format::Hpcc, HPCC);
    let kinds: Vec<_> = d.nodes.iter().map(|n| n.kind.expect("told")).collect();
    assert_eq!(kinds, [NodeKind::Host, NodeKind::Host, NodeKind::Router, NodeKind::Router]);
    assert_eq!(ends(&d), [(0, 2), (1, 3), (2, 3), (2, 3)]);
    assert_eq!((d.links[0].rate, d.links[2].delay), (Some(Rate::from_gbps(100)), Some(Time::from_us(1))));
    assert_eq!(d.links[2].corruption, 1e-4);
    let more = read(Format::Hpcc, &format!("{HPCC}0 1 1Gbps 1ms 0\n\nFirst line: node count"));
    assert_eq!(more.links, d.links);
    assert_eq!(more.notes, ["lines from 7 on, after the 4 links that line 1 announces, are ignored"]);
}

#[test]
fn hpccs_offspring_have_more_in_the_first_line_and_rates_in_bits_per_second() {
    let d = read(Format::Hpcc, HPCC);
    let first = HPCC.lines().next().expect("a line");
    for more in ["4 2 1 4", "4 2 1 4 25000000000 100000000000"] {
        let text = HPCC.replacen(first, more, 1).replace("100Gbps", "100000000000.0");
        assert_eq!(guess(Path::new("x"), text.as_bytes()), Some(Format::Hpcc), "{more}");
        assert_eq!(read(Format::Hpcc, &text), d, "{more}");
    }
}

#[test]
fn formats_are_known_by_content_whatever_the_name() {
    for (format, name, text) in SAMPLES {
        assert_eq!(guess(Path::new(name), text.as_bytes()), Some(format), "{name}");
        // A latency looks like a weight; only the name tells.
        let by_content = if format == Format::RocketfuelLatencies { Format::RocketfuelWeights } else { format };
        for other in ["noname", "x.json", "x.gml", "x.txt", "x.cch"] {
            assert_eq!(guess(Path::new(other), text.as_bytes()), Some(by_content), "{name} as {other}");
        }
        assert_eq!(serde_json::to_value(format).expect("a name"), format.name());
    }
    assert_eq!(guess(Path::new("noname"), b"hello"), None);
}

#[test]
fn rocketfuels_numbers_are_told_apart_by_any_name_and_a_guess_is_said() {
    for (name, format, guessed) in [
        ("weights.intra", Format::RocketfuelWeights, false),
        ("1221.weights.intra", Format::RocketfuelWeights, false),
        ("1221.latencies.intra", Format::RocketfuelLatencies, false),
        ("AS1221_Latency.txt", Format::RocketfuelLatencies, false),
        ("1221.intra", Format::RocketfuelWeights, true),
        ("weights-and-latencies", Format::RocketfuelWeights, true),
    ] {
        let Recognised::Format { format: found, guess } = recognise(Path::new(name), LATENCIES.as_bytes()) else {
            panic!("{name}")
        };
        assert_eq!((found, guess.is_some()), (format, guessed), "{name}");
    }
}

#[test]
fn what_is_known_and_not_read_is_told_apart_from_what_is_unknown() {
    for (text, what) in [
        ("Nodes 16\nConnections 2\n0->1 id 1 start 0 size 1000\n", "htsim .cm"),
        ("DEMANDS 1\nlabel src dest bw\nd0 0 1 10\n", "Repetita demands"),
        ("<?xml version='1.0'?>\n<TrafficMatrixFile><IntraTM/></TrafficMatrixFile>", "TOTEM traffic matrix"),
        ("<gexf version='1.3'><graph/></gexf>", "GEXF"),
        ("digraph g {\n a -> b\n}", "DOT"),
        ("graph {\n a -- b\n}", "DOT"),
        ("{\"networkStructure\": {\"nodes\": []}}", "SNDlib XML converted to JSON"),
        ("PK\u{3}\u{4}xl/worksheets", "spreadsheet"),
    ] {
        let Recognised::NotRead(said) = recognise(Path::new("x"), text.as_bytes()) else { panic!("{text}") };
        assert!(said.contains(what), "{text}: {said}");
    }
    for text in ["", "hello\n", "a,b,c\n1,2,3\n", "<html><body/></html>", "x: [1, 2]\n"] {
        assert_eq!(recognise(Path::new("x"), text.as_bytes()), Recognised::Unknown, "{text}");
    }
}

#[test]
fn sndlibs_forms_say_the_same() {
    let d = read(Format::SndlibNative, SNDLIB);
    assert_eq!(names(&d), ["Ahlen", "Beckum", "Calw"]);
    assert_eq!(d.nodes[2].pos, Some((8.74, 48.71)));
    assert_eq!(ends(&d), [(0, 1), (1, 2), (0, 2)]);
    let rates: Vec<_> = d.links.iter().map(|l| l.rate).collect();
    assert_eq!(rates, [Some(Rate::from_mbps(155)), Some(Rate::from_mbps(622)), None], "no choice of modules");
    assert!(d.unused.len() == 1 && d.unused[0].starts_with("1 links have no installed capacity"), "{:?}", d.unused);
    assert_eq!(read(Format::SndlibXml, SNDLIB_XML), d);
    let options = Options { capacity_unit: Some(Rate::from_mbps(1)), ..Options::default() };
    assert_eq!(parse(Format::SndlibJson, SNDLIB_JSON.as_bytes(), options).expect("valid"), d);
}

#[test]
fn capacities_without_a_unit_wait_for_one() {
    let node_link = r#"{"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1, "capacity": 622}]}"#;
    let graphml = "<graphml><key id='c' for='edge' attr.name='capacity'/><graph><node id='0'/><node id='1'/>\
                   <edge source='0' target='1'><data key='c'>622</data></edge></graph></graphml>";
    let gml = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 capacity 622 ] ]";
    let native = "?SNDlib native format\nNODES (\n0\n1\n)\nLINKS (\nl ( 0 1 ) 622 0 0 0 ( )\n)\n";
    for (format, text) in
        [(Format::NodeLink, node_link), (Format::GraphMl, graphml), (Format::Gml, gml), (Format::SndlibNative, native)]
    {
        let without = read(format, text);
        assert_eq!(without.links[0].rate, None, "{format:?}");
        assert!(without.unused[0].contains("capacity_unit"), "{:?}", without.unused);
        let options = Options { capacity_unit: Some(Rate::from_mbps(1)), ..Options::default() };
        let with = parse(format, text.as_bytes(), options).expect("valid");
        assert_eq!((with.links[0].rate, with.unused.len()), (Some(Rate::from_mbps(622)), 0), "{format:?}");
    }
}

#[test]
fn repetita_counts_kilobits_and_microseconds() {
    let d = read(Format::Repetita, REPETITA);
    assert_eq!(names(&d), ["0_Ahlen", "1_Beckum", "2_Calw"]);
    assert_eq!(ends(&d), [(0, 1), (1, 2)]);
    let link = &d.links[1];
    assert_eq!(
        (link.rate, link.delay, link.weight),
        (Some(Rate::from_mbps(622)), Some(Time::from_us(1700)), Some(3.0))
    );
    assert_eq!(d.nodes[0].pos, Some((7.89, 51.76)));
}

#[test]
fn containerlab_has_hosts_and_routers() {
    let d = read(Format::Containerlab, CONTAINERLAB);
    assert_eq!(names(&d), ["ahlen", "beckum", "calw", "client1"]);
    assert_eq!(ends(&d), [(0, 1), (3, 0), (1, 2)]);
    let kinds: Vec<_> = d.nodes.iter().map(|n| n.kind.expect("told")).collect();
    assert_eq!(kinds, [NodeKind::Router, NodeKind::Router, NodeKind::Router, NodeKind::Host]);
    assert_eq!((d.links[1].mtu, d.nodes[0].class.as_deref()), (Some(9000), Some("core")));
    assert_eq!(d.notes, ["1 links out of the laboratory are ignored"]);
}

#[test]
fn links_of_one_end_leave_the_laboratory() {
    for link in [
        "endpoint: {node: a, interface: e1}, host-interface: x, type: host",
        "endpoint: a, type: dummy",
        "endpoints: [a:e1, dummy:e2]",
    ] {
        let text = format!("topology: {{nodes: {{a: , b: }}, links: [{{{link}}}, {{endpoints: [a:e2, b:e2]}}]}}");
        let d = read(Format::Containerlab, &text);
        assert_eq!((ends(&d), d.notes.len()), (vec![(0, 1)], 1), "{link}");
    }
}

#[test]
fn yaml_that_grows_by_aliases_is_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let before = format!("*a{}", i - 1);
        text += &format!("a{i}: &a{i} [{}]\n", [before.as_str(); 10].join(", "));
    }
    text += "topology:\n  nodes: {a: }\n  links: []\n";
    // A billion elements, if they were made.
    let _ = parse_bytes(Format::Containerlab, text.as_bytes());
}

#[test]
fn as_relationships_brite_and_totem_are_read() {
    let d = read(Format::AsRelationships, AS_REL);
    assert_eq!((names(&d), ends(&d)), (vec!["64496", "64497", "64511"], vec![(0, 1), (0, 2), (1, 2)]));
    assert!(d.unused[0].contains("shortest paths"));
    let d = read(Format::Brite, BRITE);
    assert_eq!((names(&d), ends(&d)), (vec!["0", "1", "2"], vec![(0, 1), (1, 2)]));
    let link = &d.links[0];
    assert_eq!((link.rate, link.delay), (Some(Rate::from_mbps(10)), Some(Time::from_us(1650))));
    let d = read(Format::Totem, TOTEM);
    assert_eq!((names(&d), ends(&d)), (vec!["AHLEN", "BECKUM"], vec![(0, 1)]));
    let link = &d.links[0];
    assert_eq!((link.rate, link.rate_back), (Some(Rate::from_mbps(155)), Some(Rate::from_mbps(34))));
    assert_eq!((link.delay, link.weight), (Some(Time::from_us(250)), Some(5.0)));
}

#[test]
fn graphmls_defaults_count_where_an_element_states_nothing() {
    let with = |keys: &str, data: &str| {
        let text = format!(
            "<graphml>{keys}<graph><node id='a'/><node id='b'/><edge source='a' target='b'>{data}</edge></graph></graphml>"
        );
        read(Format::GraphMl, &text)
    };
    let key =
        |of: &str| format!("<key id='r' {of} attr.name='rate'><desc>speed</desc><default>10 Gbps</default></key>");
    for (of, data, gbps) in [
        ("for='edge'", "", Some(10)),
        ("for='all'", "", Some(10)),
        ("", "", Some(10)),
        ("for='node'", "", None),
        ("for='edge'", "<data key='r'>1 Gbps</data>", Some(1)),
        ("for='edge'", "<data key='r'/>", None),
    ] {
        assert_eq!(with(&key(of), data).links[0].rate, gbps.map(Rate::from_gbps), "{of} {data}");
    }
    let of_nodes = with("<key id='k' for='node' attr.name='class'><default>core</default></key>", "");
    assert!(of_nodes.nodes.iter().all(|n| n.class.as_deref() == Some("core")));
}

/// Two ends and Mbps.
type Drawn = (usize, usize, u32);

/// A network in each of the formats that state capacities.
fn written(format: Format, names: &[String], links: &[Drawn]) -> String {
    let lines = |each: &dyn Fn(usize, &Drawn) -> String| -> String {
        links.iter().enumerate().map(|(i, l)| each(i, l)).collect()
    };
    let nodes = |each: &dyn Fn(usize, &String) -> String| -> String {
        names.iter().enumerate().map(|(i, n)| each(i, n)).collect()
    };
    match format {
        Format::SndlibNative => format!(
            "?SNDlib native format\nMETA (\n unit = MBITPERSEC\n)\nNODES (\n{})\nLINKS (\n{})\nDEMANDS (\n)\n",
            nodes(&|_, n| format!("  {n} ( 1.0 2.0 )\n")),
            lines(&|i, (a, b, c)| format!("  L{i} ( {} {} ) {c}.00 0.00 0.00 0.00 ( )\n", names[*a], names[*b]))
        ),
        Format::SndlibXml => format!(
            "<network><meta><unit>MBITPERSEC</unit></meta><networkStructure><nodes>{}</nodes><links>{}</links>\
             </networkStructure></network>",
            nodes(&|_, n| format!("<node id='{n}'/>\n")),
            lines(&|i, (a, b, c)| format!(
                "<link id='L{i}'><source>{}</source><target>{}</target><preInstalledModule><capacity>{c}</capacity>\
                 </preInstalledModule></link>",
                names[*a], names[*b]
            ))
        ),
        Format::SndlibJson => serde_json::json!({
            "nodes": names.iter().map(|n| serde_json::json!({"id": n})).collect::<Vec<_>>(),
            "links": links.iter().map(|(a, b, c)| serde_json::json!({
                "source": names[*a], "target": names[*b], "pre_installed_capacity": c, "modules": []
            })).collect::<Vec<_>>(),
        })
        .to_string(),
        Format::Repetita => format!(
            "NODES {}\nlabel x y\n{}\nEDGES {}\nlabel src dest weight bw delay\n{}",
            names.len(),
            nodes(&|_, n| format!("{n} 0.0 0.0\n")),
            links.len() * 2,
            lines(&|i, (a, b, c)| format!("e{i} {a} {b} 1 {0} 5\nf{i} {b} {a} 1 {0} 5\n", u64::from(*c) * 1000))
        ),
        Format::Brite => format!(
            "Topology: ( {0} Nodes, {1} Edges )\nNodes: ( {0} )\n{2}\nEdges: ( {1} )\n{3}",
            names.len(),
            links.len(),
            nodes(&|i, _| format!("{i}\t1.00\t2.00\t1\t1\t-1\tRT_NODE\n")),
            lines(&|i, (a, b, c)| format!("{i}\t{a}\t{b}\t1.0\t0.5\t{c}.0\t-1\t-1\tE_RT\tU\n"))
        ),
        _ => format!(
            "<domain><info><unit type='bandwidth' value='mbps'/></info><topology><nodes>{}</nodes><links>{}</links>\
             </topology></domain>",
            nodes(&|_, n| format!("<node id='{n}'/>")),
            lines(&|i, (a, b, c)| format!(
                "<link id='{i}'><from node='{}'/><to node='{}'/><bw>{c}</bw></link>",
                names[*a], names[*b]
            ))
        ),
    }
}

proptest! {
    #[test]
    fn every_format_gives_the_same_network(
        n in 2usize..9,
        drawn in prop::collection::btree_map((0usize..9, 0usize..9), 1u32..100_000, 1..14),
    ) {
        let names: Vec<String> = (0..n).map(|i| format!("Town_{i}")).collect();
        // Each pair once: with its opposite it would be one link in formats of directions.
        let mut links: Vec<Drawn> =
            drawn.into_iter().map(|((a, b), c)| ((a % n).min(b % n), (a % n).max(b % n), c)).collect();
        links.retain(|l| l.0 != l.1);
        links.dedup_by_key(|l| (l.0, l.1));
        links.sort_unstable();
        links.dedup_by_key(|l| (l.0, l.1));
        prop_assume!(!links.is_empty());
        for format in [
            Format::SndlibNative,
            Format::SndlibXml,
            Format::SndlibJson,
            Format::Repetita,
            Format::Brite,
            Format::Totem,
        ] {
            let text = written(format, &names, &links);
            prop_assert_eq!(guess(Path::new("x"), text.as_bytes()), Some(format));
            // The one of these forms that has no place for a unit.
            let unit = (format == Format::SndlibJson).then(|| Rate::from_mbps(1));
            let options = Options { capacity_unit: unit, ..Options::default() };
            let d = parse(format, text.as_bytes(), options).expect("valid");
            prop_assert_eq!(d.nodes.len(), n);
            let found: Vec<_> = d.links.iter().map(|l| (l.a, l.b, l.rate)).collect();
            let right: Vec<_> = links.iter().map(|&(a, b, c)| (a, b, Some(Rate::from_mbps(u64::from(c))))).collect();
            prop_assert_eq!(found, right, "{:?}", format);
        }
    }
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let cases = [
        (Format::RocketfuelCch, "1 @X (1) -> <2> =a r0\n2 @X (1) -> <1> =b", "line 2: no radius"),
        (Format::RocketfuelCch, "1 @X (1) -> <2> =a r0\n", "line 1: the neighbour <2> is not in the file"),
        (Format::RocketfuelCch, "1 @X (1) =a r0", "line 1: no `->`"),
        (Format::RocketfuelCch, "1 @X -> =a r0\n\n1 @X -> =a r0", "line 3: a second router with uid 1"),
        (Format::RocketfuelWeights, "a b 1\na b\n", "line 2: 2 words"),
        (Format::RocketfuelWeights, "a b 0\n", "line 1: `0` is not a number above 0"),
        (Format::GraphMl, "<graphml>\n<graph></x>", "line 2: not XML"),
        (Format::GraphMl, "<graphml><graph>\n<node/></graph></graphml>", "line 2: a <node> without `id`"),
        (Format::GraphMl, "<!DOCTYPE a [<!ENTITY x 'y'>]><graphml/>", "line 1: not XML"),
        (Format::Gml, "graph [\n node [ id 1\n", "line 3: a `[` that is never closed"),
        (Format::Gml, "graph [\n node [ id 1 ]\n edge [ source 1 target 2 ] ]", "line 3: target `2` is not the id"),
        (Format::Gml, "graph [ node [ label \"a", "line 1: a string that is never closed"),
        (Format::NodeLink, "{\n\"nodes\": [", "line 2: not JSON"),
        (Format::NodeLink, "{\"nodes\": []}", "no list `edges` or `links`"),
        (Format::NodeLink, "{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1}]}", "edges[0]: no `target`"),
        (Format::NodeLink, "{\"nodes\": [{\"id\": 1}, {\"id\": 1}], \"edges\": []}", "nodes[1]: a second node"),
        (Format::NodeLink, "{\"nodes\": [], \"edges\": []}", "no nodes"),
        (Format::Hpcc, "3 1 2\n2\n0 2 1Gbps 1ms 0\n", "line 3: the file ends before"),
        (Format::Hpcc, "2 1 1\n1\n0 1 fast 1ms 0\n", "line 3: `fast` is not a rate"),
        (Format::Hpcc, "2 1 1\n1\n0 7 1Gbps 1ms 0\n", "line 3: a destination `7` is not a node from 0 to 1"),
        (Format::Hpcc, "999999999 1 1\n", "line 1: 999999999 nodes"),
        (Format::Hpcc, "4 2 2 9 1\n", "line 1: 5 words"),
        (Format::Hpcc, "2 1 1\n1\n0 1 1e30 1ms 0\n", "line 3: `1e30` is not a rate in bits per second"),
        (Format::SndlibJson, "{\n\"nodes\": 1}", "line 2: not SNDlib's network in JSON"),
        (
            Format::SndlibJson,
            "{\"nodes\": [{\"id\": \"a\"}], \"links\": [{\"source\": \"a\", \"target\": \"b\"}]}",
            "links[0]: target `b` is not the id",
        ),
        (Format::SndlibNative, "NODES (\na ( 1 2 )\n)\nLINKS (\nl ( a b ) 1\n)", "line 5: target `b` is not the id"),
        (Format::SndlibNative, "NODES (\na\n)\nLINKS (\nl ( a a ) much\n)", "line 5: `much` is not a valid capacity"),
        (Format::SndlibXml, "<network>\n</network>", "no <networkStructure>"),
        (
            Format::SndlibXml,
            "<network><networkStructure><links>\n<link/></links></networkStructure></network>",
            "line 2: a <link> without <source>",
        ),
        (Format::Repetita, "NODES 1\nlabel x y\na 0 0\n", "no EDGES"),
        (
            Format::Repetita,
            "NODES 1\nlabel x y\na 0 0\nEDGES 1\ne 0 0 1 fast 1\n",
            "line 5: `fast` is not a valid bandwidth",
        ),
        (Format::Containerlab, "a: 1\n", "no `topology`"),
        (Format::Containerlab, "topology:\n  nodes: [1, 2\n", "line 2: not containerlab's YAML: "),
        (
            Format::Containerlab,
            "topology:\n  links:\n{{- if .more }}\n    - endpoints: []\n",
            "line 3: not containerlab's YAML: ",
        ),
        (Format::Containerlab, "topology:\n  nodes:\n    a: {kind: [x]}\n", "line 3: not containerlab's YAML: "),
        (Format::Containerlab, "topology: {nodes: {a: }, links: [{endpoints: [\"a:1\"]}]}", "links[0]: 1 endpoints"),
        (Format::AsRelationships, "1|2|-1\n1|2\n", "line 2: 2 words; no relation"),
        (Format::AsRelationships, "1|x|0\n", "line 1: `x` is not a valid AS number"),
        (Format::Brite, "Nodes: ( 1 )\n0 1 2\nEdges: ( 1 )\n0 0 0 1 soon 3\n", "line 4: `soon` is not a valid delay"),
        (
            Format::Totem,
            "<domain><topology><links>\n<link/></links></topology></domain>",
            "line 2: a <link> without <from>",
        ),
    ];
    for (format, text, expected) in cases {
        let message = refused(format, text);
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
    let template = refused(Format::Containerlab, "topology:\n  links:\n{{- if .more }}\n    - endpoints: []\n");
    assert!(template.ends_with("(a Go template? containerlab expands its braces first)"), "{template}");
    assert_eq!(parse_bytes(Format::Gml, b"a\n\xff").expect_err("not text").to_string(), "line 2: not UTF-8 text");
}

#[test]
fn every_cut_of_a_file_is_an_error_or_a_draft() {
    for (format, _, text) in SAMPLES {
        for end in 0..text.len() {
            let _ = parse_bytes(format, &text.as_bytes()[..end]);
        }
    }
}

/// Bytes taken out, put in, or changed.
fn mutate(text: &str, edits: &[(usize, u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, remove, insert) in edits {
        let start = at % (bytes.len() + 1);
        let end = (start + *remove as usize % 8).min(bytes.len());
        bytes.splice(start..end, insert.iter().copied());
    }
    bytes
}

/// A reader must not panic, what it accepts must be a draft whose indices hold, and what it blames
/// must be a line of the file.
fn is_sound(format: Format, bytes: &[u8]) -> bool {
    let lines = bytes.split(|b| *b == b'\n').count();
    match parse_bytes(format, bytes) {
        Ok(d) => d.links.iter().all(|l| l.a.max(l.b) < d.nodes.len()),
        Err(e) => e.line.is_none_or(|line| (1..=lines).contains(&line)),
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Format::ALL.iter().all(|&f| is_sound(f, &bytes)));
        let _ = guess(Path::new("x"), &bytes);
    }

    #[test]
    fn arbitrary_words_never_panic(text in "([-0-9a-z@<>{}\\[\\]\"=/&;# \n.]{0,12}[ \n]?){0,12}") {
        prop_assert!(Format::ALL.iter().all(|&f| is_sound(f, text.as_bytes())));
    }

    #[test]
    fn mutated_files_never_panic(
        which in 0..SAMPLES.len(),
        edits in prop::collection::vec((any::<usize>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..4)), 1..6),
        ascii in any::<bool>(),
    ) {
        let (format, _, text) = SAMPLES[which];
        let mut bytes = mutate(text, &edits);
        if ascii {
            bytes.iter_mut().for_each(|b| *b &= 0x7f);
        }
        prop_assert!(is_sound(format, &bytes));
    }
}

#[test]
fn values_that_nothing_uses_are_named() {
    let edge = |attributes: &str| {
        let text = format!(
            "graph [ node [ id 0 population \"many\" ] node [ id 1 ] edge [ source 0 target 1 {attributes} ] ]"
        );
        read(Format::Gml, &text).unused
    };
    for (attributes, said) in [
        ("LinkSpeedRaw -5.0", "`LinkSpeedRaw` of `-5e0` holds no usable value"),
        ("LinkSpeedRaw 1e308", "`LinkSpeedRaw` of `1e308` holds no usable value"),
        ("LinkSpeed \"<10\" LinkSpeedUnits \"G\"", "`LinkSpeed` of `<10` holds no usable value"),
        ("rate \"100\"", "1 links have a `rate` without a unit"),
    ] {
        let unused = edge(attributes);
        assert!(unused.iter().any(|text| text.contains(said)), "{attributes}: {unused:?}");
        assert!(unused.iter().any(|text| text.contains("`population` of `many`")), "{unused:?}");
    }
    // Zero is how the Topology Zoo says that it does not know; a speed that is used leaves nothing.
    assert!(edge("LinkSpeedRaw 0.0").len() == 1 && edge("LinkSpeedRaw 1e9").len() == 1);
}
