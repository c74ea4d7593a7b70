//! The functions of `include/midpath.h`.

#![expect(unsafe_code, reason = "C hands over pointers to sessions, texts and its own data, and names are global")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::{self, ThreadId};

use midpath_core::units::Time;
use midpath_schemes::Catalogue;
use midpath_sim::{Ended, Host, RunOptions, Session};

use crate::error::{Failure, Status, keep, last};

/// A function of C's, called with what it was handed over with.
pub type MidpathCallback = Option<unsafe extern "C" fn(*mut c_void)>;

/// A session as C holds it.
pub struct Midpath {
    /// The session, as whoever may use it now has it: `midpath_open`'s, or that of the callback at hand, which comes from it. So
    /// no two references to it are in use at a time, though callbacks call in while `midpath_run` has one.
    session: Cell<*mut Session>,
    owner: ThreadId,
    /// In a callback.
    within: Cell<bool>,
    broken: Cell<bool>,
}

impl Midpath {
    fn check_owner(&self) -> Result<(), Failure> {
        if thread::current().id() == self.owner {
            return Ok(());
        }
        Err(Failure(Status::WrongThread, "a session belongs to the thread that opened it".into()))
    }

    /// Calls with the session, unless this thread may not use it.
    fn with<R>(&self, call: impl FnOnce(&mut Session) -> Result<R, Failure>) -> Result<R, Failure> {
        self.check_owner()?;
        if self.broken.get() {
            return Err(Failure(Status::Broken, "the session is broken since an earlier call failed in it".into()));
        }
        let session = self.session.get();
        // SAFETY: it is alive until `midpath_close`, which is refused in callbacks. Only this thread comes here, and what it
        // has borrowed before is not used until this call returns: see the field.
        let done = catch_unwind(AssertUnwindSafe(|| call(unsafe { &mut *session })));
        done.unwrap_or_else(|panic| {
            self.broken.set(true);
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(Failure(Status::Broken, format!("a bug of Midpath's: {text}")))
        })
    }
}

/// C's callback with its argument, as a session calls it.
fn callback(this: *const Midpath, function: MidpathCallback, arg: *mut c_void) -> midpath_sim::Callback {
    Box::new(move |session| {
        let Some(function) = function else { return };
        // SAFETY: `midpath_run` calls callbacks, and its caller's pointer is valid until it returns.
        let this = unsafe { &*this };
        let before = (this.session.replace(session), this.within.replace(true));
        // SAFETY: C has handed over both for this call.
        unsafe { function(arg) };
        this.session.set(before.0);
        this.within.set(before.1);
    })
}

fn status(done: Result<(), Failure>) -> c_int {
    done.map_or_else(keep, |()| Status::Ok) as c_int
}

/// Has a session do something: a code.
fn act(pointer: *const Midpath, call: impl FnOnce(&mut Session) -> Result<(), Failure>) -> c_int {
    status(session(pointer).and_then(|this| this.with(call)))
}

/// Asks a session for a number.
fn ask(pointer: *const Midpath, call: impl FnOnce(&mut Session) -> Result<i64, Failure>) -> i64 {
    session(pointer).and_then(|this| this.with(call)).unwrap_or_else(|failure| {
        keep(failure);
        -1
    })
}

fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("`{what}` is null")));
    }
    // SAFETY: it is not null, and C hands over texts that end with a null character.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::argument(format!("`{what}` is not UTF-8")))
}

fn session<'a>(pointer: *const Midpath) -> Result<&'a Midpath, Failure> {
    // SAFETY: what is not null comes from `midpath_open` and has not been closed. All of it is in cells.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument("`session` is null"))
}

fn host(number: i64) -> Result<Host, Failure> {
    usize::try_from(number)
        .map(Host)
        .map_err(|_| Failure::argument(format!("{number} is no host; they are numbered from 0")))
}

/// The message of this thread's last failure.
// SAFETY, here and below: the names begin with the library's.
#[unsafe(no_mangle)]
pub extern "C" fn midpath_error() -> *const c_char {
    last()
}

/// Opens a session.
///
/// # Safety
///
/// Texts end with a null character; `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_open(scenario: *const c_char, folder: *const c_char, out: *mut *mut Midpath) -> c_int {
    let open = || {
        if out.is_null() {
            return Err(Failure::argument("`session` is null"));
        }
        let (scenario, folder) = (text(scenario, "scenario")?, text(folder, "folder")?);
        Ok(Session::new(scenario, Path::new(folder), &RunOptions::default(), &Catalogue::standard())?)
    };
    let opened = catch_unwind(AssertUnwindSafe(open))
        .unwrap_or_else(|_| Err(Failure(Status::Broken, "a bug of Midpath's".into())));
    status(opened.map(|session| {
        let session = Cell::new(Box::into_raw(Box::new(session)));
        let owner = thread::current().id();
        let handle = Box::new(Midpath { session, owner, within: Cell::new(false), broken: Cell::new(false) });
        // SAFETY: it is not null, and has room.
        unsafe { out.write(Box::into_raw(handle)) };
    }))
}

