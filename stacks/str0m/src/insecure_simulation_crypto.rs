//! Cryptography of real lengths that hides nothing, so that a run repeats byte for byte. **For simulation only.**
//!
//! The DTLS handshake is one datagram each way, repeated each second. SRTP is AES-128-GCM's, in the clear.

use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::config::{CryptoProvider, DtlsCert, DtlsVersion, KeyingMaterial};
use str0m::crypto::dtls::{DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, ProtocolVersion, SrtpProfile};
use str0m::crypto::{
    AeadAes128GcmCipher, CryptoError, Sha1HmacProvider, Sha256Provider, SrtpProvider, SupportedAeadAes128Gcm,
    SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

/// DTLS's types of records (RFC 5246, §6.2.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// Ours: about as long as a flight with a certificate.
const FLIGHT: usize = 600;
const AGAIN: Duration = Duration::from_secs(1);
/// AES-128-GCM's keys and salts of both ends (RFC 7714, §12), and its tag.
const KEYS: usize = 2 * (16 + 12);
const TAG: usize = 16;

/// All of it.
#[derive(Debug)]
struct Insecure;

/// What str0m is given.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        srtp_provider: &Insecure,
        sha1_hmac_provider: &Insecure,
        sha256_provider: &Insecure,
        dtls_provider: &Insecure,
    })
}

impl Sha1HmacProvider for Insecure {
    fn sha1_hmac(&self, _key: &[u8], _payloads: &[&[u8]]) -> [u8; 20] {
        [0; 20]
    }
}

impl Sha256Provider for Insecure {
    fn sha256(&self, _data: &[u8]) -> [u8; 32] {
        [0; 32]
    }
}

impl SrtpProvider for Insecure {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        unreachable!("both ends choose AES-128-GCM")
    }
    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Insecure
    }
    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        unreachable!("both ends choose AES-128-GCM")
    }
    fn srtp_aes_128_ecb_round(&self, _key: &[u8], _input: &[u8], _output: &mut [u8]) {}
    fn srtp_aes_256_ecb_round(&self, _key: &[u8], _input: &[u8], _output: &mut [u8]) {}
}

impl SupportedAeadAes128Gcm for Insecure {
    fn create_cipher(&self, _key: [u8; 16], _encrypt: bool) -> Box<dyn AeadAes128GcmCipher> {
        Box::new(Insecure)
    }
}

impl AeadAes128GcmCipher for Insecure {
    fn encrypt(&mut self, _iv: &[u8; 12], _aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let (text, tag) = output.split_at_mut(input.len());
        text.copy_from_slice(input);
        tag.fill(0);
        Ok(())
    }
    fn decrypt(
        &mut self,
        _iv: &[u8; 12],
        _aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let length = input.len().checked_sub(TAG).ok_or_else(|| CryptoError::Other("too short".to_owned()))?;
        output[..length].copy_from_slice(&input[..length]);
        Ok(length)
    }
}

impl DtlsProvider for Insecure {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        Some(DtlsCert { certificate: vec![0], private_key: vec![0] })
    }
    fn new_dtls(
        &self,
        _cert: &DtlsCert,
        now: Instant,
        _version: DtlsVersion,
        _mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        Ok(Box::new(Handshake { active: false, out: Vec::new(), now, again: now, met: false, closing: false }))
    }
}

/// What is still to be said to str0m.
#[derive(Debug)]
enum Say {
    Record(u8, usize),
    Connected,
    Keys,
    Closed,
}

/// One end's.
#[derive(Debug)]
struct Handshake {
    active: bool,
    out: Vec<Say>,
    now: Instant,
    again: Instant,
    met: bool,
    closing: bool,
}

impl DtlsInstance for Handshake {
    fn set_active(&mut self, active: bool) {
        self.active = active;
    }
    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        match packet.first() {
            Some(&HANDSHAKE) => {}
            Some(&ALERT) => {
                self.out.push(Say::Closed);
                return Ok(());
            }
            // str0m begins with an empty one.
            _ => return Ok(()),
        }
        if !self.active {
            self.out.push(Say::Record(HANDSHAKE, FLIGHT));
        }
        if !std::mem::replace(&mut self.met, true) {
            self.out.extend([Say::Keys, Say::Connected]);
        }
        Ok(())
    }
    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        if self.active && !self.met && self.again <= self.now {
            self.again = self.now + AGAIN;
            self.out.push(Say::Record(HANDSHAKE, FLIGHT));
        }
        if self.out.is_empty() {
            let waits = self.active && !self.met;
            return DtlsOutput::Timeout(if waits { self.again } else { self.now + 3600 * AGAIN });
        }
        match self.out.remove(0) {
            Say::Record(kind, length) => {
                buf[..length].fill(0);
                // DTLS 1.2.
                buf[..3].copy_from_slice(&[kind, 254, 253]);
                DtlsOutput::Packet(&buf[..length])
            }
            Say::Connected => DtlsOutput::Connected,
            Say::Keys => DtlsOutput::KeyingMaterial(KeyingMaterial::new(&[0; KEYS]), SrtpProfile::AEAD_AES_128_GCM),
            Say::Closed => DtlsOutput::CloseNotify,
        }
    }
    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.now = now;
        Ok(())
    }
    fn send_application_data(&mut self, _data: &[u8]) -> Result<(), DtlsImplError> {
        Ok(())
    }
    fn is_active(&self) -> bool {
        self.active
    }
    fn protocol_version(&self) -> Option<ProtocolVersion> {
        None
    }
    fn is_closed(&self) -> bool {
        self.closing && self.out.is_empty()
    }
    fn close(&mut self) -> Result<(), DtlsImplError> {
        self.closing = true;
        self.out.push(Say::Record(ALERT, 15 + TAG));
        Ok(())
    }
}
