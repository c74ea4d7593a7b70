//! Flows that a scenario gives a path: their data take it, their ACKs take it back, and who cannot
//! be given one says so.

use crate::common::{port, refused, run_plain, with_scheme};
use midpath_sim::{Column, RunOutput};

/// A square `a`–`b`–`c`–`d` of 20 Mbps with a diagonal `a`–`c`, and a host at each corner.
fn square(routing: &str, more: &str, flow: &str) -> String {
    format!(
        r#"
stop = "6 s"
[topology]
nodes = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }}, {{ name = "d" }}]
links = [
    {{ a = "a", b = "b" }}, {{ a = "b", b = "c" }}, {{ a = "c", b = "d" }}, {{ a = "d", b = "a" }}, {{ a = "a", b = "c" }},
]
rules = [{{ rate = "20 Mbps", delay = "2 ms" }}]
hosts = {{ per_node = 1, rate = "100 Mbps", delay = "1 ms" }}
{more}
[routing]
{routing}
[queue]
limit = "60 kB"
[[flow]]
from = "a"
to = "c"
{flow}
"#
    )
}

fn bytes(out: &RunOutput, node: &str, peer: &str) -> u64 {
    out.table("ports").expect("ports").u64("bytes")[port(out, node, peer)]
}

const LONG: &str = "size = \"2 MB\"\npath = [\"a\", \"d\", \"c\"]";

#[test]
fn data_take_the_path_and_acks_take_it_back() {
    for scheme in ["newreno", "cubic+rpm", "rcp", "xcp", "fcp", "inrpp", "hpcc", "powertcp", "bbr", "udp"] {
        for ecmp in ["flow", "symmetric", "packet", "off"] {
            let flow = if scheme == "udp" { format!("{LONG}\nrate = \"8 Mbps\"") } else { LONG.to_owned() };
            let out = with_scheme(&square(&format!("ecmp = \"{ecmp}\""), "", &flow), scheme, 1);
            assert_eq!(out.summary("completed"), Some(1.0), "{scheme}, {ecmp}");
            // INRPP may go round its own bottleneck: that is what detours are.
            let least = if scheme == "inrpp" { 1_000_000 } else { 2_000_000 };
            assert!(bytes(&out, "a", "d") >= least && bytes(&out, "d", "c") >= least, "{scheme}, {ecmp}");
            let hops = out.table("flows").expect("flows").column("hops");
            assert!(matches!(hops, Some(Column::U32(hops)) if hops[..] == [4]), "{scheme}, {ecmp}");
            if scheme == "udp" {
                continue;
            }
            assert!(bytes(&out, "c", "d") > 0 && bytes(&out, "d", "a") > 0, "{scheme}, {ecmp}: no ACKs");
            if scheme != "inrpp" {
                assert_eq!(bytes(&out, "c", "a") + bytes(&out, "a", "c"), 0, "{scheme}, {ecmp}");
            }
        }
    }
}

/// Two flows between the same hosts: the one with a path does not lead the other away, nor the
/// other way round, whoever is first.
#[test]
fn it_is_the_flows_own() {
    let plain = "[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"1 MB\"\n";
    for start in ["0 s", "100 ms"] {
        let out = run_plain(&square("", "", &format!("{LONG}\nstart = \"{start}\"\n{plain}")));
        let (long, short) = (bytes(&out, "a", "d"), bytes(&out, "a", "c"));
        assert!((2_000_000..2_200_000).contains(&long), "{long}");
        assert!((1_000_000..1_100_000).contains(&short), "{short}");
    }
}

#[test]
fn the_ideal_takes_it_too() {
    // Two flows in one direction: over one link they share it, on two paths they don't.
    let two = |path: &str| {
        square("", "", &format!("size = \"5 MB\"\n[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"5 MB\"\n{path}"))
    };
    let fct = |text: &str| with_scheme(text, "ideal", 1).summary("fct_max_s").expect("they end");
    let (shared, apart) = (fct(&two("")), fct(&two("path = [\"a\", \"b\", \"c\"]")));
    assert!((shared / apart - 2.0).abs() < 0.05, "{shared} s on one link, {apart} s on two paths");
}

#[test]
fn threads_do_not_matter() {
    let text = square("reconverge = \"50 ms\"", "", &format!("{LONG}\n{FAULT}"));
    let one = with_scheme(&text, "cubic", 1);
    for threads in [2, 3] {
        let out = with_scheme(&text, "cubic", threads);
        assert_eq!(out.table("flows").expect("flows").f64("end_s"), one.table("flows").expect("flows").f64("end_s"));
    }
}

const FAULT: &str = "[[fault]]\nat = \"400 ms\"\nkind = \"link-down\"\nlink = [\"d\", \"c\"]\nuntil = \"1 s\"\n";

/// As a label-switched path that breaks falls back to the IGP's routes, and is used again when it
/// is whole.
#[test]
fn a_broken_path_is_left_when_routing_has_found_out() {
    let udp = "scheme = \"udp\"\nrate = \"8 Mbps\"\npath = [\"a\", \"d\", \"c\"]\nstop = \"5 s\"\n";
    let stays = run_plain(&square("", "", &format!("{udp}{FAULT}")));
    assert_eq!(bytes(&stays, "a", "c"), 0);
    let moves = run_plain(&square("reconverge = \"100 ms\"", "", &format!("{udp}{FAULT}")));
    // From .5 s to 1.1 s.
    let short = bytes(&moves, "a", "c") as f64 * 8.0;
    assert!((short - 0.6 * 8e6).abs() < 6.0 * 12_000.0, "{short} bits");
    assert_eq!(moves.run["rerouting"]["no_route"].as_u64(), Some(0));
}

/// What-if: the same file with a link of the path taken out is a run, not an error.
#[test]
fn a_path_over_a_link_that_is_taken_out_goes_as_routing_does() {
    let out = run_plain(&square("", "without = [[\"c\", \"d\"]]", LONG));
    assert_eq!((bytes(&out, "a", "d"), out.summary("completed")), (0, Some(1.0)));
}

#[test]
fn a_path_that_is_none_says_why() {
    let refused = |path: &str| refused(&square("", "", &format!("size = \"1 MB\"\npath = {path}")));
    for (path, why) in [
        ("[\"a\", \"d\", \"b\"]", "flow[0].path: there is no link between `d` and `b`; `d` has links to `c`, `a`"),
        ("[\"dd\"]", "flow[0].path[0]: there is no node `dd`"),
        ("[\"a\", \"d\", \"a\", \"c\"]", "flow[0].path[2]: a path may visit `a` only once"),
        ("[\"a\", \"h1\", \"c\"]", "flow[0].path[1]: `h1` is a host"),
        ("[\"b\", \"c\"]", "flow[0].path: there is no link between `h0` and `b`"),
    ] {
        let error = refused(path);
        assert!(error.contains(why), "{path}: {error}");
    }
    for scheme in ["mircc", "ndn", "mptcp"] {
        let text = format!("scheme = \"{scheme}\"\n{}", square("", "", LONG));
        let error = crate::common::refused(&text);
        assert!(error.contains(&format!("flow[0].path: `{scheme}` chooses its own paths")), "{error}");
    }
}
