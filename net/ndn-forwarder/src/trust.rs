//! Trusted keys and certificates of a consumer.

use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use midpath_ndn::{DataView, View};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use sha2::Sha256;
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

/// Kinds of signatures (packet specification, *Signature*).
const DIGEST_SHA256: u64 = 0;
const SHA256_WITH_RSA: u64 = 1;
const SHA256_WITH_ECDSA: u64 = 3;
const HMAC_SHA256: u64 = 4;
const SIGNATURE_ED25519: u64 = 5;
/// ContentType of a certificate (*NDN Certificate Format*, 2.0).
const KEY: u64 = 2;
/// The first byte of Data.
const DATA: u8 = 6;

/// Public keys' kinds and curves (RFC 8017, 5480, 8410).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const EDWARDS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// Whose signatures count.
#[derive(Debug, Default)]
pub enum Trust {
    /// Digests are verified; what a key has signed is taken as it is, and counted.
    #[default]
    Anybody,
    /// The key that both ends have (HMAC with SHA-256).
    Shared(Vec<u8>),
    /// A producer's certificate.
    Certificate(Certificate),
}

impl Trust {
    /// Whether a signature is right; `None` if it needs a key that is not here.
    pub fn verify(&self, data: &DataView<'_>) -> Option<bool> {
        match (self, data.signature_type) {
            (Trust::Anybody, DIGEST_SHA256) => Some(crate::digest(&[data.signed])[..] == *data.signature),
            (Trust::Anybody, _) => None,
            (Trust::Shared(key), HMAC_SHA256) => {
                let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
                mac.update(data.signed);
                Some(mac.verify_slice(data.signature).is_ok())
            }
            (Trust::Certificate(certificate), kind) => Some(kind == certificate.kind && certificate.has_signed(data)),
            (Trust::Shared(_), _) => Some(false),
        }
    }
}

/// A public key, as an NDN certificate has it. Who hands it in trusts it: neither its own signature nor
/// how long it is valid is looked at.
#[derive(Debug)]
pub struct Certificate {
    /// The kind of signature that its key makes.
    kind: u64,
    key: UnparsedPublicKey<Vec<u8>>,
}

