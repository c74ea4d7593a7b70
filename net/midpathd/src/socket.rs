//! Unix sockets with a name in the file system. Only our own stale socket is ever removed.

use std::fs::{self, File, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::error::{Error, Tried};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Nothing.
    Free,
    /// A socket of ours that a killed process has left: nobody answers there.
    Dead,
    /// A socket where a process answers.
    Answers,
}

/// Says what stands at `path`, and changes nothing. What is neither free nor a socket of this user is an error.
pub fn look(path: &Path) -> Result<Name, Error> {
    let shown = path.display();
    let found = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Name::Free),
        found => found.tried(|| format!("cannot inspect {shown}"))?,
    };
    if !found.file_type().is_socket() {
        let what = kind(&found);
        return Err(Error::Usage(format!(
            "{shown} is {what}, which is not removed; choose another path for the socket"
        )));
    }
    match answer(path) {
        Ok(()) | Err(Errno::AGAIN) => Ok(Name::Answers), // AGAIN: as many wait there as may
        Err(Errno::NOENT) => Ok(Name::Free),
        Err(Errno::CONNREFUSED) if found.uid() == rustix::process::geteuid().as_raw() => Ok(Name::Dead),
        Err(Errno::CONNREFUSED) => {
            let owner = found.uid();
            Err(Error::Machine(format!("{shown} is a socket of another user (uid {owner}), who must remove it")))
        }
        Err(e) => Err(e.into()).tried(|| format!("cannot connect to the socket {shown}")),
    }
}

fn kind(found: &Metadata) -> &'static str {
    match found.file_type() {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_file() => "a file",
        _ => "a device or a pipe",
    }
}

/// Whether somebody answers; it is not waited for.
fn answer(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

/// A socket that is listened at; its file goes with it.
#[derive(Debug)]
pub struct SocketFile {
    /// Where connections come in.
    pub listener: UnixListener,
    /// Its file,
    pub path: PathBuf,
    /// and which that is.
    inode: (u64, u64),
}

impl SocketFile {
    /// Listens at `path`, in place of our own dead socket if there is one. `mode`: who may connect.
    pub fn bind(path: &Path, mode: u32) -> Result<SocketFile, Error> {
        let failed = || format!("cannot create {}", path.display());
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).tried(failed)?;
        // Another process could listen between our look and our removal: one at a time in a folder.
        let alone = File::open(folder).tried(failed)?;
        let _ = flock(&alone, FlockOperation::LockExclusive);
        match look(path)? {
            Name::Free => {}
            Name::Dead => fs::remove_file(path).tried(failed)?,
            Name::Answers => {
                return Err(Error::Machine(format!("{}: a process already answers there; is it up?", path.display())));
            }
        }
        let listener = UnixListener::bind(path).tried(failed)?;
        let inode = inode(path).tried(failed)?;
        let file = SocketFile { listener, path: path.to_owned(), inode };
        fs::set_permissions(path, Permissions::from_mode(mode)).tried(failed)?;
        Ok(file)
    }
}

fn inode(path: &Path) -> std::io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have put something else there.
        if inode(&self.path).is_ok_and(|there| there == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

    use super::*;

    /// A folder that goes with the value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("midpathd-socket-{test}-{}", std::process::id()));
            fs::create_dir_all(&folder).expect("a folder");
            Folder(folder)
        }

        /// Whatever a name may stand for that is not our dead socket; the sockets have to live on.
        fn strangers(&self) -> (Vec<PathBuf>, Vec<UnixListener>, UnixDatagram) {
            let at = |name: &str| self.0.join(name);
            fs::write(at("file"), "a user's").expect("a file");
            fs::write(at("empty"), "").expect("a file");
            fs::create_dir(at("folder")).expect("a folder");
            symlink("file", at("link")).expect("a link");
            symlink("nowhere", at("dangling")).expect("a link");
            let live = UnixListener::bind(at("live")).expect("a socket");
            drop(UnixListener::bind(at("dead")).expect("a socket"));
            symlink("live", at("link to live")).expect("a link");
            symlink("dead", at("link to dead")).expect("a link");
            let datagrams = UnixDatagram::bind(at("datagrams")).expect("a socket");
            let mut names = vec!["file", "empty", "folder", "link", "dangling", "link to live", "link to dead"];
            names.extend(["live", "datagrams"]);
            if Command::new("mkfifo").arg(at("pipe")).status().is_ok_and(|done| done.success()) {
                names.push("pipe");
            }
            if std::os::unix::fs::chown(at("dead"), Some(1), None).is_ok() {
                names.push("dead"); // another user's
            }
            (names.into_iter().map(at).collect(), vec![live], datagrams)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_not_our_dead_socket_is_never_removed() {
        let folder = Folder::new("strangers");
        let (names, _live, _datagrams) = folder.strangers();
        for path in names {
            let before = inode(&path).expect("it is there");
            let said = SocketFile::bind(&path, 0o600).expect_err("it is somebody's").to_string();
            assert!(said.contains(&path.display().to_string()) && !said.contains('\n'), "{said}");
            assert_eq!(inode(&path).expect("it is there still"), before, "{said}");
        }
        assert_eq!(fs::read(folder.0.join("file")).expect("it is there"), b"a user's");
    }

    #[test]
    fn our_dead_socket_is_replaced_and_ours_alone_goes() {
        let folder = Folder::new("dead");
        let path = folder.0.join("a.sock");
        drop(UnixListener::bind(&path).expect("a socket"));
        assert_eq!(look(&path).expect("it is ours"), Name::Dead);
        let first = SocketFile::bind(&path, 0o600).expect("it is dead");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert_eq!(look(&path).expect("it is ours"), Name::Answers);
        // Removed by hand, and another process has come: that one's file stays.
        fs::remove_file(&path).expect("it is there");
        let second = SocketFile::bind(&path, 0o600).expect("it is free");
        drop(first);
        assert_eq!(look(&path).expect("it is ours"), Name::Answers);
        drop(second);
        assert_eq!(look(&path).expect("nothing is there"), Name::Free);
    }

    #[test]
    fn of_many_that_come_at_once_one_gets_the_place_of_a_dead_socket() {
        let folder = Folder::new("race");
        for round in 0..20 {
            let path = folder.0.join(format!("{round}.sock"));
            drop(UnixListener::bind(&path).expect("a socket"));
            let bound = std::thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(|| SocketFile::bind(&path, 0o600))).collect();
                all.into_iter().map(|one| one.join().expect("it ends")).filter(Result::is_ok).collect::<Vec<_>>()
            });
            assert_eq!(bound.len(), 1);
            assert_eq!(look(&path).expect("it is ours"), Name::Answers);
        }
    }
}
