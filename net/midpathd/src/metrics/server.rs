//! A server of one page: one thread, and bounds on connections, bytes and time, whoever asks.

#![expect(clippy::disallowed_methods, reason = "the event loop has the clock")]

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use midpath_node::seldom::Seldom;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::request::{LONGEST, OK, Request, read};
use crate::error::{Error, Tried};

/// Connections at once: one more takes the place of the oldest that has not asked yet. Ours.
const CONNECTIONS: usize = 64;
/// From connecting to having taken the answer. Ours: Prometheus waits for 10 s.
const DEADLINE: Duration = Duration::from_secs(5);
/// A page of this age is sent again. Ours: so hostile readers cannot keep the source busy.
const FRESH: Duration = Duration::from_millis(100);
/// Head and text.
type Answer = (Vec<u8>, Rc<str>);
/// Bytes after a request that are read and dropped at once.
const DROPPED: usize = 4 << 10;

/// Somebody who has connected.
struct Connection {
    stream: TcpStream,
    since: Instant,
    state: State,
}

enum State {
    /// The head of its request, so far.
    Asking(Vec<u8>),
    /// What it is to get: head, text, and how many bytes are on their way.
    Answered { head: Vec<u8>, text: Rc<str>, sent: usize },
    /// It has all. What it says still is dropped: a connection that is closed before it is read is reset, and the
    /// answer may be lost (RFC 9112, §9.6).
    Closing,
}

/// The page, as it was made last.
struct Page<R> {
    render: R,
    made: Option<(Instant, &'static str, Rc<str>)>,
    failed: Seldom,
}

impl<R: FnMut() -> Result<String, Error>> Page<R> {
    /// Status and text.
    fn take(&mut self) -> (&'static str, Rc<str>) {
        if let Some((at, status, text)) = &self.made
            && at.elapsed() < FRESH
        {
            return (status, text.clone());
        }
        let (status, text) = match (self.render)() {
            Ok(text) => (OK, text),
            Err(error) => {
                if let Some(more) = self.failed.say() {
                    tracing::error!("no metrics: {error}{more}");
                }
                ("500 Internal Server Error", format!("{error}\n"))
            }
        };
        let text: Rc<str> = text.into();
        self.made = Some((Instant::now(), status, text.clone()));
        (status, text)
    }
}

/// Answers `GET /metrics` at `listener` with what `render` says, until the process is ended.
pub fn run(listener: &TcpListener, render: impl FnMut() -> Result<String, Error>) -> Result<(), Error> {
    let failed = || "cannot wait for connections".to_owned();
    listener.set_nonblocking(true).tried(failed)?;
    let (mut page, mut evicted) = (Page { render, made: None, failed: Seldom::hourly() }, Seldom::hourly());
    // The oldest first.
    let mut connections: VecDeque<Connection> = VecDeque::with_capacity(CONNECTIONS);
    loop {
        let ready = wait(listener, &connections).tried(failed)?;
        let mut place = 0;
        connections.retain_mut(|connection| {
            place += 1;
            !ready[place] || connection.advance(&mut page).unwrap_or(false)
        });
        if ready[0] {
            accept(listener, &mut connections, &mut page, &mut evicted);
        }
        connections.retain(|connection| connection.since.elapsed() < DEADLINE);
    }
}

/// Waits until something is to be done: at the listener, and at each connection.
fn wait(listener: &TcpListener, connections: &VecDeque<Connection>) -> io::Result<Vec<bool>> {
    let fds = connections.iter().map(|connection| match connection.state {
        State::Answered { .. } => PollFd::new(&connection.stream, PollFlags::OUT),
        _ => PollFd::new(&connection.stream, PollFlags::IN),
    });
    let mut fds: Vec<PollFd<'_>> = [PollFd::new(listener, PollFlags::IN)].into_iter().chain(fds).collect();
    let timeout = connections.front().map(|oldest| {
        let left = DEADLINE.saturating_sub(oldest.since.elapsed());
        Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(e) => Err(e.into()),
    }
}

/// Takes who has come, as many as there is room for at most: the others of a flood wait for the next turn.
fn accept<R>(listener: &TcpListener, connections: &mut VecDeque<Connection>, page: &mut Page<R>, evicted: &mut Seldom)
where
    R: FnMut() -> Result<String, Error>,
{
    for _ in 0..CONNECTIONS {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
            Err(_) => {
                // No descriptors, or no memory: of ours or of the machine.
                connections.pop_front();
                std::thread::sleep(Duration::from_millis(10));
                return;
            }
        };
        let mut connection = Connection { stream, since: Instant::now(), state: State::Asking(Vec::new()) };
        if connection.stream.set_nonblocking(true).is_err() || !connection.advance(page).unwrap_or(false) {
            continue;
        }
        if connections.len() >= CONNECTIONS {
            let idle = connections.iter().position(|c| !matches!(c.state, State::Answered { .. }));
            connections.remove(idle.unwrap_or(0));
            if let Some(more) = evicted.say() {
                tracing::warn!("{CONNECTIONS} connections open: closing the oldest idle one{more}");
            }
        }
        connections.push_back(connection);
    }
}

impl Connection {
    /// Goes on as far as the socket lets it; whether there is more to do.
    fn advance<R: FnMut() -> Result<String, Error>>(&mut self, page: &mut Page<R>) -> io::Result<bool> {
        if let State::Asking(said) = &mut self.state {
            let Some((status, head)) = ask(&mut self.stream, said)? else { return Ok(true) };
            let (head, text) = answer(status, head, page);
            self.state = State::Answered { head, text, sent: 0 };
        }
        if let State::Answered { head, text, sent } = &mut self.state {
            while *sent < head.len() + text.len() {
                let rest = if *sent < head.len() { &head[*sent..] } else { &text.as_bytes()[*sent - head.len()..] };
                match self.stream.write(rest) {
                    Ok(0) => return Ok(false),
                    Ok(more) => *sent += more,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            self.stream.shutdown(Shutdown::Write)?;
            self.state = State::Closing;
        }
        match self.stream.read(&mut [0; DROPPED]) {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(true),
            Err(e) => Err(e),
        }
    }
}

/// Reads on in a request's head. What is to be answered, when that is known: status, and whether without text.
fn ask(stream: &mut TcpStream, said: &mut Vec<u8>) -> io::Result<Option<(&'static str, bool)>> {
    loop {
        let mut piece = [0; 1024];
        let room = piece.len().min(LONGEST - said.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => said.extend_from_slice(&piece[..length]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if let Request::Known { status, head } = read(said) {
            return Ok(Some((status, head)));
        }
    }
}

/// Head and text of the answer.
fn answer<R: FnMut() -> Result<String, Error>>(status: &'static str, head: bool, page: &mut Page<R>) -> Answer {
    let (status, text) = match status {
        OK => page.take(),
        _ => (status, format!("{status}: the page is /metrics\n").into()),
    };
    let length = text.len();
    let lines = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {length}\r\n\
         Allow: GET, HEAD\r\nConnection: close\r\n\r\n"
    );
    (lines.into_bytes(), if head { "".into() } else { text })
}
