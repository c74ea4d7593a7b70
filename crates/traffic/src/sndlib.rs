//! Demands of SNDlib's networks, as native text, as XML and as JSON.
//!
//! Amounts are in the unit of the network, which its file rarely states.

use crate::list::ListError;
use crate::rates::{Entries, error, short};
use midpath_core::units::Rate;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

/// Reads the section `DEMANDS ( id ( source target ) routing-unit value … )`.
pub(crate) fn native(text: &str) -> Result<Entries, ListError> {
    let (mut entries, mut unit, mut inside, mut found) = (Entries::default(), None, false, false);
    for (i, line) in text.lines().enumerate() {
        let line_number = i as u64 + 1;
        let words: Vec<&str> =
            line.split(|c: char| c.is_whitespace() || "()=,;".contains(c)).filter(|w| !w.is_empty()).collect();
        match words[..] {
            _ if line.trim_start().starts_with(['#', '?']) => {}
            ["DEMANDS"] => (inside, found) = (true, true),
            [] if line.trim() == ")" => inside = false,
            ["unit", name, ..] if !inside => unit = unit.or(unit_bps(name)),
            [id, from, to, _, value, ..] if inside => {
                let amount = value.parse::<f64>();
                let amount = amount.map_err(|_| {
                    error(line_number, format!("demand `{}`: `{}` is not a number", short(id), short(value)))
                })?;
                entries.add(from, to, amount * unit.unwrap_or(1.0), line_number)?;
            }
            [id, ..] if inside => {
                let message = format!(
                    "demand `{}` has {} words; it is `id ( source target ) unit value length`",
                    short(id),
                    words.len()
                );
                return Err(error(line_number, message));
            }
            _ => {}
        }
    }
    if !found {
        return Err(error(1, "no section DEMANDS in this SNDlib file"));
    }
    Ok(Entries { has_unit: unit.is_some(), ..entries })
}

/// Reads `<demands>`.
pub(crate) fn xml(text: &str) -> Result<Entries, ListError> {
    // Without type definitions, which could make a small file large.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 20_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| error(u64::from(e.pos().row).max(1), format!("not XML: {e}")))?;
    let is = |n: &Node<'_, '_>, name: &str| n.is_element() && n.tag_name().name() == name;
    let demands = document.descendants().find(|n| is(n, "demands"));
    let demands = demands
        .ok_or_else(|| error(1, "XML without <demands>; only SNDlib demands are supported in XML, else write a CSV"))?;
    let unit = document.descendants().find(|n| is(n, "unit")).and_then(|n| unit_bps(n.text()?.trim()));
    let mut entries = Entries { has_unit: unit.is_some(), ..Entries::default() };
    for demand in demands.children().filter(|n| is(n, "demand")) {
        let line = u64::from(document.text_pos_at(demand.range().start).row);
        let part = |name: &str| {
            let text = demand.children().find(|n| is(n, name)).and_then(|n| n.text());
            text.map(str::trim).ok_or_else(|| error(line, format!("a <demand> without <{name}>")))
        };
        let value = part("demandValue")?;
        let amount: f64 = value.parse().map_err(|_| error(line, format!("`{}` is not a number", short(value))))?;
        entries.add(part("source")?, part("target")?, amount * unit.unwrap_or(1.0), line)?;
    }
    Ok(entries)
}

/// Reads the list `demands` of SNDlib's text turned into JSON: `source`, `target`, `demand_value` without a unit.
pub(crate) fn json(list: &[Value]) -> Result<Entries, ListError> {
    let mut entries = Entries::default();
    for (i, demand) in list.iter().enumerate() {
        let missing = |key: &str| error(1, format!("demands[{i}]: no `{key}`"));
        let end = |key: &str| demand.get(key).and_then(Value::as_str).ok_or_else(|| missing(key));
        let amount = demand.get("demand_value").and_then(Value::as_f64).ok_or_else(|| missing("demand_value"))?;
        entries.add(end("source")?, end("target")?, amount, 1)?;
    }
    Ok(entries)
}