impl Certificate {
    /// Reads a certificate: its packet, or that in base64, as `ndnsec cert-dump` prints it.
    pub fn read(file: &[u8]) -> Result<Certificate, String> {
        let decoded;
        let wire = if file.first() == Some(&DATA) {
            file
        } else {
            let text: String =
                file.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|&byte| byte as char).collect();
            decoded = Base64::decode_vec(&text).map_err(|_| "neither a packet nor base64 of one")?;
            &decoded
        };
        match View::of(wire) {
            Ok(View::Data(data)) if data.content_type == Some(KEY) => Certificate::of(data.content.unwrap_or_default()),
            Ok(_) => Err("the packet is not a certificate (Data with ContentType KEY)".into()),
            Err(why) => Err(format!("not an NDN packet: {why}")),
        }
    }

    /// A key from its SubjectPublicKeyInfo.
    fn of(der: &[u8]) -> Result<Certificate, String> {
        let info =
            SubjectPublicKeyInfoRef::try_from(der).map_err(|why| format!("cannot parse its public key: {why}"))?;
        let curve = || info.algorithm.parameters_oid().ok();
        let (kind, algorithm): (u64, &'static dyn VerificationAlgorithm) = match info.algorithm.oid {
            RSA => (SHA256_WITH_RSA, &RSA_PKCS1_2048_8192_SHA256),
            ELLIPTIC if curve() == Some(P256) => (SHA256_WITH_ECDSA, &ECDSA_P256_SHA256_ASN1),
            ELLIPTIC if curve() == Some(P384) => (SHA256_WITH_ECDSA, &ECDSA_P384_SHA256_ASN1),
            ELLIPTIC => return Err("its curve is not the named curve P-256 or P-384".into()),
            EDWARDS => (SIGNATURE_ED25519, &ED25519),
            other => return Err(format!("its key is {other}, not RSA, ECDSA or Ed25519")),
        };
        let key = info.subject_public_key.as_bytes().ok_or("its public key ends within a byte")?;
        Ok(Certificate { kind, key: UnparsedPublicKey::new(algorithm, key.to_vec()) })
    }

    fn has_signed(&self, data: &DataView<'_>) -> bool {
        self.key.verify(data.signed, data.signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::digest_data;
    use crate::name::of;
    use proptest::prelude::*;

    /// Kind, certificate and Data of each line.
    fn vectors() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
        let text = include_str!("../tests/vectors/signatures.txt");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let decoded = |text: Option<&str>| Base64::decode_vec(text.expect("three columns")).expect("base64");
        lines
            .map(|line| {
                let mut columns = line.split(' ');
                (columns.next().expect("a kind"), decoded(columns.next()), decoded(columns.next()))
            })
            .collect()
    }

    fn verdict(trust: &Trust, wire: &[u8]) -> Option<bool> {
        let Ok(View::Data(data)) = View::of(wire) else { panic!("no Data") };
        trust.verify(&data)
    }

    #[test]
    fn what_python_ndn_signs_is_verified_by_its_own_certificate_alone() {
        let vectors = vectors();
        assert_eq!(vectors.len(), 4);
        for (kind, certificate, _) in &vectors {
            let trust = Trust::Certificate(Certificate::read(certificate).expect("a certificate"));
            for (other, theirs, data) in &vectors {
                assert_eq!(verdict(&trust, data), Some(kind == other), "{kind} {other}");
                // They have signed themselves.
                assert_eq!(verdict(&trust, theirs), Some(kind == other), "{kind} {other}");
            }
            assert_eq!(verdict(&trust, &digest_data(&of(&["a"]), None, b"all")), Some(false), "anybody can make one");
        }
    }

    #[test]
    fn without_a_key_signatures_are_counted_as_not_looked_at() {
        for (kind, _, data) in vectors() {
            assert_eq!(verdict(&Trust::Anybody, &data), None, "{kind}");
            assert_eq!(verdict(&Trust::Shared(b"secret".to_vec()), &data), Some(false), "{kind}");
        }
    }

    #[test]
    fn base64_has_lines() {
        for (kind, certificate, data) in vectors() {
            let text = Base64::encode_string(&certificate);
            let lines: Vec<&str> = text.as_bytes().chunks(64).map(|c| std::str::from_utf8(c).expect("ASCII")).collect();
            let read = Certificate::read(format!("{}\n", lines.join("\n")).as_bytes()).expect(kind);
            assert_eq!(verdict(&Trust::Certificate(read), &data), Some(true), "{kind}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused_with_the_reason() {
        let why = |file: &[u8]| Certificate::read(file).expect_err("no certificate");
        assert_eq!(why(b"-----BEGIN"), "neither a packet nor base64 of one");
        assert!(why(b"AAAA").starts_with("not an NDN packet: "));
        let (_, _, data) = &vectors()[0];
        assert_eq!(why(data), "the packet is not a certificate (Data with ContentType KEY)");
        let elliptic = |curve: &[u8]| {
            let mut algorithm = vec![0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1];
            algorithm.extend_from_slice(curve);
            let mut info = vec![0x30, algorithm.len() as u8];
            info.extend_from_slice(&algorithm);
            info.extend_from_slice(&[3, 2, 0, 4]);
            let mut der = vec![0x30, info.len() as u8];
            der.extend_from_slice(&info);
            Certificate::of(&der).expect_err("no key")
        };
        // secp224r1, and none.
        assert_eq!(elliptic(&[6, 5, 0x2B, 0x81, 4, 0, 0x21]), "its curve is not the named curve P-256 or P-384");
        assert_eq!(elliptic(&[]), "its curve is not the named curve P-256 or P-384");
        let x25519 = [0x30, 9, 0x30, 5, 6, 3, 0x2B, 0x65, 0x6E, 3, 0];
        assert!(Certificate::of(&x25519).is_err());
    }

    proptest! {
        /// A bit that is changed in what is signed or in the signature is found.
        #[test]
        fn no_changed_bit_passes(which in 0usize..4, at: prop::sample::Index, bit in 0u8..8) {
            let (_, certificate, mut data) = vectors().swap_remove(which);
            let trust = Trust::Certificate(Certificate::read(&certificate).expect("a certificate"));
            let at = at.index(data.len());
            data[at] ^= 1 << bit;
            if let Ok(View::Data(view)) = View::of(&data) {
                prop_assert_eq!(trust.verify(&view), Some(false));
            }
        }
    }
}
