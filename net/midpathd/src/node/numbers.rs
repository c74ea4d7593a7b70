//! Sequence numbers that increase across restarts, independent of the clock: an upper bound is written
//! ahead.
//!
//! Neighbours reject numbers not above the last one that they have seen (INRPP, §V-C). Numbers are
//! nanoseconds since the node's start, plus a first number ([`Numbers::first`]). The stored bound
//! exceeds all numbers used until it is written again, and the next run starts there.

#![expect(clippy::disallowed_methods, reason = "a thread that writes now and then")]

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use midpath_node::seldom::Seldom;

use crate::error::{Error, Tried};

/// The bound is so far ahead, and is written again after a fifth of that: a disk may stand still for the
/// rest. Ours. A run costs as many numbers at least; there are enough for five hundred years.
const AHEAD: Duration = Duration::from_secs(300);
const EVERY: Duration = Duration::from_secs(60);
/// Bytes of the largest bound, and the end of its line.
const LONGEST: u64 = 21;

/// Where a node's numbers begin, and the file that says where the next run's do.
#[derive(Debug)]
pub struct Numbers {
    path: PathBuf,
    began: Instant,
    /// All that earlier runs have used are below this.
    pub first: u64,
}

impl Numbers {
    /// Takes the bound that an earlier run has left in a file, 0 without one, and leaves the next.
    pub fn open(path: &Path) -> Result<Numbers, Error> {
        let first = match fs::read_to_string(path) {
            Ok(text) => text.trim().parse().map_err(|_| {
                let name = path.display();
                Error::Usage(format!("{name} must hold one number; without it running neighbours may refuse this node"))
            })?,
            Err(e) if e.kind() == ErrorKind::NotFound => 0,
            Err(e) => return Err(e).tried(|| format!("cannot read {}", path.display())),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), fs::create_dir_all).tried(|| format!("cannot write {}", path.display()))?;
        let numbers = Numbers { path: path.to_owned(), began: Instant::now(), first };
        numbers.write().tried(|| format!("cannot write {}", path.display()))?;
        Ok(numbers)
    }

    /// Writes the bound: on the disk, and in one piece, before this returns.
    fn write(&self) -> std::io::Result<()> {
        let ahead = self.began.elapsed() + AHEAD;
        let bound = self.first.saturating_add(u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX));
        let fresh = self.path.with_extension("numbers-new");
        remove_unfinished(&fresh)?;
        let put = || {
            let mut file = File::create_new(&fresh)?;
            writeln!(file, "{bound}")?;
            file.sync_all()?;
            fs::rename(&fresh, &self.path)
        };
        // On a full disk, an empty file.
        put().inspect_err(|_| drop(fs::remove_file(&fresh)))?;
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }

    /// Goes on writing, in a thread of its own, for as long as the process lives.
    pub fn keep(self) {
        let mut failed = Seldom::hourly();
        thread::spawn(move || {
            loop {
                thread::sleep(EVERY);
                if let Err(error) = self.write()
                    && let Some(more) = failed.say()
                {
                    let numbers = "without it neighbours may refuse this node after a restart";
                    tracing::error!("cannot write {}: {error}; {numbers}{more}", self.path.display());
                }
            }
        });
    }
}

/// Removes what a killed run has left of a bound: a part of a number. Whatever else is there stays.
fn remove_unfinished(path: &Path) -> std::io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let is_ours =
        found.is_file() && found.len() <= LONGEST && fs::read(path)?.trim_ascii_end().iter().all(u8::is_ascii_digit);
    if !is_ours {
        let what = format!("{} exists and holds no number", path.display());
        return Err(std::io::Error::new(ErrorKind::AlreadyExists, what));
    }
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(numbers: &Numbers) -> u64 {
        numbers.first + u64::try_from(numbers.began.elapsed().as_nanos()).expect("a short test")
    }

    /// However a run ends, the next one begins above all that it has used. Nothing is asked of the clock.
    #[test]
    fn a_run_begins_above_the_numbers_of_those_before() {
        let folder = std::env::temp_dir().join(format!("midpath-numbers-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.numbers");
        let mut highest = 0;
        for run in 0..5 {
            let numbers = Numbers::open(&path).expect("it can be written");
            assert!(run == 0 || numbers.first > highest, "run {run}: {} after {highest}", numbers.first);
            highest = used(&numbers);
            // Killed: what it was about to write is not there in whole.
            fs::write(folder.join("a.numbers-new"), "12").expect("it can be written");
        }
        assert!(highest >= 4 * u64::try_from(AHEAD.as_nanos()).expect("minutes"));
        // Somebody else's, of all names: it stays.
        for other in ["", "1\n2 apples\n"].map(|end| format!("network = \"net.toml\"\n{end}")) {
            fs::write(folder.join("a.numbers-new"), &other).expect("it can be written");
            let said = Numbers::open(&path).expect_err("it is in the way").to_string();
            assert!(said.contains("a.numbers-new exists"), "{said}");
            assert_eq!(fs::read_to_string(folder.join("a.numbers-new")).expect("it is there"), other);
        }
        fs::remove_file(folder.join("a.numbers-new")).expect("it is ours");
        std::os::unix::fs::symlink("a.numbers", folder.join("a.numbers-new")).expect("a link");
        Numbers::open(&path).expect_err("a link is in the way");
        fs::write(&path, "many\n").expect("it can be written");
        let said = Numbers::open(&path).expect_err("that is none").to_string();
        assert!(said.contains("a.numbers must hold one number"), "{said}");
        fs::remove_dir_all(folder).expect("it is ours");
    }

    /// While it runs it stays ahead of what is used.
    #[test]
    fn the_bound_stays_ahead() {
        let path = std::env::temp_dir().join(format!("midpath-{}.numbers", std::process::id()));
        let mut numbers = Numbers::open(&path).expect("it can be written");
        numbers.began = numbers.began.checked_sub(2 * AHEAD).expect("the machine is up for longer");
        let bound = || fs::read_to_string(&path).expect("it is there").trim().parse::<u64>().expect("a number");
        assert!(bound() < used(&numbers));
        numbers.write().expect("it can be written");
        assert!(bound() > used(&numbers));
        fs::remove_file(path).expect("it is ours");
    }
}
