//! What a stack is held to: scenarios with a bound from an RFC each.

use std::fmt::Write as _;
use std::path::Path;

use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput};
use midpath_stack::run;

/// A scenario and its bound.
pub struct Case {
    pub name: &'static str,
    /// Where the bound comes from.
    pub source: &'static str,
    rate_mbps: f64,
    /// One way, of the whole path.
    delay_us: u64,
    queue: &'static str,
    /// In place of one path through two routers.
    links: &'static str,
    flow: &'static str,
    more: &'static str,
    /// Our TCPs and Linux's are asked for ECN, which they do not have by themselves.
    ecn: bool,
    /// Says what was measured, and whether that is within the bound; `None` where the stack lacks what is tested.
    judge: fn(&Seen) -> Option<(bool, String)>,
}

/// What a run has shown.
struct Seen {
    /// Infinite if the flow has not ended.
    fct_s: f64,
    sent: f64,
    again: f64,
    marked: u64,
    lost: f64,
}

fn seen(out: &RunOutput) -> Seen {
    let flows = out.table("flows").expect("flows");
    let fct = flows.f64("fct_s")[0];
    Seen {
        fct_s: if fct.is_finite() { fct } else { f64::INFINITY },
        sent: flows.u64("sent_packets")[0] as f64,
        again: flows.u64("retransmitted_packets")[0] as f64,
        marked: flows.u64("marked_packets")[0],
        lost: out.summary("lost_packets").unwrap_or(0.0),
    }
}

/// The completion time between two bounds.
fn within(seen: &Seen, least: f64, most: f64) -> Option<(bool, String)> {
    let good = (least..=most).contains(&seen.fct_s);
    Some((good, format!("{:.3} s, from {least} s to {most} s", seen.fct_s)))
}

const PLAIN: Case = Case {
    name: "",
    source: "",
    rate_mbps: 10.0,
    delay_us: 20_000,
    queue: "limit = \"50 kB\"",
    links: "",
    flow: "size = \"2 MB\"",
    more: "",
    ecn: false,
    judge: |_| None,
};

/// A path of 40 ms, which fails at 0.8 s, and one of 120 ms, found 50 ms later. Of both 10 Mbps.
macro_rules! two_paths {
    ($mtu:literal) => {
        concat!(
            "[topology]\nlinks = [\n",
            "{ a = \"s0\", b = \"r0\", rate = \"100 Mbps\", delay = \"2 ms\" },\n",
            "{ a = \"r0\", b = \"r1\", rate = \"10 Mbps\", delay = \"16 ms\" },\n",
            "{ a = \"r0\", b = \"r2\", rate = \"10 Mbps\", delay = \"28 ms\", mtu = ",
            $mtu,
            " },\n{ a = \"r2\", b = \"r1\", rate = \"10 Mbps\", delay = \"28 ms\", mtu = ",
            $mtu,
            " },\n{ a = \"r1\", b = \"d0\", rate = \"100 Mbps\", delay = \"2 ms\" },\n]\n",
            "[routing]\nreconverge = \"50 ms\"\n",
        )
    };
}
const FAILS: &str = "[[fault]]\nkind = \"link-down\"\nat = \"800 ms\"\nlink = [\"r0\", \"r1\"]\n";

