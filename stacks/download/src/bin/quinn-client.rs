//! `quinn-client HOST:PORT CERTIFICATE FILE`: fetches a file by HTTP/0.9 over QUIC and prints how long that took, from
//! the first packet of the handshake on. The server is `midpath`, whose certificate is the one in the PEM file.

use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, VarInt};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

#[expect(clippy::disallowed_methods, reason = "a program on real packets")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [host, certificate, file] = &args[..] else {
        return Err("usage: quinn-client HOST:PORT CERTIFICATE FILE".into());
    };
    let server = host.to_socket_addrs()?.next().ok_or("the host has no address")?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"hq-interop".to_vec()];
    let own = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let mut endpoint = Endpoint::client(SocketAddr::new(own, 0))?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));

    let began = Instant::now();
    let connection = endpoint.connect(server, "midpath")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(b"GET /file\r\n").await?;
    send.finish()?;
    let content = receive.read_to_end(usize::MAX).await?;
    println!("{} bytes in {:.6} s", content.len(), began.elapsed().as_secs_f64());
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    std::fs::write(file, content)?;
    Ok(())
}
