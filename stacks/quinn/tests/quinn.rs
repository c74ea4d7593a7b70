//! quinn-proto on simulated networks: the same bytes again, beside our TCP, through what real links do.

use std::collections::BTreeMap;
use std::path::Path;

use midpath_sim::{Column, RunOptions, RunOutput};
use midpath_stack::must_run;
use serde_json::Value;
use stack_quinn::schemes;

/// A dumbbell of 20 Mbps and a round trip of 100 ms.
fn dumbbell(pairs: usize, queue: &str, more: &str) -> String {
    format!(
        r#"
scheme = "quinn"

[topology]
generate = "dumbbell"
pairs = {pairs}
bottleneck = {{ rate = "20 Mbps", delay = "48 ms" }}
access = {{ rate = "1 Gbps", delay = "1 ms" }}

[queue]
{queue}
{more}"#
    )
}

const DROP_TAIL: &str = "limit = \"250 kB\"";

fn flow(pair: usize, more: &str) -> String {
    format!("\n[[flow]]\nfrom = \"s{pair}\"\nto = \"d{pair}\"\n{more}\n")
}

fn plain(text: &str) -> RunOutput {
    must_run(schemes(), text, &RunOptions::default())
}

fn column(out: &RunOutput, name: &str) -> Vec<f64> {
    out.table("flows").expect("flows").f64(name).to_vec()
}

fn count(out: &RunOutput, name: &str) -> Vec<u64> {
    out.table("flows").expect("flows").u64(name).to_vec()
}

#[test]
fn twenty_megabytes_are_the_same_bytes_again_and_on_two_threads() {
    let pcap = "\n[[measure.pcap]]\nfrom = \"r0\"\nto = \"r1\"\npackets = 4000\n\n[[measure.pcap]]\nfrom = \"r1\"\nto = \"r0\"\npackets = 4000\n";
    let text = dumbbell(1, DROP_TAIL, &format!("{}{pcap}", flow(0, "size = \"20 MB\"")));
    let once = plain(&text);
    assert_eq!(once.summary("completed"), Some(1.0), "{}", once.run["summary"]);
    let fct = column(&once, "fct_s")[0];
    assert!((8.3..13.0).contains(&fct), "20 MB at 20 Mbps take 8.0 s and the headers: {fct}");
    for options in [
        RunOptions::default(),
        RunOptions { threads: 2, parts: 2, ..RunOptions::default() },
        RunOptions { threads: 2, parts: 4, ..RunOptions::default() },
        RunOptions { wire: true, ..RunOptions::default() },
    ] {
        let again = must_run(schemes(), &text, &options);
        assert!(again.repeatable() == once.repeatable(), "{options:?}");
        assert!(again.files == once.files, "captures: {options:?}");
    }
    let other = must_run(schemes(), &text, &RunOptions { seed: Some(2), ..RunOptions::default() });
    assert!(other.files != once.files, "another seed's bytes are others");
}

#[test]
fn each_controller_ends_beside_our_cubic() {
    for controller in ["cubic", "newreno", "bbr"] {
        let flows = flow(0, "size = \"5 MB\"") + &flow(1, "size = \"5 MB\"\nscheme = \"cubic\"");
        let out = plain(&dumbbell(2, DROP_TAIL, &format!("{flows}\n[schemes.quinn]\ncontroller = \"{controller}\"\n")));
        assert_eq!(out.summary("completed"), Some(2.0), "{controller}: {}", out.run["summary"]);
    }
}

#[test]
fn marks_come_back_and_are_not_losses() {
    // Room for slow start's last round trip: only the AQM drops.
    let text = dumbbell(1, "kind = \"codel\"\nscheduler = \"fq\"\nlimit = \"2 MB\"", &flow(0, "size = \"10 MB\""));
    let marked = plain(&text);
    let dropped = plain(&format!("{text}\n[schemes.quinn]\necn = false\n"));
    let lost = |out: &RunOutput| count(out, "retransmitted_packets")[0];
    assert!(count(&marked, "marked_packets")[0] > 0 && lost(&marked) < 3, "{} lost", lost(&marked));
    assert!(count(&dropped, "marked_packets")[0] == 0 && lost(&dropped) > lost(&marked), "{} lost", lost(&dropped));
}

#[test]
fn applications_fetch_share_pause_and_send_datagrams() {
    for (application, more) in [("fetch", ""), ("push", "connections = 4\n"), ("fetch", "connections = 3\n")] {
        let keys = format!("\n[schemes.quinn]\napplication = \"{application}\"\n{more}");
        let out = plain(&dumbbell(1, DROP_TAIL, &(flow(0, "size = \"3 MB\"") + &keys)));
        assert_eq!(out.summary("completed"), Some(1.0), "{keys}: {}", out.run["summary"]);
        assert_eq!(count(&out, "delivered_bytes"), [3_000_000], "{keys}");
    }
    let datagrams = flow(0, "size = \"1 MB\"\nrate = \"4 Mbps\"") + "\n[schemes.quinn]\napplication = \"datagrams\"\n";
    let out = plain(&dumbbell(1, DROP_TAIL, &datagrams));
    assert_eq!((out.summary("completed"), count(&out, "delivered_bytes")), (Some(1.0), vec![1_000_000]));
    let writes = "size = \"500 kB\"\nwrite = { kind = \"fixed\", size = \"100 kB\" }\ninterval = { kind = \"fixed\", time = \"2 s\" }";
    let out = plain(&dumbbell(1, DROP_TAIL, &flow(0, writes)));
    let fct = column(&out, "fct_s")[0];
    assert!((8.0..9.0).contains(&fct), "five writes, the last after 8 s: {fct}");
}