fn unit_bps(name: &str) -> Option<f64> {
    Rate::of_unit(name).map(Rate::as_f64)
}

#[cfg(test)]
mod tests {
    use crate::rates::parse_matrix_bytes;
    use proptest::prelude::*;

    type Demand = (usize, usize, u32);

    fn native(unit: bool, demands: &[Demand]) -> String {
        let rows: String = demands
            .iter()
            .enumerate()
            .map(|(i, (a, b, x))| format!("  D{i} ( Town_{a} Town_{b} ) 1 {x}.00 UNLIMITED\n"))
            .collect();
        let unit = if unit { "META (\n  unit = MBITPERSEC\n)\n" } else { "" };
        format!(
            "?SNDlib native format; type: network; version: 1.0\n{unit}NODES (\n Town_0 ( 1 2 )\n)\nDEMANDS (\n \
                 # <id>\n{rows})\n"
        )
    }

    fn xml(unit: bool, demands: &[Demand]) -> String {
        let rows: String = demands
            .iter()
            .map(|(a, b, x)| {
                format!(
                    "<demand id='d'><source>Town_{a}</source><target> Town_{b} </target><demandValue>{x}</demandValue></demand>\n"
                )
            })
            .collect();
        let unit = if unit { "<meta><unit>MBITPERSEC</unit></meta>" } else { "" };
        format!(
            "<?xml version='1.0'?>\n<network xmlns='http://sndlib.zib.de/network'>{unit}<demands>\n{rows}</demands></network>"
        )
    }

    fn json(_: bool, demands: &[Demand]) -> String {
        let demands: Vec<_> = demands
            .iter()
            .map(|(a, b, x)| serde_json::json!({"source": format!("Town_{a}"), "target": format!("Town_{b}"), "demand_value": x}))
            .collect();
        serde_json::json!({"nodes": [{"id": "Town_0"}], "links": [], "demands": demands}).to_string()
    }

    proptest! {
        #[test]
        fn all_forms_have_the_same_demands(
            unit: bool,
            drawn in proptest::collection::vec((0usize..9, 0usize..9, 1u32..100_000), 1..12),
        ) {
            let demands: Vec<Demand> = drawn.into_iter().filter(|d| d.0 != d.1).collect();
            prop_assume!(!demands.is_empty());
            for (text, unit) in [(native(unit, &demands), unit), (xml(unit, &demands), unit), (json(unit, &demands), false)] {
                let found = parse_matrix_bytes(text.as_bytes()).expect("valid");
                prop_assert_eq!((found.has_unit, found.both_ways), (unit, false));
                let said: Vec<_> = found.entries.into_iter().map(|e| (e.from, e.to, e.amount)).collect();
                let scale = if unit { 1e6 } else { 1.0 };
                let right: Vec<_> = demands
                    .iter()
                    .map(|(a, b, x)| (format!("Town_{a}"), format!("Town_{b}"), f64::from(*x) * scale))
                    .collect();
                prop_assert_eq!(said, right);
            }
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, message) in [
            ("?SNDlib native format\nNODES (\n)\n", 1, "no section DEMANDS"),
            ("?SNDlib native format\nDEMANDS (\n d ( a b ) 1 much U\n)\n", 3, "`much` is not a number"),
            ("?SNDlib native format\nDEMANDS (\n d ( a b )\n)\n", 3, "has 3 words"),
            ("?SNDlib native format\nDEMANDS (\n)\n", 1, "no entry above zero"),
            ("<network>\n<demands>\n<demand/></demands></network>", 3, "without <demandValue>"),
            ("<network>\n</net>", 2, "not XML"),
            ("<domain/>", 1, "XML without <demands>"),
            ("{\"demands\": [{\"source\": \"a\", \"target\": \"b\"}]}", 1, "demands[0]: no `demand_value`"),
            ("{\"demands\": []}", 1, "no entry above zero"),
        ] {
            let e = parse_matrix_bytes(text.as_bytes()).expect_err(text);
            assert!(e.line == line && e.message.contains(message), "{text:?}: {e}");
        }
    }
}
