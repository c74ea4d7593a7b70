//! `midpathd ndn fetch`: fetches an object through the forwarder beside it.

#![expect(clippy::disallowed_methods, reason = "a command waits for answers")]

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use midpath_core::units::Time;
use midpath_ndn::link::Frames;
use midpath_ndn_forwarder::consumer::{Consumer, State};
use midpath_ndn_forwarder::management::{Reach, parse_uri};
use midpath_ndn_forwarder::name;
use midpath_ndn_forwarder::trust::{Certificate, Trust};

use super::output::Output;
use crate::error::{Error, Tried};
use crate::random::random;

/// Where applications of NDN look for their forwarder.
const TRANSPORT: &str = "NDN_CLIENT_TRANSPORT";
/// Where it is unless they are told.
const USUAL: &str = "unix:///run/nfd/nfd.sock";
/// Bytes read at once.
const READ: usize = 1 << 16;
/// The longest that is waited for anything.
const LONGEST: Duration = Duration::from_secs(1);

/// The connection to a forwarder.
trait Connection: Read + Write {
    /// How long a read waits.
    fn patience(&self, longest: Duration) -> io::Result<()>;
}

impl Connection for UnixStream {
    fn patience(&self, longest: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(longest))
    }
}

impl Connection for TcpStream {
    fn patience(&self, longest: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(longest))
    }
}

fn connect(transport: &str) -> Result<Box<dyn Connection>, Error> {
    let failed = || format!("no forwarder answers at {transport}");
    if let Some(path) = transport.strip_prefix("unix://") {
        return Ok(Box::new(UnixStream::connect(path).tried(failed)?));
    }
    match parse_uri(transport) {
        Some((Reach::Tcp, address)) => Ok(Box::new(TcpStream::connect(address).tried(failed)?)),
        _ => Err(Error::Usage(format!("{transport}: write a forwarder as unix:///path or tcp4://address:port"))),
    }
}

/// Whose signatures count: those of a key or a certificate in a file, of which there is one at most.
pub fn trust(key: Option<&Path>, certificate: Option<&Path>) -> Result<Trust, Error> {
    let read = |path: &Path| std::fs::read(path).tried(|| format!("cannot read {}", path.display()));
    match (key, certificate) {
        (Some(path), _) => Ok(Trust::Shared(read(path)?)),
        (None, Some(path)) => Certificate::read(&read(path)?)
            .map(Trust::Certificate)
            .map_err(|why| Error::Usage(format!("{}: {why}", path.display()))),
        (None, None) => Ok(Trust::Anybody),
    }
}

/// Fetches an object to a file, or to standard output.
pub fn fetch(
    object: &str,
    forwarder: Option<&str>,
    output: Option<&Path>,
    window: u64,
    trust: Trust,
) -> Result<(), Error> {
    let name = name::parse(object).map_err(|why| Error::Usage(format!("{object}: {why}")))?;
    if name.is_empty() {
        return Err(Error::Usage(format!("{object}: give the name of an object to fetch")));
    }
    let transport = forwarder.map(str::to_owned).or_else(|| std::env::var(TRANSPORT).ok());
    let mut connection = connect(transport.as_deref().unwrap_or(USUAL))?;
    let shown = output.map_or("standard output".into(), |path| path.display().to_string());
    let mut file = Output::to(output).tried(|| format!("cannot create {shown}"))?;
    let began = Instant::now();
    let seed = u64::from_le_bytes(random()?);
    let mut consumer = Consumer::new(&name, window, seed, Time::ZERO).trusting(trust);
    let bytes = run(&mut consumer, &mut *connection, &mut file, began)?;
    file.finish().tried(|| format!("cannot write {shown}"))?;
    let seconds = began.elapsed().as_secs_f64();
    eprintln!(
        "{bytes} B in {seconds:.3} s, {:.1} Mbit/s; {} Interests retransmitted; {} segments signed, not verified",
        bytes as f64 * 8e-6 / seconds,
        consumer.again,
        consumer.unverified
    );
    Ok(())
}

/// Runs a consumer to its end; how many bytes there were.
fn run(
    consumer: &mut Consumer,
    connection: &mut dyn Connection,
    file: &mut dyn Write,
    began: Instant,
) -> Result<u64, Error> {
    let now = || Time::from_ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let (mut stream, mut buffer, mut bytes) = (Vec::new(), vec![0; READ], 0);
    loop {
        connection.write_all(&consumer.sends().concat()).tried(|| "the forwarder is gone".into())?;
        let ready = consumer.take();
        bytes += ready.len() as u64;
        file.write_all(&ready).tried(|| "cannot write the object".into())?;
        match consumer.state() {
            State::Fetching => {}
            State::Done => return Ok(bytes),
            State::Failed(why) => return Err(Error::Machine(why.clone())),
        }
        let left = Duration::from_nanos(consumer.next_wake().saturating_sub(now()).as_ns());
        let patience = left.clamp(Duration::from_millis(1), LONGEST);
        connection.patience(patience).tried(|| "the forwarder is gone".into())?;
        match connection.read(&mut buffer) {
            Ok(0) => return Err(Error::Machine("the forwarder has closed the connection".into())),
            Ok(length) => {
                stream.extend_from_slice(&buffer[..length]);
                let mut frames = Frames::of(&stream);
                for frame in frames.by_ref() {
                    let wrong = |why| Error::Machine(format!("the forwarder sent invalid NDN data: {why}"));
                    // What is no packet is nobody's answer.
                    let _ = consumer.receive(now(), frame.map_err(wrong)?);
                }
                let taken = frames.taken();
                stream.drain(..taken);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(e) => return Err(Error::Machine(format!("the forwarder is gone: {e}"))),
        }
        consumer.on_time(now());
    }
}
