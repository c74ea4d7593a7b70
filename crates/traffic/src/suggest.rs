//! "Did you mean": what would have been accepted.

/// The known name nearest to `name`, if it is near enough to be a slip of the finger.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Half of a name's letters may be wrong; among equals the first wins. Long texts are no slip and cost time.
    let limit = (name.chars().count() / 2).max(1);
    if name.len() > 64 {
        return None;
    }
    let scored = known.map(|k| (strsim::damerau_levenshtein(name, k), k)).filter(|(d, _)| *d <= limit);
    scored.min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

/// "no `what` `name`; did you mean …", or the first few of what is known.
pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let shown: String = name.chars().take(64).collect();
    if let Some(near) = nearest(name, known.clone()) {
        return format!("no {what} `{shown}`; did you mean `{near}`?");
    }
    let shown_names: Vec<&str> = known.clone().take(6).collect();
    let more = if known.count() > shown_names.len() { ", …" } else { "" };
    format!("no {what} `{shown}`; there is {}{more}", shown_names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_get_a_list() {
        let known = ["web-search", "data-mining", "hadoop", "ali-storage"];
        assert!(unknown("distribution", "websearch", known.into_iter()).ends_with("did you mean `web-search`?"));
        assert_eq!(
            unknown("distribution", "zzz", known.into_iter()),
            "no distribution `zzz`; there is web-search, data-mining, hadoop, ali-storage"
        );
    }
}
