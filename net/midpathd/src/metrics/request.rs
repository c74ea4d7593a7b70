//! What somebody asks the metrics' server. The head is read, and never a body, whatever length it declares.

use httparse::{EMPTY_HEADER, Error, Status};

/// The longest head. Ours: Prometheus sends 300 bytes.
pub const LONGEST: usize = 8 << 10;
/// Headers in it at most. Ours.
const HEADERS: usize = 64;

/// What to do about the bytes that came so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Wait for more.
    Unfinished,
    /// Answer with this status: the page itself if it is [`OK`].
    Known {
        /// Such as `404 Not Found`.
        status: &'static str,
        /// It asked for the head alone (HEAD).
        head: bool,
    },
}

/// The status of a request for the page.
pub const OK: &str = "200 OK";

/// Reads a request's head (RFC 9112). What stands after [`LONGEST`] bytes is not looked at.
pub fn read(bytes: &[u8]) -> Request {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Complete(_)) => asked(request.method.unwrap_or_default(), request.path.unwrap_or_default()),
        Ok(Status::Partial) if bytes.len() < LONGEST => Request::Unfinished,
        Ok(Status::Partial) | Err(Error::TooManyHeaders) => known("431 Request Header Fields Too Large", false),
        Err(_) => known("400 Bad Request", false),
    }
}

fn known(status: &'static str, head: bool) -> Request {
    Request::Known { status, head }
}

fn asked(method: &str, target: &str) -> Request {
    if !["GET", "HEAD"].contains(&method) {
        return known("405 Method Not Allowed", false);
    }
    // A proxy sends the whole URI (RFC 9112, §3.2.2).
    let path = target.strip_prefix("http://").and_then(|rest| rest.find('/').map(|at| &rest[at..])).unwrap_or(target);
    let status = if path.split('?').next() == Some("/metrics") { OK } else { "404 Not Found" };
    known(status, method == "HEAD")
}
