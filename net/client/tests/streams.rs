//! Against a node that is a thread of the test: what is said to it, and what becomes of streams.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use midpath_client::Node;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Takes connections; for each: the line that it expects, and the answer. Returns the connections.
fn node(script: Vec<(&'static str, &'static str)>) -> (SocketAddr, JoinHandle<Vec<TcpStream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    let serve = move || {
        let answer = |(wish, answer): (&str, &str)| {
            let (mut tcp, _) = listener.accept().expect("somebody connects");
            let mut said = vec![0; wish.len()];
            tcp.read_exact(&mut said).expect("it says that");
            assert_eq!(String::from_utf8_lossy(&said), wish);
            tcp.write_all(answer.as_bytes()).expect("it listens");
            tcp
        };
        script.into_iter().map(answer).collect()
    };
    (at, thread::spawn(serve))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime").block_on(work)
}

#[test]
fn bytes_go_both_ways_and_each_direction_ends_on_its_own() {
    let (at, served) = node(vec![("connect b echo\n", "ok\nhello")]);
    run(async {
        let mut stream = Node::at(at).connect("b", "echo").await.expect("it is there");
        let mut five = [0; 5];
        stream.read_exact(&mut five).await.expect("not a byte is lost behind the answer");
        assert_eq!(&five, b"hello");
        stream.write_all(b"question").await.expect("there is room");
        stream.shutdown().await.expect("it ends");
        let mut server = served.join().expect("it serves").remove(0);
        let mut said = String::new();
        server.read_to_string(&mut said).expect("an end, and no reset");
        server.write_all(b"answer").expect("this direction is open");
        drop(server);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an end");
        assert_eq!((&*said, &*answer), ("question", "answer"));
    });
}

/// Whoever goes without having said that all is written has not written all.
#[test]
fn a_stream_that_is_dropped_is_reset() {
    let (at, served) = node(vec![("connect b echo\n", "ok\n")]);
    run(async {
        let mut stream = Node::at(at).connect("b", "echo").await.expect("it is there");
        stream.write_all(b"half").await.expect("there is room");
    });
    let mut server = served.join().expect("it serves").remove(0);
    let error = server.read_to_end(&mut Vec::new()).expect_err("no end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_refusal_says_why() {
    let (at, served) = node(vec![("connect b echo\n", "refused no such service\n")]);
    let error = run(async { Node::at(at).connect("b", "echo").await }).expect_err("nobody is there");
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::ConnectionRefused, "no such service".into()));
    served.join().expect("it serves");
}

#[test]
fn a_listener_takes_what_waits_and_passes_over_what_is_gone() {
    let script = vec![
        ("listen echo\n", "ok\n7\n12\n"),
        ("take 7\n", "refused no longer waiting\n"),
        ("take 12\n", "from c\nhi"),
    ];
    let (at, served) = node(script);
    run(async {
        let mut listener = Node::at(at).listen("echo").await.expect("the name is free");
        let (mut stream, peer) = listener.accept().await.expect("one waits");
        let mut two = [0; 2];
        stream.read_exact(&mut two).await.expect("it says something");
        assert_eq!((&*peer, &two), ("c", b"hi"));
    });
    served.join().expect("it serves");
}
