//! The schemes that this simulator has: Midpath's, or what a crate outside has registered.

use std::sync::OnceLock;

use midpath_schemes::Catalogue;

/// Python imports a module once, and asks it for runs without saying for which schemes: so there is
/// one catalogue.
static REGISTERED: OnceLock<Catalogue> = OnceLock::new();

/// Makes `catalogue` the schemes of this simulator. Call it once, when your module is initialised;
/// later calls change nothing.
pub fn register(catalogue: Catalogue) {
    let _ = REGISTERED.set(catalogue);
}

/// The schemes that scenarios can name.
pub(crate) fn catalogue() -> Catalogue {
    REGISTERED.get().cloned().unwrap_or_else(Catalogue::standard)
}
