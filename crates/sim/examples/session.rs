//! A permutation of 64 hosts, 1 MB each or so many bytes, as messages of a session or as flows of a scenario: what running in step costs.
//!
//! `valgrind --tool=cachegrind --cache-sim=no target/release/examples/session messages 1000000` (or `flows`)

use std::fmt::Write;
use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{Host, RunOptions, Session, run_text};

const FABRIC: &str = r#"
scheme = "dctcp"
[topology]
generate = "leaf-spine"
leaves = 8
spines = 8
per_leaf = 8
link = { rate = "100 Gbps", delay = "500 ns", mtu = 4150 }
access = { rate = "100 Gbps", delay = "500 ns", mtu = 4150 }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mode, bytes) = (std::env::args().nth(1), std::env::args().nth(2));
    let (hosts, bytes) = (64, bytes.map_or(Ok(1_000_000), |bytes| bytes.parse())?);
    let pairs = (0..hosts).map(|src| (src, (src + 11) % hosts));
    if mode.as_deref() == Some("flows") {
        let mut text = FABRIC.to_owned();
        for (src, dst) in pairs {
            writeln!(text, "[[flow]]\nfrom = \"h{src}\"\nto = \"h{dst}\"\nsize = \"{bytes} B\"")?;
        }
        let out = run_text(&text, Path::new("."), &RunOptions::default(), &mut |_| true)?.ok_or("cancelled")?;
        println!("{} packet-hops", out.run["packet_hops"]);
        return Ok(());
    }
    let mut session = Session::new(FABRIC, Path::new("."), &RunOptions::default(), &Catalogue::standard())?;
    for (src, dst) in pairs {
        session.send(Host(src), Host(dst), bytes, 0, Box::new(|_| {}))?;
    }
    session.run()?;
    println!("{} packet-hops until {}", session.packet_hops(), session.now());
    Ok(())
}
