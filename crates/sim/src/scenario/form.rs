//! All errors in a scenario's form; [`super::parse`] stops at the first.

use super::{ScenarioError, lines, parse};

/// Errors of one scenario at most. Ours: a page of them.
const MOST: usize = 50;

/// Every error of form: what is wrong is blanked, and the rest read again. An error that may come from that has the
/// whole table blanked, and one that is no TOML ends the list.
pub fn faults_of_form(text: &str) -> Vec<ScenarioError> {
    let mut left = text.to_owned();
    let mut found: Vec<ScenarioError> = Vec::new();
    let mut tables: Vec<String> = Vec::new();
    while found.len() < MOST
        && let Err(error) = parse(&left)
    {
        let table = error.key.split(['.', '[']).next().unwrap_or_default().to_owned();
        let is_new = !found.iter().any(|before| follows(before, &error));
        let without = match is_new {
            true => lines::without(&left, &error.key).filter(|_| error.key != "format"),
            // A table that is needed is missing then.
            false if table.is_empty() || tables.contains(&table) => None,
            false => lines::without_table(&left, &table),
        };
        if is_new {
            found.push(error);
        } else {
            tables.push(table);
        }
        let Some(without) = without else { break };
        left = without;
    }
    found
}

/// Whether an error is at a key that was blanked, or around it.
fn follows(before: &ScenarioError, error: &ScenarioError) -> bool {
    let rest = before.key.strip_prefix(error.key.as_str());
    rest.is_some_and(|rest| error.key.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<(String, Option<usize>)> {
        faults_of_form(text).into_iter().map(|e| (e.key, e.line)).collect()
    }

    const GOOD: &str = "seed = 1\n[topology]\nbuiltin = \"abilene\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";

    #[test]
    fn each_has_its_line() {
        assert_eq!(keys(GOOD), []);
        let text = "seed = \"one\"\nstpo = 3 # three\n[topology]\nbuiltin = \"abilene\"\nlink = { rate = 1, dealy = \"1 ms\" }\n\
                    [queu]\nlimit = 3\n[queue]\nlimit = 5\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 parsec\"\n";
        let mut found = keys(text);
        found.sort();
        let wanted = [
            ("flow[0].size", 13),
            ("queu", 6),
            ("queue.limit", 9),
            ("seed", 1),
            ("stpo", 2),
            ("topology.link.dealy", 5),
            ("topology.link.rate", 5),
        ];
        assert_eq!(found, wanted.map(|(key, line)| (key.to_owned(), Some(line))));
    }

    #[test]
    fn what_follows_from_another_is_not_said() {
        // Without its `from` a flow is none: that is no second error.
        assert_eq!(keys(&GOOD.replace("\"a\"", "3")), [("flow[0].from".to_owned(), Some(5))]);
        // And what else is wrong is.
        let more = GOOD.replace("\"a\"", "3").replace("= 1", "= 0.5").replace("builtin", "bultin");
        assert_eq!(keys(&more).len(), 3, "{:?}", keys(&more));
        assert_eq!(keys(&GOOD.replace("[topology]", "[topologi]")).len(), 2, "an unknown table, and a missing one");
        assert_eq!(keys("seed = \n[[").len(), 1);
        assert_eq!(keys(&format!("format = 2\ncolour = 1\n{GOOD}")), [("format".to_owned(), Some(1))]);
    }

    #[test]
    fn there_is_an_end() {
        let many: String = (0..200).map(|i| format!("x{i} = 1\n")).collect();
        assert_eq!(keys(&format!("{many}{GOOD}")).len(), MOST);
    }

    proptest::proptest! {
        /// The first is the one that a run names, whatever the text, and all lie in it.
        #[test]
        fn the_first_is_that_of_a_run(cut in 0usize..120, with in "[a-z=\\[\\]{},.\" \n0-9]{0,8}") {
            let at = cut.min(GOOD.len());
            let text = format!("{}{with}{}", &GOOD[..at], &GOOD[at..]);
            let found = faults_of_form(&text);
            proptest::prop_assert_eq!(found.first().cloned(), parse(&text).err());
            let lines = text.split('\n').count();
            proptest::prop_assert!(found.iter().all(|e| e.line.is_none_or(|n| (1..=lines).contains(&n))));
        }
    }
}
