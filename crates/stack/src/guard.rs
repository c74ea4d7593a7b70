//! Guards: a stack that misbehaves ends the run with one line that names it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use midpath_core::packet::{FlowId, NodeId};
use midpath_core::units::Time;

/// Datagrams that one call may lead to. Ours: 100 MB of full ones, more than any send buffer.
pub const MAX_DATAGRAMS: usize = 1 << 16;

/// Timeouts at one time. Ours: a stack with a thousand timers of its own may handle one at a time.
pub const MAX_TIMEOUTS: u32 = 1 << 12;

/// Whose stack it is.
#[derive(Debug, Clone)]
pub struct Named {
    pub scheme: String,
    pub flow: FlowId,
    pub node: NodeId,
}

/// What ends a run: the line that is shown. It unwinds through the engine as a panic, without a message of its own.
pub struct Failure(pub String);

impl Named {
    /// Ends the run.
    pub fn fail(&self, now: Time, what: &str) -> ! {
        let Named { scheme, flow, node } = self;
        let line =
            format!("the stack `{scheme}` of flow {} at node {}, {} s: {what}", flow.0, node.0, now.as_secs_f64());
        resume_unwind(Box::new(Failure(line)))
    }

    /// Calls the stack; a panic of its ends the run.
    pub fn call<R>(&self, now: Time, call: impl FnOnce() -> R) -> R {
        // The stack is not used again after that.
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => result,
            Err(panic) => self.fail(now, &format!("panicked: {}", message(panic.as_ref()))),
        }
    }
}

/// What a panic says, in one line.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = match (panic.downcast_ref::<Failure>(), panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(Failure(line)), ..) => line,
        (_, Some(text), _) => text.as_str(),
        (.., Some(text)) => text,
        _ => "no message",
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
