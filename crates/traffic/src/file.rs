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
    let mut file = BufReader::new(open_file(path, MAX_FILE)?);
    refuse_spreadsheets(file.fill_buf()?)?;
    Ok(Box::new(file))
}

/// Spreadsheets are archives (`.xlsx`, `.ods`) or OLE's compound files (`.xls`).
fn refuse_spreadsheets(head: &[u8]) -> Result<(), Error> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"\xd0\xcf\x11\xe0") {
        let message = "a spreadsheet (.xlsx, .ods, .xls) is not supported: save the sheet as CSV and name that file";
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    Ok(())
}

/// The bytes of a file that a workload names.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = read_file(path, MAX_FILE)?;
    refuse_spreadsheets(&bytes)?;
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

    #[test]
    fn spreadsheets_are_told_how_to_become_readable() {
        for (name, head) in [("xlsx", &b"PK\x03\x04xl/workbook.xml"[..]), ("xls", &b"\xd0\xcf\x11\xe0\xa1\xb1"[..])] {
            let path = std::env::temp_dir().join(format!("midpath-sheet-{}.{name}", std::process::id()));
            std::fs::write(&path, head).expect("written");
            for e in [read(&path).err(), read_text(&path).err(), open(&path).err()] {
                assert!(e.expect("refused").to_string().contains("save the sheet as CSV"), "{name}");
            }
            std::fs::remove_file(&path).expect("removed");
        }
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
