//! The schemes that this simulator has: Midpath's, and those that crates outside have registered.

use std::sync::OnceLock;

use midpath_schemes::Catalogue;

/// Python imports a module once, and asks it for runs without saying for which schemes: so there is
/// one catalogue.
static REGISTERED: OnceLock<Catalogue> = OnceLock::new();

/// Adds what these crates bring to the schemes of this simulator. Call it once, when your module is
/// initialised; later calls change nothing. Refuses two schemes of one name.
pub fn register(crates: &[fn() -> Catalogue]) -> Result<(), String> {
    let all = crates.iter().try_fold(Catalogue::standard(), |all, schemes| all.joined(schemes()))?;
    let _ = REGISTERED.set(all);
    Ok(())
}

/// The schemes that scenarios can name.
pub(crate) fn catalogue() -> Catalogue {
    REGISTERED.get().cloned().unwrap_or_else(Catalogue::standard)
}
