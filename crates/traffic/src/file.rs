//! Reading the files that specifications name.

use std::io::{BufRead, Error, ErrorKind};
use std::path::Path;

use midpath_core::files::Files;

/// Largest file of flows, sizes or rates that is read. Ours: a hundred million lines of a flow
/// list have room in it.
const MAX_FILE: u64 = 4 << 30;

/// A file that a workload names, to be read piece by piece.
pub(crate) fn open<'a>(files: Files<'a>, name: &str) -> Result<Box<dyn BufRead + 'a>, Error> {
    let mut file = files.open(name, MAX_FILE)?;
    refuse_spreadsheets(file.fill_buf()?)?;
    Ok(file)
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
pub(crate) fn read(files: Files<'_>, name: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
    let bytes = files.read(name, MAX_FILE)?;
    refuse_spreadsheets(&bytes)?;
    Ok(bytes)
}

/// The same as text.
pub(crate) fn read_text(files: Files<'_>, name: impl AsRef<Path>) -> Result<String, Error> {
    String::from_utf8(read(files, name)?).map_err(|_| Error::new(ErrorKind::InvalidData, "not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn spreadsheets_are_told_how_to_become_readable() {
        for (name, head) in [("xlsx", &b"PK\x03\x04xl/workbook.xml"[..]), ("xls", &b"\xd0\xcf\x11\xe0\xa1\xb1"[..])] {
            let given = BTreeMap::from([(name.to_owned(), head.to_vec())]);
            let files = Files::Given(&given);
            for e in [read(files, name).err(), read_text(files, name).err(), open(files, name).err()] {
                assert!(e.expect("refused").to_string().contains("save the sheet as CSV"), "{name}");
            }
        }
    }
}
