//! Reading the files that specifications name.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Take};
use std::path::Path;

/// Largest file of flows, sizes or rates that is read. Ours: [`crate::MAX_FLOWS`] lines of a flow
/// list have room in it.
const MAX_FILE: u64 = 4 << 30;

/// A file, to read at most `most` bytes of it and one more.
fn open_file(path: &Path, most: u64) -> Result<Take<File>, Error> {
    // Looked at before it is opened: to open a pipe waits for its writer.
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    if about.len() > most {
        return Err(too_large(most));
    }
    Ok(File::open(path)?.take(most.saturating_add(1)))
}

fn too_large(most: u64) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("larger than {} MiB", most >> 20))
}

/// The bytes of a file of at most `most` bytes. A device that never ends is an error, not all of
/// the memory.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    open_file(path, most)?.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// A file that a workload names, to be read piece by piece.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, Error> {
    Ok(Box::new(BufReader::new(open_file(path, MAX_FILE)?)))
}

/// The bytes of a file that a workload names.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_file(path, MAX_FILE)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    String::from_utf8(read(path)?).map_err(|_| Error::new(ErrorKind::InvalidData, "not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused() {
        assert!(read(Path::new("/dev/zero")).is_err());
        assert!(read(Path::new("src")).is_err());
        assert!(read_text(Path::new("Cargo.toml")).is_ok_and(|t| t.contains("midpath-traffic")));
    }

    #[test]
    fn a_file_that_is_too_large_is_refused() {
        let path = Path::new("Cargo.toml");
        let length = std::fs::metadata(path).expect("it is there").len();
        assert!(read_file(path, length).is_ok());
        let error = read_file(path, length - 1).expect_err("one byte too many");
        assert_eq!(error.to_string(), "larger than 0 MiB");
    }
}
