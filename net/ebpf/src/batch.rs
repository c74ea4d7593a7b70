//! Reads all values of an array map with batched system calls. One call for each of 65,536 registers, ten times a
//! second, takes a third of a core. aya has no batch call yet.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya::maps::MapData;

use crate::Error;
use crate::load::kernel;

/// Values of one call.
const BATCH: usize = 4096;
/// `enum bpf_cmd` in linux/bpf.h.
const BPF_MAP_LOOKUP_BATCH: libc::c_long = 24;

/// The part of `union bpf_attr` for batches (linux/bpf.h); pointers are 64 bits long there.
#[repr(C)]
#[derive(Default)]
struct BatchAttr {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

/// The values of an array map, in the order of their keys.
pub(crate) fn values<T: aya::Pod>(map: &MapData) -> Result<Vec<T>, Error> {
    let info = map.info().map_err(|e| kernel("a map", &e))?;
    if info.value_size() as usize != size_of::<T>() {
        return Err(Error::OtherVersion);
    }
    let mut all = Vec::with_capacity(info.max_entries() as usize);
    let mut last = None;
    while let Some(key) = next(map.fd().as_fd(), last, &mut all).map_err(|e| kernel("BPF_MAP_LOOKUP_BATCH", &e))? {
        last = Some(key);
    }
    Ok(all)
}

/// Appends the values behind the key `last`, at most [`BATCH`]. Returns the key to go on from, or
/// `None` at the map's end. The map must be an array whose values are as long as a `T`.
fn next<T: aya::Pod>(map: BorrowedFd<'_>, last: Option<u32>, all: &mut Vec<T>) -> io::Result<Option<u32>> {
    let mut keys = [0u32; BATCH];
    let mut reached = 0u32;
    all.reserve(BATCH);
    let mut attr = BatchAttr {
        in_batch: last.as_ref().map_or(0, |key| std::ptr::from_ref(key) as u64),
        out_batch: (&raw mut reached) as u64,
        keys: keys.as_mut_ptr() as u64,
        values: all.spare_capacity_mut().as_mut_ptr() as u64,
        count: BATCH as u32,
        map_fd: map.as_raw_fd() as u32,
        ..BatchAttr::default()
    };
    // SAFETY: the structure is as long as we say; `keys` and the vector's spare room take `BATCH`
    // keys and values.
    #[allow(unsafe_code)]
    let done = unsafe { libc::syscall(libc::SYS_bpf, BPF_MAP_LOOKUP_BATCH, &raw mut attr, size_of::<BatchAttr>()) };
    let ended = done != 0;
    if ended {
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ENOENT) {
            return Err(error);
        }
    }
    let length = all.len() + attr.count as usize;
    // SAFETY: the kernel has written `count` values, `BATCH` at most, and any bytes are a `T`
    // (Pod).
    #[allow(unsafe_code)]
    unsafe {
        all.set_len(length);
    }
    Ok((!ended && attr.count > 0).then_some(reached))
}
