//! Linux's side: an application on its TCP, in its own thread.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use crate::plan::{Order, Plan};

/// The addresses of nodes 1 and 2 (docs/wire.md).
pub const LINUX: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 16);
pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 32);

/// What Linux's application has read, or why not all.
pub type Outcome = Result<Vec<u8>, String>;

/// How a conversation begins for it.
pub enum Opening {
    /// It listens; where we connect to.
    Listen(TcpListener),
    /// It connects to this port of ours.
    Connect(u16),
}

/// Begins a conversation.
pub fn begin(opening: Opening, plan: Plan) -> JoinHandle<Outcome> {
    thread::spawn(move || {
        let stream = open(opening).map_err(|e| format!("opening: {e}"))?;
        converse(stream, &plan)
    })
}

fn open(opening: Opening) -> std::io::Result<TcpStream> {
    match opening {
        Opening::Listen(listener) => accept(&listener),
        Opening::Connect(to) => TcpStream::connect(SocketAddrV4::new(OURS, to)),
    }
}

/// The connection that comes, if one does: we may have broken off before.
fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    for _ in 0..2000 {
        match listener.accept() {
            Ok((stream, _)) => return stream.set_nonblocking(false).map(|()| stream),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => sleep(Duration::from_millis(5)),
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "nobody came"))
}

fn converse(stream: TcpStream, plan: &Plan) -> Outcome {
    let limit = Some(Duration::from_secs(100));
    stream.set_read_timeout(limit).and(stream.set_write_timeout(limit)).map_err(|e| e.to_string())?;
    let (writes, reads) = (Arc::new(stream), Arc::new(AtomicUsize::new(0)));
    if plan.linux_resets {
        let half = plan.linux_sends.len() / 2;
        let _ = (&*writes).write_all(&plan.linux_sends[..half]);
        sleep(Duration::from_millis(plan.stall_ms));
        rustix::net::sockopt::set_socket_linger(&*writes, Some(Duration::ZERO)).map_err(|e| e.to_string())?;
        return Ok(Vec::new()); // dropped: a reset
    }
    let write = |stream: Arc<TcpStream>, file: Vec<u8>| {
        (&*stream).write_all(&file).and_then(|()| stream.shutdown(Shutdown::Write)).map_err(|e| format!("writing: {e}"))
    };
    let file = plan.linux_sends.clone();
    match plan.order {
        Order::WriteFirst => {
            // What comes meanwhile fills windows, ours and Linux's; so reading goes on beside it.
            let stream = writes.clone();
            let writer = thread::spawn(move || write(stream, file));
            let got = read_all(&writes, plan, &reads)?;
            writer.join().map_err(|_| "the writer died")??;
            Ok(got)
        }
        Order::ReadFirst => {
            let got = read_all(&writes, plan, &reads)?;
            write(writes, file)?;
            Ok(got)
        }
    }
}

fn read_all(mut stream: &TcpStream, plan: &Plan, reads: &AtomicUsize) -> Outcome {
    let (mut got, mut piece) = (Vec::new(), vec![0; 7000]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(got),
            Ok(n) => got.extend_from_slice(&piece[..n]),
            Err(e) => return Err(format!("reading after {} bytes: {e}", got.len())),
        }
        if plan.linux_stalls && reads.fetch_add(1, Ordering::Relaxed) == 2 {
            sleep(Duration::from_millis(plan.stall_ms));
        }
    }
}
