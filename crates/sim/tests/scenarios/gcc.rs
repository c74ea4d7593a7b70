//! Calls under GCC: they find a capacity, come back from an outage, and are the same on any number of threads.
//!
//! RFC 8867's test cases are a suite of `midpath evaluate`.

use crate::common::reads::mean_after;
use crate::common::{run_plain, same_with_threads_and_as_bytes};

/// A call over a link 25 ms away, with a queue of 300 ms.
fn call(rate_mbps: f64, params: &str, more: &str) -> String {
    format!(
        "scheme = \"gcc\"\nstop = \"60 s\"\n[topology]\nlinks = [{{ a = \"s\", b = \"d\", rate = \"{rate_mbps} Mbps\", delay = \"25 ms\" }}]\n\
         [queue]\nlimit = \"300 ms\"\n[host_queue]\nlimit = \"300 ms\"\n[measure]\nseries = true\n[schemes.gcc]\n{params}\n{more}\n\
         [[flow]]\nfrom = \"s\"\nto = \"d\"\n"
    )
}

/// 8 % a second from 300 kbps on: within 30 s it fills a link of up to 3 Mbps, and keeps seven tenths of it (RFC 8867's
/// bound in `midpath evaluate`) with a wait of 60 ms on average.
#[test]
fn a_call_finds_the_capacity_without_filling_the_queue() {
    for rate in [0.6, 1.0, 3.0] {
        let out = run_plain(&call(rate, "", ""));
        let goodput = mean_after(&out, "flow:0", "goodput_bps", 35.0) / 1e6;
        assert!(goodput > 0.7 * rate && goodput < rate, "{goodput} of {rate} Mbps");
        let wait = mean_after(&out, "port:s>d", "queue_bytes", 35.0) * 8.0 / (rate * 1e6);
        assert!(wait < 0.06, "{wait} s at {rate} Mbps");
    }
}

/// The draft's filter is another: its rates are.
#[test]
fn the_draft_s_filter_is_another() {
    let of = |filter: &str| mean_after(&run_plain(&call(1.0, filter, "")), "flow:0", "goodput_bps", 10.0);
    assert!((of("filter = \"kalman\"") - of("")).abs() > 1000.0);
}

/// Probes without media are padding: no goodput, and no datagrams of the call.
#[test]
fn padding_counts_for_nothing() {
    let text = call(10.0, "", "").replace("to = \"d\"", "to = \"d\"\nsize = \"100 kB\"");
    let out = run_plain(&text);
    let flows = out.table("flows").expect("flows");
    assert_eq!((flows.u64("delivered_bytes")[0], out.summary("completed")), (100_000, Some(1.0)));
    let table = out.table("datagrams").expect("there are datagrams");
    let (sent, received) = (table.u64("sent_packets")[0], table.u64("received_packets")[0]);
    // 84 full data units of 1,188 B of media carry them; frames end in smaller ones.
    assert!(sent == received && (85..200).contains(&sent), "{sent} and {received}");
    // Three and six times 300 kbps and twice that have found more than growth alone does in the second that this takes.
    let probed =
        |probing: &str| run_plain(&text.replace("[schemes.gcc]", &format!("[schemes.gcc]\nprobing = {probing}")));
    let took = |out: &midpath_sim::RunOutput| out.table("flows").expect("flows").f64("fct_s")[0];
    assert!(took(&probed("true")) < 0.6 * took(&probed("false")));
}

#[test]
fn a_call_survives_an_outage() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlink = [\"s\", \"d\"]\nat = \"20 s\"\nuntil = \"25 s\"";
    let out = run_plain(&call(2.0, "", fault));
    let mean = mean_after(&out, "flow:0", "goodput_bps", 50.0);
    assert!(mean > 1.0e6, "{mean:.0} bit/s half a minute after the outage");
}

/// Beside CUBIC over a short queue, with losses both ways, jitter and pauses.
#[test]
fn calls_are_the_same_on_any_number_of_threads() {
    for filter in ["trendline", "kalman"] {
        let text = format!(
            "scheme = \"gcc\"\nstop = \"12 s\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 3\n\
             bottleneck = {{ rate = \"4 Mbps\", delay = \"15 ms\", corruption = \"1 %\" }}\n\
             access = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n[queue]\nlimit = \"15 kB\"\n[schemes.gcc]\nfilter = \"{filter}\"\n\
             [measure]\nseries = true\n\
             [[vary]]\nlink = [\"r0\", \"r1\"]\njitter = {{ law = \"uniform\", max = \"20 ms\", reorder = true }}\n\
             [[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[[flow]]\nfrom = \"d1\"\nto = \"s1\"\nwrite = \"9 kB\"\ninterval = \"33 ms\"\n\
             on = \"3 s\"\noff = \"1 s\"\n[[flow]]\nfrom = \"s2\"\nto = \"d2\"\nscheme = \"cubic\"\n"
        );
        let out = same_with_threads_and_as_bytes(&text, 3);
        let table = out.table("datagrams").expect("there are datagrams");
        for row in 0..2 {
            let of = |column: &str| table.u64(column)[row];
            assert!(of("lost_packets") > 0 && of("received_packets") > 300, "{filter}, {row}");
        }
    }
}
