//! "Did you mean": the nearest of the names that would have been accepted.

/// The candidate nearest to `name`, if it is near enough to be a slip (Jaro–Winkler similarity of
/// at least 0.8, or two neighbouring letters in each other's place). A name of more than 64 bytes
/// is no slip, and comparing costs time.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (similarity(&lower, &c.to_lowercase()), c))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|x, y| x.0.total_cmp(&y.0))
        .map(|(_, c)| c)
}

const NEAR: f64 = 0.8;

/// Jaro–Winkler's, which finds nothing in common in `rmp` and `rpm`: a swap counts as near.
fn similarity(a: &str, b: &str) -> f64 {
    let swapped = strsim::osa_distance(a, b) == 1 && strsim::levenshtein(a, b) == 2;
    strsim::jaro_winkler(a, b).max(if swapped { NEAR } else { 0.0 })
}

/// "there is no `what` `name`", with the nearest candidate, or the first few.
pub fn unknown<'a>(what: &str, name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let shown: String = name.chars().take(64).collect();
    if let Some(near) = nearest(name, candidates.clone()) {
        return format!("there is no {what} `{shown}`; did you mean `{near}`?");
    }
    let mut all = candidates.into_iter();
    let first: Vec<_> = all.by_ref().take(12).map(|c| format!("`{c}`")).collect();
    let more = if all.next().is_some() { ", …" } else { "" };
    match first.len() {
        0 => format!("there is no {what} `{shown}`"),
        _ => format!("there is no {what} `{shown}`; there are {}{more}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_listed() {
        let names = ["dumbbell", "chain", "ring"];
        assert_eq!(unknown("generator", "dumbell", names), "there is no generator `dumbell`; did you mean `dumbbell`?");
        let far = unknown("generator", "xyz", names);
        assert_eq!(far, "there is no generator `xyz`; there are `dumbbell`, `chain`, `ring`");
        assert_eq!(nearest("websearch", ["data-mining", "web-search"]), Some("web-search"));
        assert_eq!(nearest("rmp", ["xcp", "rpm", "rcp"]), Some("rpm"));
        // Of two letters one is no slip but another name.
        assert_eq!(nearest("h3", ["h1", "h2"]), None);
    }

    #[test]
    fn a_name_without_end_is_neither_compared_nor_printed() {
        let long = "x".repeat(1_000_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert!(unknown("node", &long, ["a"]).len() < 100);
    }
}
