//! Files that a scenario names. Set-up alone reads them, all through here; state machines have no I/O.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Where the names of files lead.
#[derive(Clone, Copy, Debug)]
pub enum Files<'a> {
    /// To a disk; relative names start in this folder.
    Disk(&'a Path),
    /// To contents that were handed in, by name: a page in a browser has no disk. Folders in a name do not count.
    Given(&'a BTreeMap<String, Vec<u8>>),
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Files<'a> {
    fn from(folder: &'a P) -> Files<'a> {
        Files::Disk(folder.as_ref())
    }
}

impl<'a> Files<'a> {
    /// Whole bytes of a regular file of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// It is not there, cannot be read, is a folder, a pipe or a device, or is larger.
    pub fn read(self, name: impl AsRef<Path>, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.open(name, most)?.read_to_end(&mut bytes)?;
        // It grew since it was looked at.
        if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
    }

    /// The same, to be read piece by piece: at most `most` bytes and one more.
    ///
    /// # Errors
    ///
    /// As of [`Files::read`].
    pub fn open(self, name: impl AsRef<Path>, most: u64) -> Result<Box<dyn BufRead + 'a>, Error> {
        match self {
            Files::Disk(folder) => {
                let path = folder.join(name);
                // Looked at before it is opened: to open a pipe waits for its writer.
                let about = std::fs::metadata(&path)?;
                if !about.is_file() {
                    let message = "a folder, a pipe or a device; name a regular file";
                    return Err(Error::new(ErrorKind::InvalidInput, message));
                }
                if about.len() > most {
                    return Err(too_large(most));
                }
                Ok(Box::new(BufReader::new(File::open(path)?.take(most.saturating_add(1)))))
            }
            Files::Given(_) => match self.given(name.as_ref()) {
                None => Err(Error::new(ErrorKind::NotFound, "not among the files that were handed in")),
                Some(bytes) if bytes.len() as u64 > most => Err(too_large(most)),
                Some(bytes) => Ok(Box::new(bytes)),
            },
        }
    }

    /// Whether there is such a file.
    pub fn has(self, name: impl AsRef<Path>) -> bool {
        match self {
            Files::Disk(folder) => folder.join(name).exists(),
            Files::Given(_) => self.given(name.as_ref()).is_some(),
        }
    }

    /// Where a name leads, for messages.
    pub fn path(self, name: impl AsRef<Path>) -> PathBuf {
        match self {
            Files::Disk(folder) => folder.join(name),
            Files::Given(_) => name.as_ref().to_owned(),
        }
    }

    fn given(self, name: &Path) -> Option<&'a [u8]> {
        let Files::Given(files) = self else { return None };
        files.get(name.file_name()?.to_str()?).map(Vec::as_slice)
    }
}

fn too_large(most: u64) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("larger than {} MiB", most >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_a_folder_and_nothing_are_refused() {
        let here = Files::from(".");
        for name in ["/dev/zero", "src", "no such file"] {
            assert!(here.read(name, 100).is_err(), "{name}");
        }
        assert!(here.has("Cargo.toml") && !here.has("no such file"));
    }

    #[test]
    fn the_bound_is_the_last_size_that_is_read() {
        let length = std::fs::metadata("Cargo.toml").expect("it is there").len();
        let given = BTreeMap::from([("Cargo.toml".to_owned(), std::fs::read("Cargo.toml").expect("read"))]);
        for files in [Files::from("."), Files::Given(&given)] {
            assert_eq!(files.read("Cargo.toml", length).expect("read"), given["Cargo.toml"]);
            let error = files.read("Cargo.toml", length - 1).expect_err("one byte too many");
            assert_eq!(error.to_string(), "larger than 0 MiB");
        }
    }

    #[test]
    fn what_is_handed_in_is_found_under_any_folder() {
        let given = BTreeMap::from([("map.gml".to_owned(), b"graph".to_vec())]);
        let files = Files::Given(&given);
        for name in ["map.gml", "../data/map.gml", "/maps/map.gml"] {
            assert_eq!(files.read(name, 10).expect("read"), b"graph");
        }
        for name in ["other.gml", "..", "", "map.gml/.."] {
            assert!(!files.has(name) && files.read(name, 10).is_err(), "{name}");
        }
    }
}
