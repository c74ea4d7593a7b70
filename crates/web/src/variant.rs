//! Variants of a scenario: tables of changed keys, read as midpath/scenario.py reads them.

use midpath_sim::ScenarioError;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

const VARIANTS: &str = "variants";
/// Keys that no variant changes, and what does.
const NOT_VARIED: [(&str, &str); 3] = [
    ("scheme", "schemes are ticked"),
    ("seed", "all variants have the same seeds"),
    (VARIANTS, "a variant has no variants"),
];
/// Longest name.
const MAX_NAME: usize = 64;

/// The lines and names of a scenario's variants, in the order of its text.
pub(crate) fn named(text: &str) -> Vec<(usize, String)> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let Some(DeValue::Table(variants)) = table.get_ref().get(VARIANTS).map(|v| v.get_ref()) else { return Vec::new() };
    let mut found: Vec<_> = variants.keys().map(|key| (key.span().start, key.get_ref().to_string())).collect();
    found.sort();
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    found.into_iter().map(|(at, name)| (line(at), name)).collect()
}

/// Where a variant begins.
pub(crate) fn line(text: &str, name: &str) -> Option<usize> {
    named(text).into_iter().find(|(_, one)| one == name).map(|(line, _)| line)
}

/// A variant's text, and the keys that it changes.
pub(crate) fn text_of(text: &str, name: &str) -> Result<(String, Vec<String>), ScenarioError> {
    let mut values: Table = toml::from_str(text).map_err(|e| ScenarioError::whole(e.message()))?;
    let found = values.remove(VARIANTS).and_then(|all| all.get(name).cloned());
    let changes = changes(name, found)?;
    let keys = changes.iter().map(|(key, _)| key.clone()).collect();
    for (key, value) in changes {
        set(&mut values, &key, value).map_err(|message| error(&key, message))?;
    }
    let text = toml::to_string(&values).map_err(|e| ScenarioError::whole(e.to_string()))?;
    Ok((text, keys))
}

fn changes(name: &str, found: Option<Value>) -> Result<Vec<(String, Value)>, ScenarioError> {
    let key = format!("{VARIANTS}.{name}");
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let fits = name.chars().all(|c| is_plain(c) || " .+-".contains(c)) && name.chars().count() <= MAX_NAME;
    if !fits || !name.starts_with(is_plain) {
        let message = "is not a variant name: up to 64 letters, digits, spaces and . _ + -, starting with a letter";
        return Err(error(&key, message));
    }
    let Some(Value::Table(table)) = found else {
        return Err(error(&key, "is not a table of changed keys, such as queue.limit"));
    };
    let mut changes = Vec::new();
    flat(table, "", &mut changes);
    for (changed, _) in &changes {
        let first = changed.split('.').next().unwrap_or_default();
        if let Some((_, instead)) = NOT_VARIED.iter().find(|(key, _)| *key == first) {
            return Err(error(&format!("{key}.{first}"), format!("cannot change here: {instead}")));
        }
    }
    Ok(changes)
}

fn error(key: &str, message: impl Into<String>) -> ScenarioError {
    ScenarioError { key: key.to_owned(), line: None, message: message.into() }
}

/// Nested tables as dotted keys; a dotted key is set as it stands.
fn flat(table: Table, head: &str, found: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() && !key.contains(['.', '[']) => {
                flat(inner, &format!("{head}{key}."), found);
            }
            value => found.push((format!("{head}{key}"), value)),
        }
    }
}

/// Sets `a.b[2].c` or `a.b.2.c`, making tables that are missing.
fn set(values: &mut Table, dotted: &str, value: Value) -> Result<(), String> {
    let plain = dotted.replace(']', "");
    let mut steps = plain.split(['.', '[']);
    let first = steps.next().unwrap_or_default();
    let mut here = values.entry(first).or_insert_with(|| Value::Table(Table::new()));
    for step in steps {
        here = match here {
            Value::Table(table) => table.entry(step).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(list) => {
                let at = step.parse::<usize>().ok().and_then(|at| list.get_mut(at));
                at.ok_or_else(|| format!("there is no element {step}"))?
            }
            _ => return Err("is not in a table".into()),
        };
    }
    *here = value;
    Ok(())
}
