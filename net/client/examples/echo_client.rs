//! Says a line to an echo at another node: `echo_client 127.0.0.1:4800 b hello`.

use midpath_client::Node;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let [_, at, peer, words @ ..] = &std::env::args().collect::<Vec<_>>()[..] else {
        panic!("echo_client ADDRESS NODE WORDS");
    };
    let node = Node::at(at.parse().expect("an address"));
    let mut stream = node.connect(peer, "echo").await?;
    stream.write_all(words.join(" ").as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("{answer}");
    Ok(())
}
