//! A consumer that fetches an object in segments: no I/O, no clock.
//!
//! The first Interest asks for any Data under a name, and these Data give the object's name. Segments arrive in any
//! order and are delivered in order. The consumer bounds the number of pending Interests; the local forwarder paces
//! them.

use std::collections::{BTreeMap, BTreeSet};

use midpath_core::rng::{Purpose, Stream, below, stream};
use midpath_core::units::Time;
use midpath_ndn::link::reason;
use midpath_ndn::name::NAME;
use midpath_ndn::tlv::{Error, Reader};
use midpath_ndn::{DataView, Frame, Interest, Name, NameView, View};

use crate::name::{self, SEGMENT};
use crate::trust::Trust;

/// How long an Interest is pending, and when it is sent again.
const LIFETIME: Time = Time::from_ms(4000);
/// An Interest is sent so often, and then the object counts as lost. Ours.
const TRIES: u32 = 5;
/// Interests are asked for so long ahead: what the forwarder beside this consumer holds for longer is
/// over before it is sent. Ours: less than half of a lifetime.
const AHEAD: Time = Time::from_ms(1500);
/// Before it is known how fast Data come, so many. Ours: 256 kB.
const FIRST: u64 = 32;
/// How often that is measured. Ours.
const MEASURED: Time = Time::from_ms(500);
/// After a refusal an Interest is sent again after this: a producer may just have come. Ours.
const AGAIN: Time = Time::from_ms(500);

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is more to come.
    Fetching,
    /// All was handed out, or can be.
    Done,
    /// It cannot be had: why.
    Failed(String),
}

/// What an Interest asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// What the object is called.
    Object,
    /// A segment.
    Segment(u64),
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    again_at: Time,
    tries: u32,
}

/// The consumer.
#[derive(Debug)]
pub struct Consumer {
    name: Vec<u8>,
    /// The object's name, without the segment.
    object: Option<Vec<u8>>,
    /// How many Interests may be under way, and how many are now: what comes in [`AHEAD`].
    window: u64,
    room: u64,
    /// Data since then.
    came: u64,
    since: Time,
    /// The next segment to ask for, the next one to hand out, and the last one if it is known.
    next: u64,
    wanted: u64,
    last: Option<u64>,
    asked: BTreeMap<What, Asked>,
    due: BTreeSet<(Time, What)>,
    ready: BTreeMap<u64, Vec<u8>>,
    out: Vec<u8>,
    sends: Vec<Vec<u8>>,
    random: Stream,
    state: State,
    trust: Trust,
    /// Segments whose signature needs a key, and was not looked at.
    pub unverified: u64,
    /// Interests that were sent again.
    pub again: u64,
}

impl Consumer {
    /// Fetches what is below a name, with at most so many Interests under way.
    pub fn new(name: &[u8], window: u64, seed: u64, now: Time) -> Consumer {
        let mut consumer = Consumer {
            name: name.to_vec(),
            object: None,
            window: window.max(1),
            room: FIRST.min(window.max(1)),
            came: 0,
            since: now,
            next: 0,
            wanted: 0,
            last: None,
            asked: BTreeMap::new(),
            due: BTreeSet::new(),
            ready: BTreeMap::new(),
            out: Vec::new(),
            sends: Vec::new(),
            random: stream(seed, Purpose::Endpoints, 0),
            state: State::Fetching,
            trust: Trust::Anybody,
            unverified: 0,
            again: 0,
        };
        consumer.ask(now, What::Object, 0);
        consumer
    }

    /// Takes Data alone whose signatures these are.
    #[must_use]
    pub fn trusting(self, trust: Trust) -> Consumer {
        Consumer { trust, ..self }
    }

