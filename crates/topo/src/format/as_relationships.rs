//! CAIDA's AS relationships (`20260101.as-rel.txt`, `.as-rel2.txt`): `provider|customer|-1` or
//! `peer|peer|0`, in as-rel2 with the source behind.
//!
//! What is read is who is linked to whom. Rates and delays are not in it, and the policy that such a
//! relation stands for is not followed: routes are shortest paths.

use super::FormatError;
use super::attributes::Builder;
use super::lines::Record;
use crate::draft::Draft;

/// Reads a topology.
pub fn parse(text: &str) -> Result<Draft, FormatError> {
    let mut builder = Builder::new(false);
    let mut seen = rustc_hash::FxHashSet::default();
    for line in Record::all(text, &['|']) {
        let (a, b): (u32, u32) = (line.parse(0, "AS number")?, line.parse(1, "AS number")?);
        if !matches!(line.word(2, "relation, -1 or 0")?, "-1" | "0" | "1" | "2") {
            return Err(
                line.error(format!("`{}` is not a relation; write -1 or 0", super::attributes::short(line.words[2])))
            );
        }
        for number in [a, b].into_iter().filter(|n| seen.insert(*n)) {
            builder.node(&number.to_string(), &[]).map_err(|m| line.error(m))?;
        }
        builder.edge(&a.to_string(), &b.to_string(), &[]).map_err(|m| line.error(m))?;
    }
    let mut draft = builder.finish();
    draft.unused.push("provider, customer and peer relations are ignored: routes are shortest paths".into());
    Ok(draft)
}
