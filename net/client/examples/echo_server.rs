//! Says what it is told: `echo_server 127.0.0.1:4800`, the node's `[[application]]` entrance.

use midpath_client::Node;
use tokio::io::{AsyncWriteExt, copy, split};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let node = Node::at(std::env::args().nth(1).and_then(|a| a.parse().ok()).expect("an address"));
    let mut echo = node.listen("echo").await?;
    loop {
        let (stream, peer) = echo.accept().await?;
        println!("{peer} is here");
        tokio::spawn(async move {
            let (mut reads, mut writes) = split(stream);
            // Without the shutdown, as after an error, the other side is told of a reset.
            copy(&mut reads, &mut writes).await?;
            writes.shutdown().await
        });
    }
}
