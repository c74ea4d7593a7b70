//! What JavaScript calls and provides. Numbers and one buffer each way: no generated glue, and no memory that either side
//! frees for the other.

#![expect(unsafe_code, reason = "a wasm export's name is global, and two imports take a pointer into our memory")]

use std::time::Duration;

use midpath_sim::Progress;

use crate::Host;

#[link(wasm_import_module = "midpath")]
unsafe extern "C" {
    /// Milliseconds from any moment on.
    safe fn now_ms() -> f64;
    /// How far a run is; `stop_s` is NaN where it is not known. 0 ends the run.
    safe fn progress(simulated_s: f64, stop_s: f64, packet_hops: f64) -> u32;
    /// Writes the request to `at`; it has as many bytes as `answer` was called with.
    fn read_request(at: *mut u8);
    /// Copies the answer, or the message of a panic.
    fn take_answer(at: *const u8, bytes: usize, is_panic: u32);
}

struct Page;

impl Host for Page {
    fn now(&self) -> Duration {
        Duration::try_from_secs_f64(now_ms() / 1e3).unwrap_or_default()
    }

    fn progress(&mut self, reached: Progress) -> bool {
        progress(reached.simulated_s, reached.stop_s.unwrap_or(f64::NAN), reached.packet_hops as f64) != 0
    }
}

/// Answers a request of so many bytes.
// SAFETY: no other function of this name is linked.
#[unsafe(no_mangle)]
pub extern "C" fn answer(bytes: usize) {
    std::panic::set_hook(Box::new(|panic| give(panic.to_string().as_bytes(), true)));
    let mut request = vec![0; bytes];
    // SAFETY: JavaScript writes `bytes` bytes, which the vector has.
    unsafe { read_request(request.as_mut_ptr()) };
    give(&crate::answer(&request, &mut Page), false);
}

fn give(answer: &[u8], is_panic: bool) {
    // SAFETY: the slice lives until the call returns; JavaScript copies it.
    unsafe { take_answer(answer.as_ptr(), answer.len(), is_panic.into()) };
}
