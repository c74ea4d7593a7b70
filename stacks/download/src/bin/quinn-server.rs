//! `quinn-server PORT CERTIFICATE KEY FILE [cubic|newreno|bbr]`: answers each QUIC stream with the file, as HTTP/0.9
//! over QUIC does (ALPN `hq-interop`). Certificate and key are PEM files. It writes a qlog to `$QLOGFILE`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, QlogConfig, ServerConfig, TransportConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

type Failure = Box<dyn Error + Send + Sync>;
const USAGE: &str = "usage: quinn-server PORT CERTIFICATE KEY FILE [cubic|newreno|bbr]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, certificate, key, file, controller @ ..] = &args[..] else { return Err(USAGE.into()) };
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match controller.first().map_or("cubic", |name| name) {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(USAGE.into()),
    };
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"hq-interop".to_vec()];
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller);
    if let Some(path) = std::env::var_os("QLOGFILE") {
        let mut log = QlogConfig::default();
        log.writer(Box::new(BufWriter::new(File::create(path)?)));
        transport.qlog_stream(log.into_stream());
    }
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let content: Arc<[u8]> = std::fs::read(file)?.into();
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv6Addr::UNSPECIFIED, port.parse()?)))?;
    while let Some(incoming) = endpoint.accept().await {
        let content = content.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(incoming, &content).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(incoming: Incoming, content: &[u8]) -> Result<(), Failure> {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    receive.read_to_end(1 << 10).await?;
    send.write_all(content).await?;
    send.finish()?;
    connection.closed().await;
    let path = connection.stats().path;
    println!("{} packets sent, {} lost, cwnd {}", path.sent_packets, path.lost_packets, path.cwnd);
    Ok(())
}