    /// How far it is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Interests to send.
    pub fn sends(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sends)
    }

    /// The bytes of the object that follow those taken before.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// When an Interest is to be sent again.
    pub fn next_wake(&self) -> Time {
        self.due.first().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Called when that time has come.
    pub fn on_time(&mut self, now: Time) {
        while let Some((at, what)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, what));
            let tries = self.asked.get(&what).map_or(0, |asked| asked.tries);
            if tries >= TRIES {
                return self.fail(format!("{} was requested {TRIES} times", self.show(what)));
            }
            self.again += 1;
            self.ask(now, what, tries);
        }
    }

    fn show(&self, what: What) -> String {
        match what {
            What::Object => name::show(&self.name),
            What::Segment(number) => format!("segment {number} of {}", name::show(&self.name)),
        }
    }

    fn fail(&mut self, why: String) {
        self.state = State::Failed(why);
        self.due.clear();
    }

    /// Sends an Interest.
    fn ask(&mut self, now: Time, what: What, tries: u32) {
        let mut name = match (what, &self.object) {
            (What::Segment(_), Some(object)) => object.clone(),
            _ => self.name.clone(),
        };
        if let What::Segment(number) = what {
            name::push_number(&mut name, SEGMENT, number);
        }
        let object = what == What::Object;
        let interest = Interest {
            name: Name::get(&name).unwrap_or_default(),
            can_be_prefix: object,
            must_be_fresh: object,
            nonce: Some(below(&mut self.random, 1 << 32) as u32),
            lifetime: Some(LIFETIME.as_ns() / 1_000_000),
            hop_limit: None,
        };
        let mut wire = Vec::new();
        interest.put(&mut wire);
        self.sends.push(wire);
        self.schedule(what, now.saturating_add(LIFETIME), tries + 1);
    }

    fn schedule(&mut self, what: What, again_at: Time, tries: u32) {
        if let Some(before) = self.asked.insert(what, Asked { again_at, tries }) {
            self.due.remove(&(before.again_at, what));
        }
        self.due.insert((again_at, what));
    }

    /// Called with a frame that the forwarder sent.
    pub fn receive(&mut self, now: Time, frame: &[u8]) -> Result<(), Error> {
        let frame = Frame::of(frame)?;
        let Some(packet) = frame.packet else { return Ok(()) };
        match (View::of(packet)?, frame.header.nack) {
            (View::Data(data), None) => self.on_data(now, &data),
            (View::Interest(interest), Some(why)) => self.on_nack(now, interest.name.bytes(), why),
            _ => {}
        }
        Ok(())
    }

    /// What of what was asked for a name is.
    fn what(&self, name: &[u8]) -> Option<What> {
        let name = name::view(name);
        let segment = name.last().filter(|last| last.kind == SEGMENT).and_then(|last| last.number().ok());
        let known = self.object.as_deref() == Some(name.parent().bytes());
        match segment {
            Some(number) if known => Some(What::Segment(number)),
            _ => (self.object.is_none() && name.bytes().starts_with(&self.name)).then_some(What::Object),
        }
    }

    fn on_nack(&mut self, now: Time, name: &[u8], why: u64) {
        let Some(what) = self.what(name) else { return };
        let Some(tries) = self.asked.get(&what).map(|asked| asked.tries) else { return };
        if tries >= TRIES {
            let said = if why == reason::NO_ROUTE { "no route" } else { "refused" };
            return self.fail(format!("{}: {said}", self.show(what)));
        }
        self.schedule(what, now.saturating_add(AGAIN), tries);
    }

    fn on_data(&mut self, now: Time, data: &DataView<'_>) {
        let Some(what) = self.what(data.name.bytes()) else { return };
        let Some(asked) = self.asked.get(&what).copied() else { return };
        match self.trust.verify(data) {
            // Somebody has changed it: asked for again when its time is over.
            Some(false) => return,
            Some(true) => {}
            None => self.unverified += 1,
        }
        self.measure(now);
        self.asked.remove(&what);
        self.due.remove(&(asked.again_at, what));
        if let Some(last) = data.final_block.filter(|last| last.kind == SEGMENT) {
            self.last = last.number().ok();
        }
        let content = data.content.unwrap_or_default();
        match what {
            What::Object => self.begin(data, content),
            What::Segment(number) => {
                self.keep(number, content);
            }
        }
        self.fill(now);
    }

    /// How many Interests are under way follows how fast Data come.
    fn measure(&mut self, now: Time) {
        self.came += 1;
        let took = now.saturating_sub(self.since);
        if took >= MEASURED {
            let ahead = self.came as f64 * AHEAD.as_secs_f64() / took.as_secs_f64();
            self.room = (ahead as u64).clamp(FIRST.min(self.window), self.window);
            (self.came, self.since) = (0, now);
        }
    }

    /// The first Data: what the object is called.
    fn begin(&mut self, data: &DataView<'_>, content: &[u8]) {
        let below = name::view(&data.name.bytes()[self.name.len()..]).components().next();
        if below.is_some_and(name::is_metadata) {
            return self.follow(content);
        }
        let segment = data.name.last().filter(|last| last.kind == SEGMENT).and_then(|last| last.number().ok());
        match segment {
            Some(number) => {
                self.object = Some(data.name.parent().bytes().to_vec());
                self.keep(number, content);
            }
            None => {
                self.out.extend_from_slice(content);
                self.state = State::Done;
            }
        }
    }

    /// Metadata: their content begins with the name of the object's newest version, whose segments are below it.
    fn follow(&mut self, content: &[u8]) {
        let first = Reader::new(content).element().ok().flatten().filter(|first| first.kind == NAME);
        let named = first.and_then(|first| NameView::of(first.value).ok());
        match named.filter(|named| named.bytes().starts_with(&self.name) && named.bytes() != self.name) {
            Some(object) => (self.object, self.last) = (Some(object.bytes().to_vec()), None),
            None => self.fail(format!("{}: its metadata name no object under this name", name::show(&self.name))),
        }
    }

    /// A segment waits until those before it are there.
    fn keep(&mut self, number: u64, content: &[u8]) {
        if number >= self.wanted && number < self.wanted.saturating_add(self.window) {
            self.ready.insert(number, content.to_vec());
        }
        while let Some(content) = self.ready.remove(&self.wanted) {
            self.out.extend_from_slice(&content);
            self.wanted += 1;
        }
        if self.last.is_some_and(|last| self.wanted > last) {
            self.state = State::Done;
            self.due.clear();
        }
    }

    /// Asks for what comes next, within the window.
    fn fill(&mut self, now: Time) {
        while self.state == State::Fetching
            && self.next < self.wanted.saturating_add(self.window)
            && (self.asked.len() as u64) < self.room
            && self.last.is_none_or(|last| self.next <= last)
        {
            let number = self.next;
            self.next += 1;
            if number >= self.wanted && !self.ready.contains_key(&number) {
                self.ask(now, What::Segment(number), 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midpath_core::rng::unit;
    use midpath_ndn::Header;
    use proptest::prelude::*;

    use crate::management::digest_data;
    use crate::name::of;
    use crate::testing::interest;

    /// The Data of a producer that has `/a/v=1` in segments.
    fn produce(wire: &[u8], content: &[u8], size: usize) -> Option<Vec<u8>> {
        let asked = interest(wire);
        let mut object = of(&["a"]);
        name::push_number(&mut object, name::VERSION, 1);
        let count = content.len().div_ceil(size).max(1) as u64;
        let number = match asked.name.last().filter(|last| last.kind == SEGMENT) {
            Some(last) if asked.name.parent().bytes() == object => last.number().ok()?,
            None if object.starts_with(asked.name.bytes()) && asked.can_be_prefix => 0,
            _ => return None,
        };
        let (mut name, mut last) = (object, Vec::new());
        name::push_number(&mut name, SEGMENT, number);
        name::push_number(&mut last, SEGMENT, count - 1);
        let part = content.chunks(size).nth(number as usize).or((count == 1).then_some(&[]))?;
        Some(digest_data(&name, Some(&last), part))
    }

    proptest! {
        /// Whatever is lost, comes late, comes twice or is changed on the way: what is handed out is the
        /// object, and no more than the window is ever asked for at once.
        #[test]
        fn an_object_comes_whole(length in 0usize..3000, window in 1u64..20, loss in 0.0..0.3f64, seed: u64) {
            let content: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut random = stream(seed, Purpose::Endpoints, 9);
            let mut consumer = Consumer::new(&of(&["a"]), window, seed, Time::ZERO);
            let (mut now, mut got, mut wires) = (Time::ZERO, Vec::new(), Vec::new());
            for _ in 0..10_000 {
                wires.extend(consumer.sends().iter().filter_map(|wire| produce(wire, &content, 100)));
                prop_assert!(consumer.asked.len() as u64 <= window.max(1));
                if wires.is_empty() {
                    now = now.max(consumer.next_wake());
                    if *consumer.state() != State::Fetching {
                        break;
                    }
                    consumer.on_time(now);
                    continue;
                }
                now = now.saturating_add(Time::from_ms(1));
                let mut wire = wires.swap_remove(below(&mut random, wires.len() as u64) as usize);
                if unit(&mut random) < 0.1 {
                    wires.push(wire.clone());
                }
                if unit(&mut random) < loss {
                    continue;
                }
                if unit(&mut random) < 0.05 {
                    let place = wire.len() - 40;
                    wire[place] ^= 1;
                }
                let _ = consumer.receive(now, &wire);
                got.extend(consumer.take());
            }
            match consumer.state() {
                State::Done => prop_assert_eq!(got, content),
                // Five losses in a row.
                State::Failed(why) => prop_assert!(loss > 0.0 && why.contains("5 times"), "{}", why),
                State::Fetching => prop_assert!(false, "it does not end"),
            }
        }
    }

    #[test]
    fn what_nothing_leads_to_is_asked_for_a_few_times() {
        let mut consumer = Consumer::new(&of(&["a"]), 8, 1, Time::ZERO);
        let mut now = Time::ZERO;
        let mut sent = 0;
        while *consumer.state() == State::Fetching {
            for wire in consumer.sends() {
                sent += 1;
                let mut frame = Vec::new();
                Header { nack: Some(reason::NO_ROUTE), ..Header::default() }.wrap(&wire, &mut frame);
                consumer.receive(now, &frame).expect("a Nack");
            }
            now = consumer.next_wake().min(Time::from_secs(100));
            consumer.on_time(now);
        }
        assert_eq!(*consumer.state(), State::Failed("/a: no route".to_owned()));
        assert_eq!((sent, now < Time::from_secs(101)), (TRIES, true));
    }

    #[test]
    fn as_much_is_asked_for_as_comes_within_a_lifetime() {
        let content = vec![1; 400_000];
        for (each_ms, window, most) in [(50, 256, 32), (10, 256, 150), (1, 256, 256), (1, 9, 9)] {
            let mut consumer = Consumer::new(&of(&["a"]), window, 1, Time::ZERO);
            let (mut now, mut wires) = (Time::ZERO, std::collections::VecDeque::new());
            for _ in 0..1500 {
                wires.extend(consumer.sends());
                now = now.saturating_add(Time::from_ms(each_ms));
                let Some(wire) = wires.pop_front() else { break };
                let data = produce(&wire, &content, 100).expect("it has it");
                consumer.receive(now, &data).expect("Data");
            }
            assert_eq!(consumer.asked.len(), most, "{each_ms} {window}");
        }
    }

    /// What python-ndn 0.5's `make_data(['a', 'b'], MetaInfo(), b'all', HmacSha256Signer('/k', b'secret'))` gives.
    const BY_KEY: &str = "0640070608016108016214031801001503616c6c160a1b01041c05070308016b172053170806ff603f95daf4a6457bec1622556c3e88db2bf4999382f6922a270b45";

    #[test]
    fn data_by_a_key_are_verified() {
        let wire: Vec<u8> = BY_KEY
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("hex"))
            .collect();
        let fetched = |key: Option<&[u8]>, wire: &[u8]| {
            let trust = key.map_or(Trust::Anybody, |key| Trust::Shared(key.to_vec()));
            let mut consumer = Consumer::new(&of(&["a"]), 8, 1, Time::ZERO).trusting(trust);
            consumer.receive(Time::ZERO, wire).expect("Data");
            (consumer.take(), consumer.unverified)
        };
        assert_eq!(fetched(Some(b"secret"), &wire), (b"all".to_vec(), 0));
        assert_eq!(fetched(Some(b"other"), &wire), (Vec::new(), 0));
        assert_eq!(fetched(None, &wire), (b"all".to_vec(), 1));
        let digest = digest_data(&of(&["a", "b"]), None, b"all");
        assert_eq!(fetched(Some(b"secret"), &digest), (Vec::new(), 0), "anybody can make a digest");
    }

    /// What a consumer of `/a` hands out whose first answer are metadata with this content.
    fn fetched_by_metadata(content: &[u8]) -> (Vec<u8>, State) {
        let (mut name, mut last) = (of(&["a"]), Vec::new());
        name::push(&mut name, 0x20, b"metadata");
        name::push_number(&mut name, name::VERSION, 9);
        name::push_number(&mut name, SEGMENT, 0);
        name::push_number(&mut last, SEGMENT, 0);
        let mut consumer = Consumer::new(&of(&["a"]), 4, 1, Time::ZERO);
        consumer.sends();
        consumer.receive(Time::ZERO, &digest_data(&name, Some(&last), content)).expect("Data");
        let mut got = consumer.take();
        for wire in consumer.sends().iter().filter_map(|wire| produce(wire, &[5; 250], 100)) {
            consumer.receive(Time::ZERO, &wire).expect("Data");
            got.extend(consumer.take());
        }
        (got, consumer.state().clone())
    }

    #[test]
    fn metadata_lead_to_the_object_that_they_name() {
        let mut object = of(&["a"]);
        name::push_number(&mut object, name::VERSION, 1);
        let named = |name: &[u8], after: &[u8]| {
            let mut content = Vec::new();
            midpath_ndn::tlv::put(NAME, name, &mut content);
            [&content, after].concat()
        };
        for after in [&[][..], &[0xF0, 1, 7]] {
            let found = fetched_by_metadata(&named(&object, after));
            assert_eq!(found, (vec![5; 250], State::Done), "whatever else metadata tell");
        }
        for wrong in [vec![], b"text".to_vec(), named(&of(&["b"]), &[]), named(&of(&["a"]), &[]), vec![7, 9, 8]] {
            let why = "/a: its metadata name no object under this name".to_owned();
            assert_eq!(fetched_by_metadata(&wrong), (vec![], State::Failed(why)));
        }
    }

    #[test]
    fn data_without_segments_are_an_object_too() {
        let mut consumer = Consumer::new(&of(&["a"]), 8, 1, Time::ZERO);
        consumer.receive(Time::ZERO, &digest_data(&of(&["a", "b"]), None, b"all")).expect("Data");
        assert_eq!((consumer.take(), consumer.state()), (b"all".to_vec(), &State::Done));
    }
}
