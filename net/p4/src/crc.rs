//! The two hashes that v1model names and RPM uses, bit by bit.

/// CRC-16/ARC, v1model's `crc16`.
pub fn crc16(bytes: &[u8]) -> u64 {
    reflected(bytes, 0, 0xa001, 0)
}

/// CRC-32/ISO-HDLC, v1model's `crc32`.
pub fn crc32(bytes: &[u8]) -> u64 {
    reflected(bytes, 0xffff_ffff, 0xedb8_8320, 0xffff_ffff)
}

/// A CRC whose bits go in and out with the lowest first.
fn reflected(bytes: &[u8], init: u64, polynomial: u64, xor_out: u64) -> u64 {
    let step = |crc: u64| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
    let crc = bytes.iter().fold(init, |crc, byte| (0..8).fold(crc ^ u64::from(*byte), |crc, _| step(crc)));
    crc ^ xor_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_s_check_values() {
        assert_eq!(crc16(b"123456789"), 0xbb3d);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
