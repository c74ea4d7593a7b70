//! Node names from files, made unique.

use rustc_hash::FxHashSet;

/// Makes names unique: a name that several have gets `#` and its number in the source, from the
/// second on; an empty one is `node`.
pub fn make_unique<'a>(names: impl IntoIterator<Item = &'a mut String>) {
    let mut seen = FxHashSet::default();
    for (i, name) in names.into_iter().enumerate() {
        if name.is_empty() {
            "node".clone_into(name);
        }
        let base = name.clone();
        let mut suffix = i;
        while !seen.insert(name.clone()) {
            *name = format!("{base}#{suffix}");
            suffix += 1;
        }
    }
}
