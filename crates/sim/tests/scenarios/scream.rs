//! Calls under SCReAM: delays against closed forms, pauses, and the same bytes on any number of threads.
//!
//! RFC 8867's test cases are a suite: `evidence/properties/scream`.

use crate::common::reads::mean_after;
use crate::common::{refused, run_plain, same_with_threads_and_as_bytes};

/// A call over a link of 10 Mbps, 7 ms away.
fn call(params: &str, flow: &str, stop: &str, more: &str) -> String {
    format!(
        "scheme = \"scream\"\nstop = \"{stop}\"\n[topology]\nlinks = [{{ a = \"s\", b = \"d\", rate = \"10 Mbps\", delay = \"7 ms\" }}]\n\
         [schemes.scream]\n{params}\n{more}\n[[flow]]\nfrom = \"s\"\nto = \"d\"\n{flow}\n"
    )
}

/// 1 Mbps at 25 frames a second: five data units of 1,000 B, 1,028 B as packets. At its highest rate a call is paced at
/// 1.5 times 4 times that: 4/3 ms from one to the next. The first waits for nothing.
#[test]
fn delays_count_from_the_frame_and_are_pace_and_path() {
    let params = "min_rate = \"1 Mbps\"\nstart_rate = \"1 Mbps\"\nmax_rate = \"1 Mbps\"\nframes = 25\nframe_spread = 0";
    let out = run_plain(&call(params, "late_after = \"11 ms\"", "10 s", ""));
    let table = out.table("datagrams").expect("there are datagrams");
    let (path, pace) = (0.007 + 1028.0 * 8.0 / 10e6, 8000.0 / 6e6);
    for (column, delay) in
        [("delay_min_s", path), ("delay_mean_s", path + 2.0 * pace), ("delay_max_s", path + 4.0 * pace)]
    {
        let seen = table.f64(column)[0];
        assert!((seen - delay).abs() < 1e-9, "{column}: {seen} and not {delay}");
    }
    // Frames at 0, 40, …, 9,960 ms, of which the last two units are late: 7.82 ms and 4 ms or 5.3 ms.
    assert_eq!((table.u64("sent_packets")[0], table.u64("received_packets")[0]), (1250, 1250));
    assert_eq!((table.u64("late_packets")[0], table.u64("lost_packets")[0]), (500, 0));
    // RTP's header is no goodput.
    assert_eq!(out.table("flows").expect("flows").u64("delivered_bytes")[0], 1250 * 988);
}

/// The same with a picture every 40 ms of which a frame has at most 2,000 B, and a pause.
#[test]
fn a_picture_bounds_its_frame_and_without_pictures_nothing_is_sent() {
    let params = "min_rate = \"1 Mbps\"\nstart_rate = \"1 Mbps\"\nmax_rate = \"1 Mbps\"\nframe_spread = 0";
    let flow = "write = \"2 kB\"\ninterval = \"40 ms\"\non = \"2 s\"\noff = \"3 s\"";
    let out = run_plain(&call(params, flow, "7 s", ""));
    let table = out.table("datagrams").expect("there are datagrams");
    // From 0 s to 2 s and from 5 s to 7 s.
    assert_eq!(table.u64("received_packets")[0], 200);
    assert_eq!(out.table("flows").expect("flows").u64("delivered_bytes")[0], 200 * 988);
}

#[test]
fn a_call_of_so_many_bytes_ends() {
    let out = run_plain(&call("", "size = \"100 kB\"", "20 s", ""));
    let flows = out.table("flows").expect("flows");
    assert_eq!((flows.u64("delivered_bytes")[0], out.summary("completed")), (100_000, Some(1.0)));
}

/// Over DualPI2 beside Prague, and over a short queue beside CUBIC, with losses both ways and jitter: conserved, and the
/// same on one and three threads and as bytes.
#[test]
fn calls_are_the_same_on_any_number_of_threads() {
    for (ecn, beside, queue) in [("l4s", "prague", "kind = \"dualpi2\""), ("off", "cubic", "limit = \"15 kB\"")] {
        let text = format!(
            "scheme = \"scream\"\nstop = \"12 s\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 3\n\
             bottleneck = {{ rate = \"4 Mbps\", delay = \"15 ms\", corruption = \"1 %\" }}\n\
             access = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n[queue]\n{queue}\n[schemes.scream]\necn = \"{ecn}\"\n\
             reduce_jitter = true\ncompeting_flows = true\nloss_threshold = \"1 %\"\n[measure]\nseries = true\n\
             [[vary]]\nlink = [\"r0\", \"r1\"]\njitter = {{ law = \"uniform\", max = \"20 ms\", reorder = true }}\n\
             [[flow]]\nfrom = \"s0\"\nto = \"d0\"\n[[flow]]\nfrom = \"d1\"\nto = \"s1\"\nwrite = \"9 kB\"\ninterval = \"33 ms\"\n\
             on = \"3 s\"\noff = \"1 s\"\n[[flow]]\nfrom = \"s2\"\nto = \"d2\"\nscheme = \"{beside}\"\n"
        );
        let out = same_with_threads_and_as_bytes(&text, 3);
        let table = out.table("datagrams").expect("there are datagrams");
        for row in 0..2 {
            let of = |column: &str| table.u64(column)[row];
            let on_the_way = of("sent_packets") - of("received_packets") - of("lost_packets");
            // Reports are lost, too, and are no datagrams of the call.
            assert!(
                of("lost_packets") > 0 && of("received_packets") > 300 && on_the_way < 40,
                "{ecn}, {row}: {on_the_way}"
            );
        }
    }
}

/// A path that stops carrying anything: the sender goes on with a data unit in half a second, and comes back.
#[test]
fn a_call_survives_an_outage() {
    let more = "[measure]\nseries = true\ninterval = \"100 ms\"\n[[fault]]\nkind = \"link-down\"\nlink = [\"s\", \"d\"]\nat = \"10 s\"\nuntil = \"15 s\"";
    let out = run_plain(&call("max_rate = \"2 Mbps\"", "", "30 s", more));
    let mean = mean_after(&out, "flow:0", "goodput_bps", 25.0);
    assert!(mean > 1.0e6, "{mean:.0} bit/s ten seconds after the outage");
}

/// A call has no connection for messages: its encoder cuts what is written to its rate.
#[test]
fn a_client_cannot_reuse_a_call() {
    let client = "scheme = \"scream\"\nstop = \"5 s\"\n[topology]\ngenerate = \"dumbbell\"\npairs = 2\n\
        bottleneck = { rate = \"4 Mbps\", delay = \"15 ms\" }\naccess = { rate = \"100 Mbps\", delay = \"1 ms\" }\n\
        [[client]]\nfrom = [\"s0\"]\nto = [\"d0\"]\nrequests = 2\nconnections = \"reuse\"\n\
        request_sizes = { kind = \"fixed\", size = \"1 kB\" }\nreply_sizes = { kind = \"fixed\", size = \"90 kB\" }\n";
    let error = refused(client);
    assert!(
        error.contains("client[0].connections") && error.contains("`scream` has no connections to reuse"),
        "{error}"
    );
}
