//! Reading the files that specifications name: whole, or not at all.

use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Largest file of flows, sizes or rates that is read. Ours: [`crate::MAX_FLOWS`] lines of a flow
/// list have room in it.
const MAX_FILE: u64 = 4 << 30;

/// The bytes of a file of at most `most` bytes. A device that never ends is an error, not all of
/// the memory.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    // Looked at before it is opened: to open a pipe waits for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::InvalidInput, format!("larger than {} MiB", most >> 20)));
    }
    Ok(bytes)
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
