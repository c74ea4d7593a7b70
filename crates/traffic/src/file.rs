//! Reading the files that specifications name: whole, or not at all.

use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Largest file that is read. Ours: [`crate::MAX_FLOWS`] lines of a flow list have room in it.
const MAX_FILE: u64 = 4 << 30;

/// The bytes of a file of at most [`MAX_FILE`]. A device that never ends is an error, not all of the memory.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    // Looked at before it is opened: to open a pipe waits for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::new(ErrorKind::InvalidInput, "larger than 4 GiB"));
    }
    Ok(bytes)
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
}