/// 2 MB at 10 Mbps take 1.6 s, with headers 1.7 s.
pub static CASES: [Case; 18] = [
    Case {
        name: "slow-start",
        source: "RFC 9002, §7.2; RFC 6928: 14,720 bytes, then twice as many per round trip",
        rate_mbps: 1000.0,
        delay_us: 50_000,
        queue: "limit = \"10 MB\"",
        flow: "size = \"100 kB\"",
        // One round trip to open, windows of 14,720, 29,440 and 58,880 bytes, half a round trip for the last.
        judge: |seen| within(seen, 0.35, 0.65),
        ..PLAIN
    },
    Case {
        name: "fills",
        source: "RFC 9002, §7.3.3; RFC 9438: a queue of a bandwidth-delay product keeps the link busy",
        judge: |seen| within(seen, 1.6, 2.4),
        ..PLAIN
    },
    Case {
        name: "ce",
        source: "RFC 9000, §13.4; RFC 3168: what is marked is not lost, and is answered",
        queue: "kind = \"codel\"\nlimit = \"1 MB\"",
        ecn: true,
        judge: |seen| {
            let said = format!("{} marked, {} lost, {:.2} s", seen.marked, seen.lost, seen.fct_s);
            (seen.marked > 0).then_some((seen.lost == 0.0 && seen.fct_s < 3.2, said))
        },
        ..PLAIN
    },
    Case {
        name: "reordering",
        source: "RFC 9002, §6.1.2: a packet is lost 9/8 round trips after it was sent, not before",
        more: "[[vary]]\nlink = [\"r0\", \"r1\"]\njitter = { law = \"uniform\", max = \"4 ms\", reorder = true }\n",
        judge: |seen| {
            let share = seen.again / seen.sent;
            Some((share < 0.1 && seen.fct_s < 4.8, format!("{share:.3} sent again, {:.2} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "outage",
        source: "RFC 9002, §6.2.1; RFC 6298, (5.5): timeouts double, so 4 s without a path cost at most 8 s and one timeout",
        more: "[[fault]]\nkind = \"link-down\"\nat = \"800 ms\"\nuntil = \"4800 ms\"\nlink = [\"r0\", \"r1\"]\n",
        judge: |seen| within(seen, 5.6, 12.0),
        ..PLAIN
    },
    Case {
        name: "burst-loss",
        source: "RFC 9002, §6.2; RFC 8985: a window that is lost whole is found by a probe",
        more: "[[fault]]\nkind = \"link-down\"\nat = \"800 ms\"\nuntil = \"900 ms\"\nlink = [\"r0\", \"r1\"]\n",
        judge: |seen| within(seen, 1.7, 4.0),
        ..PLAIN
    },
    Case {
        name: "random-loss",
        source: "RFC 9002, §7.3.2: 1 % loss leaves Mathis' window, 1.22 / sqrt(p) packets: 3.6 Mbps here",
        more: "[[vary]]\nlink = [\"r0\", \"r1\"]\nloss = { p = \"1 %\", r = \"99 %\" }\n",
        judge: |seen| within(seen, 1.6, 9.0),
        ..PLAIN
    },
    Case {
        name: "rate-down",
        source: "RFC 9002, §7: a tenth of the rate is found by losses, not by losing on",
        flow: "size = \"3 MB\"",
        more: "[[vary]]\nlink = [\"r0\", \"r1\"]\nsteps = [{ at = \"1 s\", rate = \"1 Mbps\" }]\n",
        judge: |seen| {
            let share = seen.lost / seen.sent;
            Some((share < 0.1 && seen.fct_s < 30.0, format!("{share:.3} lost, {:.1} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "rtt-1.2s",
        source: "RFC 9002, §6.2.2: the first timeout, about 1 s, is adapted: few packets are sent again in vain",
        delay_us: 600_000,
        queue: "limit = \"1500 kB\"",
        flow: "size = \"1 MB\"",
        judge: |seen| {
            let share = seen.again / seen.sent;
            Some((share < 0.05 && seen.fct_s < 20.0, format!("{share:.3} sent again, {:.1} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "rtt-20us",
        source: "RFC 9002, §6.2.1: acknowledgements' delay does not stop a flow of a data centre",
        rate_mbps: 10_000.0,
        delay_us: 10,
        queue: "limit = \"200 kB\"",
        flow: "size = \"20 MB\"",
        judge: |seen| within(seen, 0.016, 0.5),
        ..PLAIN
    },
    Case {
        name: "bdp-below-a-packet",
        source: "RFC 9002, §7.2: the least window is two packets, and they wait",
        rate_mbps: 1.0,
        delay_us: 500,
        queue: "limit = \"6 kB\"",
        flow: "size = \"500 kB\"",
        judge: |seen| within(seen, 4.0, 8.0),
        ..PLAIN
    },
    Case {
        name: "idle",
        source: "RFC 9002, §7.8; RFC 5681, §4.1: after 2 s of silence no burst above the initial window, or paced: \
                 60 kB never overflow 30 kB",
        queue: "limit = \"30 kB\"",
        flow: "size = \"600 kB\"\nwrite = \"60 kB\"\ninterval = \"2 s\"",
        judge: |seen| {
            let share = seen.lost / seen.sent;
            Some((share < 0.01 && seen.fct_s < 20.5, format!("{share:.3} lost, {:.1} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "ecn-bleached",
        source: "RFC 9000, §13.4.2: a path that clears ECN is found, and losses are congestion's signal again",
        queue: "kind = \"codel\"\nlimit = \"1 MB\"",
        ecn: true,
        more: "[[vary]]\nlink = [\"s0\", \"r0\"]\none_way = true\necn = { bleach = \"100 %\" }\n",
        judge: |seen| within(seen, 1.6, 3.2),
        ..PLAIN
    },
    Case {
        name: "path-change",
        source: "RFC 9002, §5.3, §6.2: another path of three times the round trip costs the window of 50 ms, a few \
                 probes and half the window",
        links: two_paths!("1500"),
        more: FAILS,
        judge: |seen| {
            let share = seen.again / seen.sent;
            Some((share < 0.12 && seen.fct_s < 6.0, format!("{share:.3} sent again, {:.2} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "mtu-down",
        source: "RFC 8899, §4.3: a path that became too narrow, and says nothing, is found by losses of full packets; \
                 six timeouts that double from 0.2 s are 12.6 s",
        links: two_paths!("1280"),
        more: FAILS,
        judge: |seen| within(seen, 1.6, 20.0),
        ..PLAIN
    },
    Case {
        name: "ack-thinning",
        source: "RFC 9000, §13.2.3; RFC 3449, §3: three of four ACKs are lost, and the next says what they said",
        more: "[[vary]]\nlink = [\"r1\", \"r0\"]\none_way = true\nack_thinning = 4\n",
        judge: |seen| {
            let share = seen.again / seen.sent;
            Some((share < 0.05 && seen.fct_s < 3.2, format!("{share:.3} sent again, {:.2} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "rtt-spikes",
        source: "RFC 9002, §6.2; RFC 5682: 200 ms more for 300 ms, twice: a timeout that was none sends little again",
        more: "[[vary]]\nlink = [\"r0\", \"r1\"]\nsteps = [{ at = \"600 ms\", delay = \"116 ms\" }, \
               { at = \"900 ms\", delay = \"16 ms\" }, { at = \"1300 ms\", delay = \"116 ms\" }, \
               { at = \"1600 ms\", delay = \"16 ms\" }]\n",
        judge: |seen| {
            let share = seen.again / seen.sent;
            Some((share < 0.1 && seen.fct_s < 4.0, format!("{share:.3} sent again, {:.2} s", seen.fct_s)))
        },
        ..PLAIN
    },
    Case {
        name: "rate-up",
        source: "RFC 5681, §3.1: from half of 75 kB a packet more per round trip of 0.2 s: 10 MB in 19 s, and 2 s before",
        delay_us: 100_000,
        flow: "size = \"10 MB\"",
        more: "[[vary]]\nlink = [\"r0\", \"r1\"]\nsteps = [{ at = \"1 ms\", rate = \"1 Mbps\" }, \
               { at = \"2 s\", rate = \"10 Mbps\" }]\n",
        judge: |seen| within(seen, 9.0, 25.0),
        ..PLAIN
    },
];

impl Case {
    /// The scenario for a scheme: a file to keep, and to run alone.
    pub fn scenario(&self, scheme: &str) -> String {
        let Case { rate_mbps, delay_us, queue, links, flow, more, .. } = self;
        let asks = self.ecn && matches!(scheme, "newreno" | "cubic" | "bbr");
        let tcp = if asks { format!("[schemes.{scheme}]\necn = true\n") } else { String::new() };
        let bottleneck = delay_us * 8 / 10;
        let access = (delay_us - bottleneck) / 2;
        let fast = rate_mbps * 10.0;
        let dumbbell = format!(
            r#"[topology]
generate = "dumbbell"
pairs = 1
bottleneck = {{ rate = "{rate_mbps} Mbps", delay = "{bottleneck} us" }}
access = {{ rate = "{fast} Mbps", delay = "{access} us" }}
"#
        );
        let network = if links.is_empty() { dumbbell } else { (*links).to_owned() };
        format!(
            r#"scheme = "{scheme}"
stop = "60 s"
{network}[queue]
{queue}
[host_queue]
limit = "100 MB"
[[flow]]
from = "s0"
to = "d0"
{flow}
{more}{tcp}"#
        )
    }

    /// Runs it: whether the bound is kept, and what was measured. `None`: nothing to test. Of our schemes quinn's write
    /// qlogs.
    fn run(&self, scheme: &str, catalogue: &Catalogue, qlog: Option<&Path>) -> Option<(bool, String)> {
        let mut text = self.scenario(scheme);
        if let Some(folder) = qlog.filter(|_| scheme.starts_with("quinn")) {
            let _ = writeln!(text, "\n[schemes.{scheme}]\nqlog = {:?}", folder.join(scheme).join(self.name));
        }
        match run(&text, Path::new("."), &RunOptions::default(), catalogue) {
            Ok(out) => (self.judge)(&seen(&out)),
            Err(error) => Some((false, error.to_string())),
        }
    }
}

/// A case of a scheme, and what came out: nothing where there is nothing to test.
pub struct Verdict<'a> {
    scheme: &'a str,
    case: &'static Case,
    found: Option<(bool, String)>,
}

impl Verdict<'_> {
    /// Whether the bound is kept.
    pub fn is_good(&self) -> bool {
        self.found.as_ref().is_none_or(|found| found.0)
    }
}

/// Runs all cases for each scheme; qlogs go to `FOLDER/SCHEME/CASE`.
pub fn judge<'a>(schemes: &'a [String], catalogue: &Catalogue, qlog: Option<&Path>) -> Vec<Verdict<'a>> {
    let cases = schemes.iter().flat_map(|scheme| CASES.iter().map(move |case| (scheme, case)));
    cases.map(|(scheme, case)| Verdict { scheme, case, found: case.run(scheme, catalogue, qlog) }).collect()
}

/// The same of what others have measured, in lines of scheme, case, completion time in s, and packets: sent, sent again,
/// marked, lost.
pub fn judge_measured(lines: &str) -> Option<Vec<Verdict<'_>>> {
    let one = |line| {
        let [scheme, case, fct, sent, again, marked, lost] = str::split_whitespace(line).collect::<Vec<_>>()[..] else {
            return None;
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let seen = Seen {
            fct_s: number(fct)?,
            sent: number(sent)?,
            again: number(again)?,
            marked: marked.parse().ok()?,
            lost: number(lost)?,
        };
        let case = CASES.iter().find(|one| one.name == case)?;
        Some(Verdict { scheme, case, found: (case.judge)(&seen) })
    };
    lines.lines().map(one).collect()
}

/// As TAP (version 13).
pub fn tap(all: &[Verdict<'_>]) -> String {
    let mut out = format!("TAP version 13\n1..{}\n", all.len());
    for (number, one) in (1..).zip(all) {
        let said = one.found.as_ref().map_or("# SKIP it has no ECN", |found| &found.1);
        let verdict = if one.is_good() { "ok" } else { "not ok" };
        let _ = writeln!(out, "{verdict} {number} - {} {}: {said}", one.scheme, one.case.name);
        if !one.is_good() {
            let _ = writeln!(out, "  ---\n  source: \"{}\"\n  ...", one.case.source);
        }
    }
    out
}

/// As JUnit's XML, for what shows tests of other languages: a suite for each scheme.
pub fn junit(all: &[Verdict<'_>]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    for suite in all.chunk_by(|one, next| one.scheme == next.scheme) {
        let failures = suite.iter().filter(|one| !one.is_good()).count();
        let skipped = suite.iter().filter(|one| one.found.is_none()).count();
        let (tests, scheme) = (suite.len(), quoted(suite[0].scheme));
        let _ = writeln!(
            out,
            "<testsuite name=\"{scheme}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\">"
        );
        for one in suite {
            let _ = write!(out, "<testcase classname=\"{scheme}\" name=\"{}\">", quoted(one.case.name));
            let _ = match &one.found {
                None => write!(out, "<skipped message=\"it has no ECN\"/>"),
                Some((true, said)) => write!(out, "<system-out>{}</system-out>", quoted(said)),
                Some((false, said)) => {
                    write!(out, "<failure message=\"{}\">{}</failure>", quoted(said), quoted(one.case.source))
                }
            };
            out.push_str("</testcase>\n");
        }
        out.push_str("</testsuite>\n");
    }
    out + "</testsuites>\n"
}

/// As text and attributes of XML have it.
fn quoted(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