#[test]
fn it_ends_through_outages_restarts_loss_and_a_smaller_mtu() {
    let vary = "\n[[vary]]\nlink = [\"r0\", \"r1\"]\n";
    for (what, more) in [
        (
            "an outage",
            "\n[[fault]]\nkind = \"link-down\"\nat = \"2 s\"\nuntil = \"5 s\"\nlink = [\"r0\", \"r1\"]\n".to_owned(),
        ),
        ("a restart", "\n[[fault]]\nkind = \"restart\"\nat = \"2 s\"\nnode = \"r0\"\n".to_owned()),
        ("loss", format!("{vary}loss = {{ p = \"1 %\", r = \"60 %\" }}\n")),
        ("reordering", format!("{vary}jitter = {{ law = \"uniform\", max = \"20 ms\", reorder = true }}\n")),
    ] {
        let out = plain(&dumbbell(1, DROP_TAIL, &(flow(0, "size = \"3 MB\"") + &more)));
        assert_eq!(out.summary("completed"), Some(1.0), "{what}: {}", out.run["summary"]);
        assert_eq!(out.run["invariants"]["conserved"], true, "{what}");
    }
    let narrow = dumbbell(1, DROP_TAIL, &flow(0, "size = \"3 MB\""))
        .replace("delay = \"48 ms\"", "delay = \"48 ms\", mtu = 1400");
    let out = plain(&narrow);
    assert_eq!(out.summary("completed"), Some(1.0), "probes are dropped, data are not: {}", out.run["summary"]);
}

/// draft-ietf-quic-ack-frequency: the receiver acknowledges once more than the threshold has come. Bounds, fixed before
/// the first run: without the extension every second packet (RFC 9000, §13.2.2), with 10 every eleventh, each within a
/// sixth, for the handshake's and the last ones come sooner.
#[test]
fn acknowledgements_are_as_rare_as_the_extension_asks() {
    let per_ack = |threshold: u32| {
        // Nothing is lost: each packet that arrives out of order is acknowledged at once.
        let keys = format!("\n[schemes.quinn]\nack_frequency = {threshold}\n");
        let out = plain(&dumbbell(1, "limit = \"10 MB\"", &(flow(0, "size = \"5 MB\"") + &keys)));
        assert_eq!((out.summary("completed"), out.summary("lost_packets")), (Some(1.0), Some(0.0)));
        let ports = out.table("ports").expect("ports");
        let Some(Column::Str { dictionary, index }) = ports.column("node") else { panic!("nodes have names") };
        let from = |node: &str| index.iter().position(|i| dictionary[*i as usize] == node).expect("a port");
        let packets = ports.u64("packets");
        packets[from("s0")] as f64 / packets[from("d0")] as f64
    };
    let (every_second, every_eleventh) = (per_ack(0), per_ack(10));
    assert!((every_second - 2.0).abs() < 2.0 / 6.0, "{every_second}");
    assert!((every_eleventh - 11.0).abs() < 11.0 / 6.0, "{every_eleventh}");
}

/// A qlog is in the simulation's clock and the same again, and does not change what is sent.
#[test]
fn each_end_writes_its_qlog() {
    let pcap = "\n[[measure.pcap]]\nfrom = \"r0\"\nto = \"r1\"\npackets = 2000\n";
    let text = dumbbell(1, DROP_TAIL, &format!("{}{pcap}", flow(0, "size = \"1 MB\"")));
    let without = plain(&text);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("qlog-{}", std::process::id()));
    let logged = || {
        let out = plain(&format!("{text}\n[schemes.quinn]\nqlog = \"{}\"\n", folder.display()));
        assert!(out.files == without.files, "the log changes nothing");
        let files = std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("a file").path());
        let found: BTreeMap<_, _> = files.map(|file| (file.clone(), std::fs::read(file).expect("a log"))).collect();
        std::fs::remove_dir_all(&folder).expect("our own folder");
        found
    };
    let once = logged();
    assert!(once.len() == 2 && once == logged(), "{} files", once.len());
    let fct_ms = 1000.0 * column(&without, "fct_s")[0];
    for (file, bytes) in once {
        // RFC 7464: each text of JSON follows a record separator.
        let records = bytes.split(|byte| *byte == 0x1e).filter(|record| !record.is_empty());
        let records: Vec<Value> = records.map(|record| serde_json::from_slice(record).expect("JSON")).collect();
        let times: Vec<f64> = records.iter().filter_map(|record| record["time"].as_f64()).collect();
        assert!(times.len() > 700 && times.is_sorted(), "{}: {} events", file.display(), times.len());
        assert!(times[0] < 200.0 && *times.last().expect("events") > fct_ms - 1.0, "{times:?}");
        assert!(records.iter().any(|record| record["data"]["congestion_window"].is_number()), "{}", file.display());
    }
}
