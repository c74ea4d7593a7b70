//! TLS whose every random number comes from a seed, so that a run repeats byte for byte. **For simulation only**: both
//! ends' keys follow from what anybody can read on the wire.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use midpath_core::rng::Stream;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use rand_core::{Rng, SeedableRng};
use ring::{hkdf, hmac};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, RootCertStore};

/// A generator that is shared by all that draws at one end.
#[derive(Debug, Clone)]
pub struct InsecureSeeded(Arc<Mutex<Stream>>);

impl InsecureSeeded {
    /// That of a seed.
    pub fn new(seed: [u8; 32]) -> InsecureSeeded {
        InsecureSeeded(Arc::new(Mutex::new(Stream::from_seed(seed))))
    }

    /// The next bytes.
    pub fn draw<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.lock().expect("nobody panics with it").fill_bytes(&mut bytes);
        bytes
    }

    /// The next key of stateless resets.
    pub fn reset_key(&self) -> Arc<hmac::Key> {
        Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &self.draw::<32>()))
    }

    /// The next key of address validation tokens.
    pub fn token_key(&self) -> Arc<hkdf::Prk> {
        Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&self.draw::<64>()))
    }

    /// The next connection id of eight bytes.
    pub fn connection_id(&self) -> ConnectionId {
        ConnectionId::new(&self.draw::<8>())
    }
}

impl SecureRandom for InsecureSeeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.0.lock().expect("nobody panics with it").fill_bytes(bytes);
        Ok(())
    }
}

impl ConnectionIdGenerator for InsecureSeeded {
    fn generate_cid(&mut self) -> ConnectionId {
        self.connection_id()
    }
    fn validate(&self, _cid: &ConnectionId) -> Result<(), InvalidCid> {
        Ok(())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// A key exchange with X25519's name and lengths, and no secret: the key is the exclusive or of both shares.
impl SupportedKxGroup for InsecureSeeded {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(InsecureExchange(self.draw())))
    }
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct InsecureExchange([u8; 32]);

impl ActiveKeyExchange for InsecureExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let both: Vec<u8> = self.0.iter().zip(peer).map(|(a, b)| a ^ b).collect();
        Ok(SharedSecret::from(both))
    }
    fn pub_key(&self) -> &[u8] {
        &self.0
    }
    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// The machine's clock says nothing in a simulation: it is 2030 here.
#[derive(Debug)]
struct Fixed;

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(60 * 365 * 86_400)))
    }
}

/// A self-signed certificate and its key. Ed25519's signatures have one length and no randomness.
#[derive(Clone)]
pub struct Identity(CertificateDer<'static>, Vec<u8>);

/// The name in it.
pub const NAME: &str = "simulated";

impl Default for Identity {
    fn default() -> Identity {
        // RFC 8410, §7: an Ed25519 key in PKCS #8 is these bytes and the key.
        let mut key = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        key.extend_from_slice(b"for simulation only: not secret!");
        let pair =
            rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(&key[..]), &rcgen::PKCS_ED25519)
                .expect("a key of the right form");
        let mut params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).expect("a good name");
        params.serial_number = Some(1u64.into());
        let certificate = params.self_signed(&pair).expect("a key that signs");
        Identity(certificate.der().clone(), key)
    }
}

impl Identity {
    /// TLS 1.3 of an end that connects. Secrets go to the file that `SSLKEYLOGFILE` names, for Wireshark.
    pub fn client(&self, seeded: &InsecureSeeded) -> Arc<QuicClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.clone()).expect("a good certificate");
        let mut tls = rustls::ClientConfig::builder_with_details(provider(seeded), Arc::new(Fixed))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.resumption = rustls::client::Resumption::disabled();
        tls.key_log = Arc::new(rustls::KeyLogFile::new());
        Arc::new(tls.try_into().expect("a suite for initial packets"))
    }

    /// TLS 1.3 of an end that accepts.
    pub fn server(&self, seeded: &InsecureSeeded) -> Arc<QuicServerConfig> {
        let key = PrivatePkcs8KeyDer::from(self.1.clone()).into();
        let mut tls = rustls::ServerConfig::builder_with_details(provider(seeded), Arc::new(Fixed))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![self.0.clone()], key)
            .expect("a key for the certificate");
        tls.send_tls13_tickets = 0;
        Arc::new(tls.try_into().expect("a suite for initial packets"))
    }
}

/// ring's algorithms over seeded numbers. What rustls keeps for ever is leaked: some bytes per connection.
fn provider(seeded: &InsecureSeeded) -> Arc<CryptoProvider> {
    let seeded: &'static InsecureSeeded = Box::leak(Box::new(seeded.clone()));
    Arc::new(CryptoProvider {
        kx_groups: vec![seeded],
        secure_random: seeded,
        ..rustls::crypto::ring::default_provider()
    })
}
