//! Cryptographic random numbers.

use std::fs::File;
use std::io::Read;

use crate::error::{Error, Tried};

/// So many random bytes, from the kernel.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.tried(|| "cannot read random numbers".into())?;
    Ok(bytes)
}
