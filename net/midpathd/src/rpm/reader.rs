//! Unprivileged metrics. Reading programs' maps needs CAP_SYS_ADMIN, but the process that answers the network should
//! have no privileges. So there are two processes: this one starts a reader without network access, drops its
//! privileges, and serves what the reader returns.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{self, CapabilitySet, CapabilitySets};

use crate::error::{Error, Tried};

/// Linux's user and group of nobody.
const NOBODY: u32 = 65_534;

/// The process that reads.
#[derive(Debug)]
pub struct Reader {
    process: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reader {
    /// Starts it with the rights that this process has.
    pub fn start() -> Result<Reader, Error> {
        let failed = || "cannot start the reader process".to_owned();
        let mut command = Command::new(std::env::current_exe().tried(failed)?);
        command.args(["rpm", "reader"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().tried(failed)?;
        let (asks, answers) = process.stdin.take().zip(process.stdout.take()).expect("both are piped");
        Ok(Reader { process, asks, answers: BufReader::new(answers) })
    }

    /// Asks for the page.
    pub fn page(&mut self) -> Result<String, Error> {
        let mut line = String::new();
        let asked = self.asks.write_all(b"\n").and_then(|()| self.answers.read_line(&mut line));
        if !asked.is_ok_and(|length| length > 0) {
            // It has been killed, and whoever started this process starts it again.
            tracing::error!("the reader process ended: {:?}", self.process.wait());
            std::process::exit(1);
        }
        let page: Result<String, String> =
            serde_json::from_str(&line).map_err(|e| Error::Machine(format!("the reader process reports: {e}")))?;
        page.map_err(Error::Machine)
    }
}

/// What the reader does: a line asks, and a line of JSON is the answer.
pub fn read(mut page: impl FnMut() -> Result<String, Error>) -> Result<(), Error> {
    for asked in std::io::stdin().lines() {
        let gone = || "the requester is gone".to_owned();
        asked.tried(gone)?;
        let page = page().map_err(|e| e.to_string());
        let line = serde_json::to_string(&page).expect("text is JSON");
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).tried(gone)?;
    }
    Ok(())
}

/// This thread, the only one, gives all its rights up, for good.
pub fn give_up_rights() -> Result<(), Error> {
    let failed = || "cannot drop privileges".to_owned();
    if geteuid().is_root() {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        let done = thread::set_thread_groups(&[])
            .and_then(|()| thread::set_thread_res_gid(group, group, group))
            .and_then(|()| thread::set_thread_res_uid(user, user, user));
        match done {
            // A user namespace without that user, or without the right to change it.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(e) => return Err(e.into()).tried(failed),
        }
    }
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    thread::set_capabilities(None, none).and_then(|()| thread::set_no_new_privs(true)).map_err(Into::into).tried(failed)
}
