//! The smallest stack: messages of 1,000 bytes, 20 in flight, repeated where no acknowledgement comes within 300 ms.
//! `docs/stacks.md` leads through it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use midpath_core::packet::Ecn;
use midpath_schemes::Catalogue;
use midpath_sim::RunOptions;
use midpath_stack::{Burst, EndSpec, Figures, Stack, StackConfig, StackParams, Work, build, run};

const AGAIN: Duration = Duration::from_millis(300);

#[derive(Default)]
struct MyStack {
    total: u64,
    next: u64,
    sent: BTreeMap<u64, Duration>, // when each message in flight was sent last
    got: std::collections::BTreeSet<u64>,
    acks: Vec<u64>,
    again: u64,
    opens: bool,
}

impl Stack for MyStack {
    fn receive(&mut self, _at: Duration, datagram: &[u8], _ecn: Ecn) {
        let number = u64::from_be_bytes(datagram[..8].try_into().unwrap());
        if self.opens {
            self.sent.remove(&number);
        } else {
            self.total = u64::from_be_bytes(datagram[8..16].try_into().unwrap());
            self.got.insert(number);
            self.acks.push(number);
        }
    }
    fn timeout(&mut self, _at: Duration) {}
    fn serve(&mut self, _at: Duration, work: &mut Work) {
        let app = work.of(0);
        if self.opens {
            self.total = app.given / 1000;
        }
        app.delivered = self.got.len() as u64 * 1000;
        app.complete = !self.opens && self.got.len() as u64 == self.total;
        app.acknowledged = self.opens && self.next == self.total && self.sent.is_empty();
        app.over = app.acknowledged;
    }
    fn transmit(&mut self, at: Duration, out: &mut Vec<u8>) -> Option<Burst> {
        let burst = Burst { ecn: Ecn::NotEct, segment: None };
        if let Some(number) = self.acks.pop() {
            out.extend(number.to_be_bytes());
            return Some(burst);
        }
        let late = self.sent.iter().find(|(_, sent)| **sent + AGAIN <= at).map(|(number, _)| *number);
        let number = late.or((self.opens && self.sent.len() < 20 && self.next < self.total).then_some(self.next))?;
        self.again += u64::from(late.is_some());
        self.next = self.next.max(number + 1);
        self.sent.insert(number, at);
        out.extend([number.to_be_bytes(), self.total.to_be_bytes()].concat());
        out.resize(1016, 0);
        Some(burst)
    }
    fn wake(&mut self) -> Option<Duration> {
        self.sent.values().min().map(|sent| *sent + AGAIN)
    }
    fn figures(&self) -> Figures {
        Figures { lost: self.again, ..Figures::default() }
    }
}

struct Config;

impl StackConfig for Config {
    fn open(&self, _end: &EndSpec) -> Box<dyn Stack> {
        Box::new(MyStack { opens: true, ..MyStack::default() })
    }
    fn accept(&self, _end: &EndSpec) -> Box<dyn Stack> {
        Box::new(MyStack::default())
    }
}

fn main() {
    let catalogue = Catalogue::standard().with("mine", |_| build("mine", StackParams::default(), Config));
    let text = std::fs::read_to_string("scenario.toml").unwrap();
    match run(&text, Path::new("."), &RunOptions::default(), &catalogue) {
        Ok(out) => {
            let flows = out.table("flows").unwrap();
            for (i, fct) in flows.f64("fct_s").iter().enumerate() {
                println!("flow {i}: {fct:.3} s, {} sent again", flows.u64("retransmitted_packets")[i]);
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
