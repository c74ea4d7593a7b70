//! Output of a fetched object.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that has all of the object or is as it was before, whatever fails; or a stream.
pub enum Output {
    /// Standard output, or a device, pipe or socket.
    Stream(Box<dyn Write>),
    /// What is written, beside the file that it replaces in the end.
    File { file: File, fresh: Fresh, path: PathBuf },
}

/// A file that goes unless it gets its name.
pub struct Fresh(PathBuf);

impl Drop for Fresh {
    fn drop(&mut self) {
        // Once it has its name there is none.
        let _ = fs::remove_file(&self.0);
    }
}

impl Output {
    /// Opens it; standard output without a path.
    pub fn to(path: Option<&Path>) -> io::Result<Output> {
        let Some(path) = path else { return Ok(Output::Stream(Box::new(io::stdout().lock()))) };
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Ok(Output::Stream(Box::new(File::options().write(true).open(path)?)));
        }
        // A link stays one.
        let path = if there.is_some() { path.canonicalize()? } else { path.to_owned() };
        if there.is_some() {
            // Who may not write to a file does not replace it.
            File::options().append(true).open(&path)?;
        }
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let fresh = path.with_file_name(name);
        let file = File::create_new(&fresh)?;
        let fresh = Fresh(fresh);
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        Ok(Output::File { file, fresh, path })
    }

    /// All has been written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Output::Stream(mut stream) => stream.flush(),
            Output::File { file, fresh, path } => {
                file.sync_all()?;
                fs::rename(&fresh.0, path)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stream(stream) => stream.write(bytes),
            Output::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stream(stream) => stream.flush(),
            Output::File { file, .. } => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = std::env::temp_dir().join(format!("midpath-output-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (file, link) = (folder.join("file"), folder.join("link"));
        let read = || fs::read_to_string(&file).ok();
        let begin = |path: &Path| {
            let mut output = Output::to(Some(path)).expect("it can be made");
            output.write_all(b"new").expect("it can be written");
            output
        };
        drop(begin(&file));
        assert_eq!(read(), None, "given up, and not there");
        begin(&file).finish().expect("there is room");
        assert_eq!(read().as_deref(), Some("new"));
        fs::write(&file, "old").expect("a file");
        symlink("file", &link).expect("a link");
        drop(begin(&link));
        assert_eq!(read().as_deref(), Some("old"), "given up, and as it was");
        begin(&link).finish().expect("there is room");
        assert_eq!(read().as_deref(), Some("new"));
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        assert_eq!(fs::read_dir(&folder).expect("ours").count(), 2, "nothing else is left");
        begin(Path::new("/dev/null")).finish().expect("a device");
        assert!(Output::to(Some(&folder)).is_err() && Output::to(Some(&folder.join("none/file"))).is_err());
        fs::remove_dir_all(folder).expect("ours");
    }
}
