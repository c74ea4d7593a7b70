//! What a call returns, and what it has to say.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use midpath_sim::{ScenarioError, SessionError};

/// Codes as in `include/midpath.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// `MIDPATH_OK`
    Ok = 0,
    /// `MIDPATH_BAD_ARGUMENT`
    BadArgument = 1,
    /// `MIDPATH_BAD_SCENARIO`
    BadScenario = 2,
    /// `MIDPATH_REFUSED`
    Refused = 3,
    /// `MIDPATH_WRONG_THREAD`
    WrongThread = 4,
    /// `MIDPATH_STOPPED`
    Stopped = 5,
    /// `MIDPATH_STUCK`
    Stuck = 6,
    /// `MIDPATH_BROKEN`
    Broken = 7,
}

/// Why a call failed.
pub(crate) struct Failure(pub Status, pub String);

impl Failure {
    pub fn argument(message: impl Into<String>) -> Failure {
        Failure(Status::BadArgument, message.into())
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        let status = if matches!(error, SessionError::Over(_)) { Status::Stopped } else { Status::Refused };
        Failure(status, error.to_string())
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure(Status::BadScenario, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps the message for [`last`].
pub(crate) fn keep(failure: Failure) -> Status {
    let message = CString::new(failure.1.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = message);
    failure.0
}

/// The message of this thread's last failure, until the next one.
pub(crate) fn last() -> *const c_char {
    LAST.with(|last| CStr::as_ptr(&last.borrow()))
}
