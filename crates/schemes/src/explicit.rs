//! Shared by schemes that compute with numbers in headers: these, of four bytes as in the authors' headers of RCP and
//! XCP, and arithmetic for each packet.

/// Writes numbers one after the other.
#[inline]
pub fn put<const N: usize>(numbers: [f32; N], out: &mut [u8]) {
    for (place, number) in out.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// Reads them; `None` if the length is another.
#[inline]
pub fn get<const N: usize>(body: &[u8]) -> Option<[f32; N]> {
    let (words, rest) = body.as_chunks::<4>();
    let words: &[[u8; 4]; N] = words.try_into().ok().filter(|_| rest.is_empty())?;
    Some(words.map(f32::from_be_bytes))
}

/// `f64::max` and `f64::min` where `bound` is a number: one instruction instead of five, for each packet
/// on each link.
#[inline(always)]
pub fn at_least(x: f64, bound: f64) -> f64 {
    if x > bound { x } else { bound }
}

/// See [`at_least`].
#[inline(always)]
pub fn at_most(x: f64, bound: f64) -> f64 {
    if x < bound { x } else { bound }
}

/// A count as a real number. Counts are far below 2^63: as such they take one instruction instead of five.
#[inline(always)]
pub fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// Whether a peer may say this of an amount. Peers are hostile: no negative one, no infinity, no
/// NaN (which fails every comparison).
#[inline]
pub fn is_amount(x: f32) -> bool {
    (0.0..=f32::MAX).contains(&x)
}

#[cfg(test)]
mod tests {
    use super::{get, is_amount, put};

    #[test]
    fn numbers_come_back_and_other_lengths_do_not() {
        let mut out = [0; 8];
        put([1.5, -0.0], &mut out);
        assert_eq!(get::<2>(&out).map(|n| n.map(f32::to_bits)), Some([1.5f32.to_bits(), (-0.0f32).to_bits()]));
        assert_eq!((get::<1>(&out), get::<3>(&out), get::<2>(&out[..7])), (None, None, None));
    }

    #[test]
    fn amounts_are_finite_and_not_negative() {
        assert!([0.0, 1.0, f32::MAX].map(is_amount).iter().all(|ok| *ok));
        assert!(![-1.0, f32::INFINITY, f32::NAN].map(is_amount).iter().any(|ok| *ok));
    }
}
