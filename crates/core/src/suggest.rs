//! "Did you mean": the nearest accepted name.

/// The candidate nearest to `name`, if it is near enough to be a slip. Slips are ranked by how people
/// mistype: letter case and separators, then two neighbouring letters in each other's place, one
/// wrong letter, one too many or too few, any other likeness (Jaro–Winkler similarity of at least
/// 0.8), and a number cut short last. A name of more than 64 bytes is no slip, and comparing costs
/// time.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let lower = name.to_lowercase();
    let found = candidates.into_iter().filter_map(|c| Some((likeness(&lower, &c.to_lowercase())?, c)));
    found.min_by(|(x, _), (y, _)| x.slip.cmp(&y.slip).then(x.distance.total_cmp(&y.distance))).map(|(_, c)| c)
}

const NEAR: f64 = 0.8;

/// What somebody may have done to a name, the likeliest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slip {
    Separator,
    Swap,
    Letter,
    Length,
    Likeness,
    Number,
}

struct Likeness {
    slip: Slip,
    /// From 0 on, of slips of one kind.
    distance: f64,
}

fn likeness(a: &str, b: &str) -> Option<Likeness> {
    let similarity = strsim::jaro_winkler(a, b);
    let slip = slip(a, b, similarity)?;
    // Of numbers the next one: too little to count against a likeness.
    let number = |text: &str| text[stem(text)..].parse::<u32>();
    let apart = match (number(a), number(b)) {
        (Ok(x), Ok(y)) => f64::from(x.abs_diff(y)) * 1e-12,
        _ => 0.0,
    };
    Some(Likeness { slip, distance: 1.0 - similarity + apart })
}

/// Where the number at the end of a name begins.
fn stem(text: &str) -> usize {
    text.trim_end_matches(|c: char| c.is_ascii_digit()).len()
}

fn slip(a: &str, b: &str, similarity: f64) -> Option<Slip> {
    let bare = |text: &str| text.chars().filter(|c| !matches!(c, '-' | '_' | ' ' | '.')).collect::<String>();
    if bare(a) == bare(b) && !bare(a).is_empty() {
        return Some(Slip::Separator);
    }
    let number_cut = a.len() != b.len() && stem(a) == stem(b) && (a.starts_with(b) || b.starts_with(a));
    let edits = strsim::levenshtein(a, b);
    let is_number = |text: &str| text.len() > 1 && text.bytes().all(|c| c.is_ascii_digit());
    match edits {
        // Jaro–Winkler finds nothing in common in `rmp` and `rpm`.
        2 if strsim::osa_distance(a, b) == 1 => Some(Slip::Swap),
        // Of two letters one is no slip but another name; of two digits it is the next key.
        1 if a.len() == b.len() && (similarity >= NEAR || a.len() > 3 || is_number(a) && is_number(b)) => {
            Some(Slip::Letter)
        }
        _ if similarity < NEAR => None,
        _ if number_cut => Some(Slip::Number),
        1 => Some(Slip::Length),
        _ => Some(Slip::Likeness),
    }
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
    fn slips_are_ranked_as_people_mistype() {
        let numbers: Vec<String> = (0..66).map(|n| n.to_string()).collect();
        let routers: Vec<String> = (0..66).map(|n| format!("r{n}")).collect();
        let numbers = || numbers.iter().map(String::as_str).collect::<Vec<_>>();
        let routers = || routers.iter().map(String::as_str).collect::<Vec<_>>();
        for (name, candidates, near) in [
            ("66", numbers(), Some("65")),
            ("71", numbers(), Some("17")),
            ("660", vec!["6", "66"], Some("66")),
            ("100", vec!["1", "10", "190"], Some("190")),
            ("r66", routers(), Some("r65")),
            ("R12", routers(), Some("r12")),
            ("r1a", vec!["r1", "r1b"], Some("r1b")),
            ("berlin", vec!["Bern", "Berlin"], Some("Berlin")),
            ("Brelin", vec!["Bremen", "Berlin"], Some("Berlin")),
            ("Berlim", vec!["Berlingen", "Berlin"], Some("Berlin")),
            ("Berlinn", vec!["Bern", "Berlin"], Some("Berlin")),
            ("new_york", vec!["Newark", "New York"], Some("New York")),
            ("kansas-city", vec!["Kansas", "Kansas City"], Some("Kansas City")),
            ("12", vec!["1", "7"], Some("1")),
            ("tcp", vec!["xcp", "rcp"], None),
            ("xyz", vec!["h0", "h1"], None),
            ("", vec!["-", "a"], None),
        ] {
            assert_eq!(nearest(name, candidates.iter().copied()), near, "{name}");
        }
    }

    #[test]
    fn a_name_without_end_is_neither_compared_nor_printed() {
        let long = "x".repeat(1_000_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert!(unknown("node", &long, ["a"]).len() < 100);
    }
}
