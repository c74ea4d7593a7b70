//! The compiled programs.

/// An ELF file must begin where its words may begin.
#[repr(C, align(8))]
#[allow(dead_code)] // Where there was no clang, there is nothing to align.
struct Aligned<const N: usize>([u8; N]);

impl<const N: usize> Aligned<N> {
    #[allow(dead_code)] // As above.
    const fn as_bytes(&'static self) -> &'static [u8] {
        &self.0
    }
}

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// The programs are not in this binary.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "this binary was built without its eBPF programs ({why}); install clang and the kernel's headers \
     (Debian: apt-get install clang linux-libc-dev), and build again"
)]
pub struct Missing {
    why: String,
}

fn present(program: Option<&'static [u8]>) -> Result<&'static [u8], Missing> {
    program.ok_or_else(|| Missing { why: MISSING.lines().next().unwrap_or_default().to_owned() })
}

/// The tc programs of RPM, as an ELF object.
pub fn rpm() -> Result<&'static [u8], Missing> {
    present(RPM)
}

/// DCTCP (RFC 8257) as a TCP congestion control (struct_ops), as an ELF object, for kernels that
/// were built without it.
pub fn dctcp() -> Result<&'static [u8], Missing> {
    present(DCTCP)
}
