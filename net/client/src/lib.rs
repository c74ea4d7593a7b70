//! Streams between applications, through the nodes that `midpathd node` runs beside them.
//!
//! A node with an `[[application]]` entrance connects to services at other nodes, or offers one there. A
//! [`Stream`]'s data travel under the network's scheme.
//!
//! A stream that is dropped before [`shutdown`](tokio::io::AsyncWriteExt::shutdown) is reset, also if the process is
//! killed: the other application sees an end of stream only after a shutdown.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// A node's answer is no longer.
const LONGEST_LINE: usize = 512;

/// The node beside this application.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    at: SocketAddr,
}

impl Node {
    /// The node whose `[[application]]` entrance is here.
    pub fn at(address: SocketAddr) -> Node {
        Node { at: address }
    }

    /// A stream to whoever offers this service at another node.
    pub async fn connect(&self, node: &str, service: &str) -> io::Result<Stream> {
        let mut stream = self.ask(&format!("connect {node} {service}")).await?;
        expect(&line(&mut stream).await?, "ok")?;
        Ok(Stream { tcp: stream, finished: false })
    }

    /// Offers a service, until the listener is dropped.
    pub async fn listen(&self, service: &str) -> io::Result<Listener> {
        let mut lines = self.ask(&format!("listen {service}")).await?;
        expect(&line(&mut lines).await?, "ok")?;
        Ok(Listener { node: *self, lines })
    }

    async fn ask(&self, wish: &str) -> io::Result<TcpStream> {
        let mut tcp = TcpStream::connect(self.at).await?;
        tcp.set_nodelay(true)?;
        sockopt::set_socket_linger(&tcp, Some(Duration::ZERO))?;
        tcp.write_all(format!("{wish}\n").as_bytes()).await?;
        Ok(tcp)
    }
}

/// Takes the streams that come for a service.
#[derive(Debug)]
pub struct Listener {
    node: Node,
    lines: TcpStream,
}

impl Listener {
    /// The next stream, and the name of the node that it comes from. It is taken in turn, so calls that
    /// are given up lose no more than one.
    pub async fn accept(&mut self) -> io::Result<(Stream, String)> {
        loop {
            let number = line(&mut self.lines).await?;
            let mut tcp = self.node.ask(&format!("take {number}")).await?;
            let answer = line(&mut tcp).await?;
            // What has been given up meanwhile is passed over.
            if let Some(peer) = answer.strip_prefix("from ") {
                return Ok((Stream { tcp, finished: false }, peer.to_owned()));
            }
        }
    }
}

/// Reads one line, and not a byte more.
async fn line(tcp: &mut TcpStream) -> io::Result<String> {
    let mut said = Vec::new();
    loop {
        match tcp.read_u8().await? {
            b'\n' => return String::from_utf8(said).map_err(|_| ErrorKind::InvalidData.into()),
            byte if said.len() < LONGEST_LINE => said.push(byte),
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn expect(said: &str, wanted: &str) -> io::Result<()> {
    if said == wanted {
        return Ok(());
    }
    let why = said.strip_prefix("refused ").unwrap_or(said);
    Err(io::Error::new(ErrorKind::ConnectionRefused, why.to_owned()))
}

/// Bytes to and from an application at another node.
#[derive(Debug)]
pub struct Stream {
    tcp: TcpStream,
    finished: bool,
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }
    /// Nothing follows what was written; the other direction goes on.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.tcp).poll_shutdown(cx))?;
        if !self.finished {
            self.finished = true;
            // From now on the kernel delivers what was written, whatever becomes of this process.
            sockopt::set_socket_linger(&self.tcp, None)?;
        }
        Poll::Ready(Ok(()))
    }
}
