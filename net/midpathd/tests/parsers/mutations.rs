//! Samples, mutated byte by byte, cut off, and spliced together.

use midpath_core::rng::{Purpose, Stream, below, stream};

/// How many inputs, unless `CASES` says otherwise.
fn cases(usual: usize) -> usize {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

/// Mutations of these samples.
fn mutated(samples: &[Vec<u8>], rng: &mut Stream) -> Vec<u8> {
    let pick = |rng: &mut Stream| samples[below(rng, samples.len() as u64) as usize].clone();
    let mut bytes = pick(rng);
    for _ in 0..below(rng, 5) {
        let at = below(rng, bytes.len() as u64 + 1) as usize;
        match below(rng, 8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, below(rng, 256) as u8),
            2 => {
                // One sample's beginning, another one's end.
                let other = pick(rng);
                let from = below(rng, other.len() as u64 + 1) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 if at < bytes.len() => bytes[at] ^= 1 << below(rng, 8),
            5 if at < bytes.len() => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff, b'\n', b':', b'='];
                bytes[at] = extreme[below(rng, 8) as usize];
            }
            6 => {
                let (from, to) = (at, (at + below(rng, 30) as usize).min(bytes.len()));
                let piece = bytes[from..to].to_vec();
                bytes.splice(from..from, piece);
            }
            _ if at < bytes.len() => bytes[at] = below(rng, 256) as u8,
            _ => {}
        }
    }
    bytes
}

/// Gives so many of them to an entry.
pub fn run(name: &str, samples: &[Vec<u8>], usual: usize, entry: fn(&[u8]) -> bool) {
    assert!(samples.iter().any(|sample| entry(sample)), "{name}: a sample is taken for something");
    let mut rng = stream(36, Purpose::Fault, 0);
    let count = cases(usual);
    let taken = (0..count).filter(|_| entry(&mutated(samples, &mut rng))).count();
    println!("{name}: {count} inputs, {taken} taken for something");
    assert!(taken > 0 && taken < count);
}
