//! The application behind an endpoint, if any: data to send, receive room, notifications.
//!
//! Endpoints count offsets; the bytes are the driver's. The simulator has no bytes; an application there is an
//! endpoint that another one lives inside.

use crate::packet::PacketId;

/// What an application has handed over to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Supply {
    /// Bytes from the beginning of the stream on.
    pub given: u64,
    /// No more will follow.
    pub closed: bool,
}

/// Why a flow has ended, as one of its two ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All has been acknowledged (the end that sends), or has come (the end that receives).
    Complete,
    /// The other end has said that it is over.
    Reset,
    /// The other end has not answered for too long.
    TimedOut,
    /// Nobody takes the flow there.
    Refused,
    /// The application here has given it up.
    Aborted,
}

/// One direction of a flow, as one of its ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// What the application here has handed over.
    Sending,
    /// What arrives for it.
    Receiving,
}

/// What is between an endpoint and its application during a call.
#[derive(Debug, Default)]
pub struct Application {
    /// What there is to be sent; `None` where that is the flow's known length, or nothing.
    pub supply: Option<Supply>,
    /// The offset up to which it takes what arrives; `None` where only the scheme's parameters
    /// bound that.
    pub room: Option<u64>,
    /// Packets that carry bytes, and the offset of their first one.
    pub(crate) made: Vec<(PacketId, u64)>,
    /// The packet of this call was taken in: the offset of its first byte.
    pub(crate) arrived: Option<u64>,
    /// Bytes below this have been acknowledged.
    pub(crate) acknowledged: Option<u64>,
    pub(crate) ended: Option<Ended>,
}

impl Application {
    /// What is to be sent, for an endpoint that is another one's application.
    pub fn supplying(supply: Supply) -> Application {
        Application { supply: Some(supply), ..Application::default() }
    }
    /// Where the bytes of packets begin that were made during the call.
    pub fn made(&self) -> impl Iterator<Item = u64> + '_ {
        self.made.iter().map(|made| made.1)
    }
    /// What has been acknowledged during the call, if anything has.
    pub fn acknowledged(&self) -> Option<u64> {
        self.acknowledged
    }
}
