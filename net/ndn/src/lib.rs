//! NDN packets, byte by byte: no I/O, no clock, and no panic whatever the bytes are.
//!
//! Interest and Data are those of NDN's packet specification 0.3, Nack and what else is hop by hop
//! those of NDNLPv2. MIRCC's fields are header fields of NDNLPv2, in types that forwarders which
//! don't know them ignore: a Data's own bytes are signed, so nothing that routers change can stand
//! in them. The crate's README has the layout.
//!
//! Received packets are parsed in place, without a copy: [`Frame`] is a link's header and a packet,
//! [`View`] the packet, [`NameView`] its name. A forwarder sends the same bytes on
//! ([`InterestView::forward`], [`DataView::wire`]) with a [`Header`] of its own around them.
//! [`LpPacket`], [`Interest`], [`Data`] and [`Name`] are values, to write packets of one's own.
//!
//! [`tlv`] reads and writes types and lengths, [`name`] names, [`packet`] Interest and Data,
//! [`link`] what stands around them. Packets, names, components and tokens are bounded: see the
//! constants there.

pub mod link;
pub mod name;
pub mod name_view;
pub mod packet;
pub mod tlv;
pub mod view;

pub use link::{Frame, Header, LpPacket, Mircc, PitToken};
pub use name::{Component, Name};
pub use name_view::NameView;
pub use packet::{Data, Interest, Network};
pub use tlv::Error;
pub use view::{DataView, InterestView, View};