/// Closes a session.
///
/// # Safety
///
/// It points to what `midpath_open` has written, or to null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_close(pointer: *mut *mut Midpath) -> c_int {
    let close = || {
        if pointer.is_null() {
            return Err(Failure::argument("`session` is null"));
        }
        // SAFETY: it is not null.
        let handle = unsafe { *pointer };
        let this = session(handle)?;
        this.check_owner()?;
        if this.within.get() {
            return Err(Failure(Status::Refused, "a callback cannot close the session".into()));
        }
        let owned = this.session.get();
        // SAFETY: both were made from boxes, and nobody uses them any more: `pointer` is null from here on.
        unsafe {
            pointer.write(std::ptr::null_mut());
            drop(Box::from_raw(owned));
            drop(Box::from_raw(handle));
        }
        Ok(())
    };
    status(close())
}

/// How many hosts there are.
///
/// # Safety
///
/// As of all that follow: the session comes from `midpath_open` and has not been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_hosts(pointer: *mut Midpath) -> i64 {
    ask(pointer, |session| Ok(session.hosts() as i64))
}

/// The number of the host of this name.
///
/// # Safety
///
/// The name ends with a null character.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_host(pointer: *mut Midpath, name: *const c_char) -> i64 {
    let find = |session: &mut Session| {
        let name = text(name, "name")?;
        let host = session.host(name).ok_or_else(|| Failure(Status::Refused, format!("there is no host `{name}`")))?;
        Ok(host.0 as i64)
    };
    ask(pointer, find)
}

/// Sends a message.
///
/// # Safety
///
/// The callback may be called with `arg` until the session is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_send(
    pointer: *mut Midpath,
    src: i64,
    dst: i64,
    count: u64,
    tag: i64,
    function: MidpathCallback,
    arg: *mut c_void,
) -> c_int {
    let call = callback(pointer, function, arg);
    let send = |session: &mut Session| Ok(session.send(host(src)?, host(dst)?, count, tag as u64, call)?);
    act(pointer, send)
}

/// Receives bytes.
///
/// # Safety
///
/// The callback may be called with `arg` until the session is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_recv(
    pointer: *mut Midpath,
    src: i64,
    dst: i64,
    count: u64,
    tag: i64,
    function: MidpathCallback,
    arg: *mut c_void,
) -> c_int {
    let call = callback(pointer, function, arg);
    let recv = |session: &mut Session| Ok(session.recv(host(src)?, host(dst)?, count, tag as u64, call)?);
    act(pointer, recv)
}

/// Calls later.
///
/// # Safety
///
/// The callback may be called with `arg` until the session is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_schedule(
    pointer: *mut Midpath,
    delay_ps: i64,
    function: MidpathCallback,
    arg: *mut c_void,
) -> c_int {
    let call = callback(pointer, function, arg);
    let schedule = |session: &mut Session| {
        let delay =
            u64::try_from(delay_ps).map_err(|_| Failure::argument(format!("the delay, {delay_ps} ps, is negative")))?;
        function.ok_or_else(|| Failure::argument("`callback` is null"))?;
        Ok(session.schedule(Time(delay), call)?)
    };
    act(pointer, schedule)
}

/// The time.
///
/// # Safety
///
/// See [`midpath_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_now(pointer: *mut Midpath) -> i64 {
    ask(pointer, |session| Ok(session.now().0 as i64))
}

/// Lets time go on.
///
/// # Safety
///
/// See [`midpath_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_run(pointer: *mut Midpath) -> c_int {
    let run = |session: &mut Session| match session.run()? {
        Ended::Idle | Ended::Halted => Ok(()),
        Ended::Stopped => Err(Failure(Status::Stopped, "time has reached the scenario's `stop`".into())),
        Ended::Stuck(messages) => {
            let what = if messages == 1 { "a message is".to_owned() } else { format!("{messages} messages are") };
            Err(Failure(Status::Stuck, format!("{what} under way, and nothing will happen any more")))
        }
    };
    act(pointer, run)
}

/// Ends `midpath_run`.
///
/// # Safety
///
/// See [`midpath_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_halt(pointer: *mut Midpath) -> c_int {
    let halt = |session: &mut Session| {
        session.halt();
        Ok(())
    };
    act(pointer, halt)
}

/// Packets times links so far.
///
/// # Safety
///
/// See [`midpath_hosts`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn midpath_packet_hops(pointer: *mut Midpath) -> i64 {
    ask(pointer, |session| Ok(session.packet_hops() as i64))
}
