//! Commands to a running process: lines over a unix socket. Each gets one line as answer, and the connection is closed.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use midpath_core::units::Time;
use serde_json::Value;

use crate::poller::{Poller, Wants};

/// A command has to be said within this.
const PATIENCE: Time = Time::from_secs(1);
/// An answer has to be taken in within this.
const TAKEN_IN: Time = Time::from_secs(5);
/// Commands at once, those included whose answers are being taken in.
const MOST: usize = 16;
/// The longest command.
const LONGEST: usize = 1024;

/// The socket, and its connections: readable by itself when one of them has something to do.
pub struct CommandLines {
    listener: UnixListener,
    poller: Poller,
    /// Each with what it has said so far, and since when.
    asking: Vec<(UnixStream, Vec<u8>, Time)>,
    /// Each with what it has not taken in yet of its answer, and until when it may.
    answering: Vec<(UnixStream, Vec<u8>, Time)>,
}

impl CommandLines {
    /// Takes commands at a socket.
    pub fn new(listener: UnixListener) -> io::Result<CommandLines> {
        listener.set_nonblocking(true)?;
        let poller = Poller::new()?;
        poller.add(&listener, 0, Wants::Read)?;
        Ok(CommandLines { listener, poller, asking: Vec::new(), answering: Vec::new() })
    }

    /// The commands that have come in whole, each with its connection. It never waits: to be called when the socket can
    /// be read, and now and then, for what has taken too long.
    pub fn take(&mut self, now: Time) -> Vec<(Asking, Vec<u8>)> {
        // Which ones does not matter: all are looked at.
        let _ = self.poller.take();
        self.answering.retain_mut(|(stream, rest, until)| *until > now && !hand_over(stream, rest));
        while let Ok((stream, _)) = self.listener.accept() {
            let watched = stream.set_nonblocking(true).and_then(|()| self.poller.add(&stream, 1, Wants::Changes));
            if watched.is_ok() && self.asking.len() + self.answering.len() < MOST {
                self.asking.push((stream, Vec::new(), now));
            }
        }
        let mut whole = Vec::new();
        for (mut stream, mut said, since) in std::mem::take(&mut self.asking) {
            let over = read_line(&mut stream, &mut said);
            if let Some(end) = said.iter().position(|byte| *byte == b'\n') {
                said.truncate(end);
                whole.push((Asking(stream), said));
            } else if !over && said.len() < LONGEST && now < since.saturating_add(PATIENCE) {
                self.asking.push((stream, said, since));
            }
        }
        whole
    }

    /// Answers. A client that does not take the answer in in time, or is gone, does not get all of it.
    pub fn answer(&mut self, asking: Asking, answer: &Value, now: Time) {
        let (mut stream, mut rest) = (asking.0, format!("{answer}\n").into_bytes());
        if !hand_over(&mut stream, &mut rest) {
            self.answering.push((stream, rest, now.saturating_add(TAKEN_IN)));
        }
    }
}

impl AsFd for CommandLines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

/// One who waits for an answer.
#[derive(Debug)]
pub struct Asking(UnixStream);

/// Reads up to a line, or to the longest command. Whether nothing more can come.
fn read_line(stream: &mut UnixStream, said: &mut Vec<u8>) -> bool {
    let mut piece = [0; 256];
    while said.len() < LONGEST && !said.contains(&b'\n') {
        match stream.read(&mut piece) {
            Ok(0) => return true,
            Ok(n) => said.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return e.kind() != ErrorKind::WouldBlock,
        }
    }
    false
}

/// Writes as much as is taken in. Whether that is all, or nobody is there any more.
fn hand_over(stream: &mut UnixStream, rest: &mut Vec<u8>) -> bool {
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(written) => drop(rest.drain(..written)),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return e.kind() != ErrorKind::WouldBlock,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    /// A socket in a folder of its own.
    fn commands(name: &str) -> (CommandLines, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("midpath-commands-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        (CommandLines::new(UnixListener::bind(&path).expect("a socket")).expect("it listens"), path)
    }

    #[test]
    fn a_line_in_two_pieces_is_a_command_and_gets_its_answer() {
        let (mut commands, path) = commands("pieces");
        let mut client = UnixStream::connect(&path).expect("it connects");
        client.write_all(b"sta").expect("it is written");
        assert!(commands.take(Time::ZERO).is_empty());
        client.write_all(b"tus\nmore").expect("it is written");
        let mut whole = commands.take(Time::from_ms(500));
        let (asking, line) = whole.pop().expect("a command");
        assert_eq!((line.as_slice(), whole.len()), (b"status".as_slice(), 0));
        commands.answer(asking, &serde_json::json!({"up": true}), Time::ZERO);
        let mut answer = String::new();
        // What was not read makes a reset of the end; the answer was there before.
        let _ = client.read_to_string(&mut answer);
        assert_eq!(answer, "{\"up\":true}\n");
        let _ = std::fs::remove_file(path);
    }

    /// A status of thousands of links is more than a socket holds: it comes whole, and the loop never stands still for
    /// one that takes nothing in.
    #[test]
    fn an_answer_of_any_length_comes_whole() {
        let (mut commands, path) = commands("long");
        let long = "7".repeat(10_000_000);
        let ask = |commands: &mut CommandLines| {
            let mut client = UnixStream::connect(&path).expect("it connects");
            client.write_all(b"status\n").expect("it is written");
            let (asking, _) = commands.take(Time::ZERO).pop().expect("a command");
            commands.answer(asking, &serde_json::json!(long), Time::ZERO);
            client
        };
        let (mut client, idle) = (ask(&mut commands), ask(&mut commands));
        assert_eq!(commands.answering.len(), 2);
        let reader = std::thread::spawn(move || {
            let mut answer = String::new();
            client.read_to_string(&mut answer).map(|_| answer)
        });
        while commands.answering.len() == 2 {
            let waits = &mut [PollFd::new(&commands, PollFlags::IN)];
            assert_eq!(poll(waits, Some(&Timespec { tv_sec: 5, tv_nsec: 0 })), Ok(1), "it tells that more is taken in");
            assert!(commands.take(Time::from_secs(4)).is_empty());
        }
        assert_eq!(reader.join().expect("it ends").expect("it is read"), format!("\"{long}\"\n"));
        commands.take(TAKEN_IN);
        assert_eq!(commands.answering.len(), 0, "one that takes nothing in is left");
        drop(idle);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn who_says_nothing_or_too_much_is_left() {
        let (mut commands, path) = commands("left");
        let silent = UnixStream::connect(&path).expect("it connects");
        let mut endless = UnixStream::connect(&path).expect("it connects");
        endless.write_all(&[b'a'; 4096]).expect("it is written");
        for ms in [0, 100, 200, 300] {
            assert!(commands.take(Time::from_ms(ms)).is_empty());
        }
        assert_eq!(commands.asking.len(), 1, "{LONGEST} bytes are enough");
        assert!(commands.take(PATIENCE).is_empty() && commands.asking.is_empty());
        drop(silent);
        let all: Vec<UnixStream> = (0..MOST + 5).filter_map(|_| UnixStream::connect(&path).ok()).collect();
        commands.take(PATIENCE);
        assert_eq!((all.len(), commands.asking.len()), (MOST + 5, MOST));
        let _ = std::fs::remove_file(path);
    }
}
