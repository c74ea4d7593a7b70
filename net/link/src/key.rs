//! A node's key, and those of its neighbours: 32 bytes, written as 64 hexadecimal digits.

use std::fmt;

use thiserror::Error;

/// Bytes of a key of X25519.
pub const LEN: usize = 32;

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It has another length.
    #[error("a key has 64 hexadecimal digits, not {0} characters")]
    Length(usize),
    /// A character is no digit.
    #[error("a key has 64 hexadecimal digits; {0:?} is not one")]
    Digit(char),
    /// Zeros, which no X25519 key is.
    #[error("an all-zero key is not valid")]
    Zero,
    /// The system gave no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(String),
}

/// What a node proves its name with. It is never shown: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; LEN]);

/// What others know it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; LEN]);

fn parse(text: &str) -> Result<[u8; LEN], KeyError> {
    let text = text.trim();
    if text.chars().count() != 2 * LEN {
        return Err(KeyError::Length(text.chars().count()));
    }
    let mut bytes = [0; LEN];
    for (i, digit) in text.chars().enumerate() {
        let value = digit.to_digit(16).ok_or(KeyError::Digit(digit))? as u8;
        bytes[i / 2] = bytes[i / 2] << 4 | value;
    }
    if bytes == [0; LEN] { Err(KeyError::Zero) } else { Ok(bytes) }
}

impl SecretKey {
    /// A new one.
    pub fn generate() -> Result<SecretKey, KeyError> {
        let mut bytes = [0; LEN];
        getrandom::fill(&mut bytes).map_err(|e| KeyError::Random(e.to_string()))?;
        Ok(SecretKey(bytes))
    }

    /// From a file's text: space around the digits is ignored.
    pub fn parse(text: &str) -> Result<SecretKey, KeyError> {
        parse(text).map(SecretKey)
    }

    /// What others know it by.
    pub fn public(&self) -> PublicKey {
        let resolver = snow::resolvers::DefaultResolver;
        let mut pair = snow::resolvers::CryptoResolver::resolve_dh(&resolver, &snow::params::DHChoice::Curve25519)
            .expect("snow is built with X25519");
        pair.set(&self.0);
        let mut public = [0; LEN];
        public.copy_from_slice(pair.pubkey());
        PublicKey(public)
    }

    /// Its bytes, for the handshake and for the file that keeps it.
    pub const fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }

    /// As a file has it.
    pub fn text(&self) -> String {
        PublicKey(self.0).to_string()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(hidden)")
    }
}

impl PublicKey {
    /// From a configuration's text.
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        parse(text).map(PublicKey)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7748, §5.2: after one iteration, the key 9 on the base point 9.
    #[test]
    fn the_public_key_is_that_of_rfc_7748() {
        let secret = SecretKey::parse(&format!("09{}\n", "00".repeat(31))).unwrap();
        let public = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        assert_eq!(secret.public().to_string(), public);
    }

    #[test]
    fn what_is_no_key_says_why() {
        assert_eq!(PublicKey::parse("ab").unwrap_err(), KeyError::Length(2));
        assert_eq!(PublicKey::parse(&"g".repeat(64)).unwrap_err(), KeyError::Digit('g'));
        assert_eq!(SecretKey::parse(&"0".repeat(64)).unwrap_err(), KeyError::Zero);
        let secret = SecretKey::generate().unwrap();
        assert_eq!(SecretKey::parse(&secret.text()).unwrap(), secret);
        assert_eq!(format!("{secret:?}"), "SecretKey(hidden)");
        assert_eq!(PublicKey::parse(&secret.public().to_string()).unwrap(), secret.public());
    }
}
