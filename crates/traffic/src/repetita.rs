//! Repetita's `.demands`: `DEMANDS n`, a line of headings, then `label src dest bw` for each, with the
//! nodes' numbers in the `.graph` of the same network and kbit/s.

use crate::list::ListError;
use crate::rates::{Entries, error, short};
use std::path::{Path, PathBuf};

/// Whether a text is one.
pub(crate) fn is_demands(text: &str) -> bool {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty());
    let first = |line: Option<&str>, word: &str| line.is_some_and(|l| l.split_whitespace().next() == Some(word));
    first(lines.next(), "DEMANDS") && first(lines.next(), "label")
}

/// Reads the demands, between nodes by number.
pub(crate) fn parse(text: &str) -> Result<Entries, ListError> {
    let mut found = Entries { has_unit: true, ..Entries::default() };
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).skip(2);
    for (i, line) in lines {
        let (number, words) = (i as u64 + 1, line.split_whitespace().collect::<Vec<_>>());
        let [_, from, to, amount] = words[..] else {
            return Err(error(number, format!("{} words; expected `label src dest bw`", words.len())));
        };
        let kbps: f64 = amount.parse().map_err(|_| error(number, format!("`{}` is not a bandwidth", short(amount))))?;
        found.add(from, to, kbps * 1e3, number)?;
    }
    Ok(found)
}

/// The network that numbers of nodes refer to: `Abilene.graph` for `Abilene.0003.demands`.
pub(crate) fn graph_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let network = name.strip_suffix(".demands")?;
    let stem = network.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('.').unwrap_or(network);
    Some(path.with_file_name(format!("{stem}.graph")))
}

/// Names in the place of numbers, from the text of the `.graph`.
pub(crate) fn name(entries: &mut Entries, graph: &str) -> Result<(), ListError> {
    let lines = graph.lines().filter(|l| !l.trim().is_empty()).skip(2);
    let labels = lines.map_while(|l| l.split_whitespace().next().filter(|w| *w != "EDGES"));
    let mut names: Vec<String> = labels.map(str::to_owned).collect();
    midpath_core::names::make_unique(&mut names);
    for entry in &mut entries.entries {
        for end in [&mut entry.from, &mut entry.to] {
            let name = end.parse().ok().and_then(|n: usize| names.get(n));
            let unknown =
                || error(entry.line, format!("`{}` is not a node from 0 to {}", short(end), names.len().max(1) - 1));
            *end = name.ok_or_else(unknown)?.clone();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMANDS: &str = "DEMANDS 2\nlabel src dest bw\ndemand_0 0 1 250\ndemand_1 1 0 40\n";
    const GRAPH: &str = "NODES 2\nlabel x y\n0_Ahlen 7 51\n1_Beckum 8 51\n\nEDGES 1\nlabel src dest weight bw delay\n";

    #[test]
    fn demands_get_the_names_of_their_graph() {
        assert!(is_demands(DEMANDS) && !is_demands(GRAPH) && !is_demands("DEMANDS,label\na,b\n"));
        let mut found = parse(DEMANDS).expect("valid");
        name(&mut found, GRAPH).expect("two nodes");
        let said: Vec<_> = found.entries.iter().map(|e| (e.from.as_str(), e.to.as_str(), e.amount)).collect();
        assert_eq!(said, [("0_Ahlen", "1_Beckum", 250e3), ("1_Beckum", "0_Ahlen", 40e3)]);
    }

    #[test]
    fn demands_of_a_node_to_itself_are_counted_and_left_out() {
        let found = parse("DEMANDS 3\nlabel src dest bw\nd0 0 0 422\nd1 0 1 1917\nd2 1 1 0\n").expect("valid");
        assert_eq!((found.entries.len(), found.to_itself), (1, 2));
        assert!(parse("DEMANDS 1\nlabel src dest bw\nd0 0 0 -1\n").is_err());
    }

    #[test]
    fn a_graph_is_found_under_the_networks_name() {
        for (demands, graph) in [
            ("d/Abilene.0003.demands", Some("d/Abilene.graph")),
            ("Abilene.demands", Some("Abilene.graph")),
            ("as1221.demands", Some("as1221.graph")),
            ("Abilene.csv", None),
        ] {
            assert_eq!(graph_of(Path::new(demands)), graph.map(PathBuf::from), "{demands}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(parse("DEMANDS 1\nlabel src dest bw\nd 0 1\n").expect_err("3 words").line, 3);
        assert_eq!(parse("DEMANDS 1\nlabel src dest bw\n\nd 0 1 x\n").expect_err("no number").line, 4);
        let mut found = parse("DEMANDS 1\nlabel src dest bw\nd 0 7 1\n").expect("read");
        let e = name(&mut found, GRAPH).expect_err("two nodes");
        assert!(e.line == 3 && e.message.contains("`7` is not a node from 0 to 1"), "{e}");
    }
}
