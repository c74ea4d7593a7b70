/// The Internet checksum (RFC 1071) of `parts`, laid end to end; all but the last of even length.
/// Together no longer than an IP packet: the sum of so many words fits.
pub(super) fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        let (words, odd) = part.as_chunks::<2>();
        sum += words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum::<u32>();
        sum += odd.first().map_or(0, |last| u32::from(*last) << 8);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_rfc_1071() {
        // The example of RFC 1071, §3: sum ddf2, checksum its complement.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }
}
