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

const SAMPLES: [(Format, &str, &str); 7] = [
    (Format::RocketfuelCch, "64496.cch", CCH),
    (Format::RocketfuelWeights, "weights.intra", WEIGHTS),
    (Format::RocketfuelLatencies, "latencies.intra", LATENCIES),
    (Format::GraphMl, "zoo.graphml", GRAPHML),
    (Format::Gml, "zoo.gml", GML),
    (Format::NodeLink, "x.json", NODE_LINK),
    (Format::Hpcc, "topology.txt", HPCC),
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
    assert_eq!(d.notes, ["1 routers beyond r0 left out"]);
    let wider = parse(Format::RocketfuelCch, CCH.as_bytes(), Options { radius: 1 }).expect("valid");
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
    assert_eq!(more.notes, ["what follows the 4 links that line 1 announces, from line 7 on, is left out"]);
}

#[test]
fn formats_are_guessed_by_name_and_by_content() {
    for (format, name, text) in SAMPLES {
        assert_eq!(guess(Path::new(name), text.as_bytes()), Some(format), "{name}");
        // A latency looks like a weight; only the name tells.
        let by_content = if format == Format::RocketfuelLatencies { Format::RocketfuelWeights } else { format };
        assert_eq!(guess(Path::new("noname"), text.as_bytes()), Some(by_content), "{name} by content");
        assert_eq!(serde_json::to_value(format).expect("a name"), format.name());
    }
    assert_eq!(guess(Path::new("noname"), b"hello"), None);
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
        (Format::Hpcc, "4 2 2 9\n", "line 1: 4 words"),
    ];
    for (format, text, expected) in cases {
        let message = refused(format, text);
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
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

/// A reader must not panic, and what it accepts must be a draft whose indices hold.
fn is_sound(format: Format, bytes: &[u8]) -> bool {
    parse_bytes(format, bytes).map_or(true, |d| d.links.iter().all(|l| l.a.max(l.b) < d.nodes.len()))
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
        ("LinkSpeedRaw -5.0", "`LinkSpeedRaw` of `-5e0` says nothing"),
        ("LinkSpeedRaw 1e308", "`LinkSpeedRaw` of `1e308` says nothing"),
        ("LinkSpeed \"<10\" LinkSpeedUnits \"G\"", "`LinkSpeed` of `<10` says nothing"),
        ("rate \"100\"", "1 links have a `rate` without a unit"),
    ] {
        let unused = edge(attributes);
        assert!(unused.iter().any(|text| text.contains(said)), "{attributes}: {unused:?}");
        assert!(unused.iter().any(|text| text.contains("`population` of `many`")), "{unused:?}");
    }
    // Zero is how the Topology Zoo says that it does not know; a speed that is used leaves nothing.
    assert!(edge("LinkSpeedRaw 0.0").len() == 1 && edge("LinkSpeedRaw 1e9").len() == 1);
}
