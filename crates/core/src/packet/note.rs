//! Trace events named by schemes.

use super::{FlowId, PacketId, PortId};

/// An event that a scheme names itself: with [`PortCtx::note`] or [`EndpointCtx::note`].
///
/// [`PortCtx::note`]: crate::roles::PortCtx::note
/// [`EndpointCtx::note`]: crate::roles::EndpointCtx::note
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    /// Its name: one or two words that tell what has happened.
    pub what: &'static str,
    /// A number that belongs to it; NaN for none.
    pub value: f64,
    /// Where it has happened.
    pub place: NotePlace,
    /// The packet that it is about.
    pub packet: Option<PacketId>,
}

/// Who has something to note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePlace {
    /// A port.
    Port(PortId),
    /// The endpoint of this flow that is called.
    Endpoint(FlowId),
}
