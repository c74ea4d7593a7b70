//! HTTP Archives (HAR 1.2): what a page loads, and what each of its resources waits for.
//!
//! Browsers and tools write them; what they add to HAR 1.2 begins with an underscore. Read of this are `_initiator` (an
//! object with `url` or a script's `stack` as Chromium writes it, or the URL as WebPageTest and chrome-har do),
//! `_priority`, `_fromCache` and `_transferSize` (Chromium).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

use midpath_core::units::{Bytes, Time};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};

use crate::rates::short;

/// Bytes of a request's or a response's header where HAR does not know them (−1). Ours.
const HEADER: f64 = 500.0;
/// The latest begin and the longest part of a request, in milliseconds. Ours: a day.
const LONGEST: f64 = 86_400_000.0;
/// The largest request or response. Ours: above any that a browser loads.
const LARGEST: f64 = 1e12;

/// What a resource waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The begin of the page.
    Begin,
    /// All of another resource, by number.
    All(u32),
    /// The header of another resource's response: HTML is read as it comes.
    Header(u32),
}

/// A request of a page and its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Number in `log.entries`.
    pub entry: u32,
    /// Number of its origin.
    pub origin: u32,
    /// What it waits for.
    pub cause: Cause,
    /// Computation from then to the request.
    pub compute: Time,
    /// Bytes of the request.
    pub request: Bytes,
    /// Bytes of the response's header, and of its body.
    pub response: [Bytes; 2],
    /// From the request's arrival to the response.
    pub service: Time,
    /// From 0, the most urgent: 2 where `_priority` does not say.
    pub rank: u8,
    /// Whether the load event waits for it.
    pub gates: bool,
}

/// A page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order in which they began, so each behind what it waits for.
    pub resources: Vec<Resource>,
    /// Number of the first resource that does not redirect: the document.
    pub document: u32,
    /// From the last resource that gates the load event to that event.
    pub to_onload: Time,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Har {
    /// In the order of the file, without those that load nothing.
    pub pages: Vec<Page>,
    /// Scheme, host and port, in the order in which they are needed.
    pub origins: Vec<String>,
    /// Entries that load nothing: from a cache, unanswered, or not of HTTP.
    pub left_out: usize,
}

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    pages: Option<Vec<PageEntry>>,
    #[serde(deserialize_with = "entries")]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageEntry {
    id: String,
    #[serde(default)]
    started_date_time: Option<String>,
    #[serde(default)]
    page_timings: Option<PageTimings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageTimings {
    #[serde(default)]
    on_load: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    pageref: Option<String>,
    started_date_time: String,
    request: Request,
    response: Response,
    timings: Timings,
    #[serde(default, rename = "_initiator")]
    initiator: Option<Initiator>,
    #[serde(default, rename = "_priority")]
    priority: Option<Priority>,
    #[serde(default, rename = "_fromCache")]
    from_cache: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    url: String,
    #[serde(default)]
    headers_size: Option<f64>,
    #[serde(default)]
    body_size: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    status: Option<f64>,
    #[serde(default, rename = "redirectURL")]
    redirect_url: Option<String>,
    #[serde(default)]
    headers_size: Option<f64>,
    #[serde(default)]
    body_size: Option<f64>,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default, rename = "_transferSize")]
    transfer_size: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    size: Option<f64>,
    #[serde(default)]
    mime_type: Option<String>,
}

#[derive(Deserialize)]
struct Timings {
    #[serde(default)]
    blocked: Option<f64>,
    #[serde(default)]
    dns: Option<f64>,
    #[serde(default)]
    connect: Option<f64>,
    #[serde(default)]
    ssl: Option<f64>,
    #[serde(default)]
    send: Option<f64>,
    wait: f64,
    receive: f64,
}

/// A text, as Chromium writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Priority {
    Named(Named),
    Other(IgnoredAny),
}

#[derive(Clone, Copy, Deserialize)]
enum Named {
    VeryHigh = 0,
    High = 1,
    Medium = 2,
    Low = 3,
    VeryLow = 4,
}

impl Priority {
    fn rank(&self) -> u8 {
        match self {
            Priority::Named(named) => *named as u8,
            Priority::Other(_) => Named::Medium as u8,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Initiator {
    Url(String),
    Chromium {
        #[serde(default)]
        url: Option<String>,
        #[serde(default)]
        stack: Option<Stack>,
    },
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stack {
    #[serde(default)]
    call_frames: Vec<Frame>,
    #[serde(default)]
    parent: Option<Box<Stack>>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    url: String,
}

impl Initiator {
    /// The URL of what has asked for a resource: of a script the innermost function that has one.
    fn url(&self) -> Option<&str> {
        match self {
            Initiator::Url(url) => Some(url),
            Initiator::Chromium { url: Some(url), .. } => Some(url),
            Initiator::Chromium { stack, .. } => {
                let mut stack = stack.as_ref();
                while let Some(Stack { call_frames, parent }) = stack {
                    if let Some(frame) = call_frames.iter().find(|frame| !frame.url.is_empty()) {
                        return Some(&frame.url);
                    }
                    stack = parent.as_deref();
                }
                None
            }
            Initiator::Other(_) => None,
        }
    }
}

/// The entries; errors say which.
fn entries<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<Entry>, D::Error> {
    struct Numbered;
    impl<'de> Visitor<'de> for Numbered {
        type Value = Vec<Entry>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of entries")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<Entry>, A::Error> {
            let mut found = Vec::new();
            loop {
                let next = rows.next_element();
                match next.map_err(|e| A::Error::custom(format!("log.entries[{}]: {e}", found.len())))? {
                    Some(entry) => found.push(entry),
                    None => return Ok(found),
                }
            }
        }
    }
    reader.deserialize_seq(Numbered)
}

/// An entry with its times, in milliseconds since 1970.
struct Timed<'a> {
    number: usize,
    entry: &'a Entry,
    start: f64,
    header: f64,
    end: f64,
    service: f64,
    page: usize,
}

/// Reads a file: what is wrong with it, and where.
pub(crate) fn parse(bytes: &[u8]) -> Result<Har, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file: File = serde_json::from_slice(bytes).map_err(|e| {
        // Within entries it is an error of ours, which has taken in that of the reader.
        let message = e.to_string();
        let is_cut = e.is_eof() || message.contains("EOF while parsing");
        if is_cut { format!("ends too early ({message}); export it again") } else { format!("not a HAR: {message}") }
    })?;
    let Log { pages, entries } = file.log;
    let pages = pages.unwrap_or_default();
    let numbers: BTreeMap<&str, usize> = pages.iter().rev().map(|page| &*page.id).zip((0..pages.len()).rev()).collect();
    let page_of = |entry: &Entry| entry.pageref.as_deref().and_then(|id| numbers.get(id)).copied().unwrap_or(0);
    let mut timed = entries.iter().enumerate().map(|(number, entry)| {
        let page = page_of(entry);
        Timed::of(number, entry, page)
            .map_err(|message| format!("log.entries[{number}] ({}): {message}", short(&entry.request.url)))
    });
    let mut timed = timed.by_ref().collect::<Result<Vec<_>, _>>()?;
    timed.sort_by(|a, b| {
        (a.page, a.start, a.number).partial_cmp(&(b.page, b.start, b.number)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let services = Services::of(&timed);
    timed.iter_mut().for_each(|timed| timed.service = services.service(timed));
    let mut har = Har::default();
    let mut origins = BTreeMap::new();
    for own in timed.chunk_by(|a, b| a.page == b.page) {
        let page = Reading::new(own, &mut har, &mut origins).page(pages.get(own[0].page))?;
        if !page.resources.is_empty() {
            har.pages.push(page);
        }
    }
    if har.pages.is_empty() {
        return Err("no entry loads anything over HTTP; record the page with an empty cache".to_owned());
    }
    Ok(har)
}

/// The least time to open a connection to each origin in the recording: its round-trip time.
struct Services<'a>(BTreeMap<&'a str, f64>);

impl<'a> Services<'a> {
    fn of(timed: &[Timed<'a>]) -> Services<'a> {
        let mut least = BTreeMap::new();
        for Timed { entry, .. } in timed {
            let Timings { connect: Some(connect), ssl, .. } = entry.timings else { continue };
            let round_trip = connect - ssl.unwrap_or(0.0).max(0.0);
            if let Some(origin) = origin(&entry.request.url).filter(|_| connect > 0.0 && round_trip > 0.0) {
                let known = least.entry(origin).or_insert(round_trip);
                *known = known.min(round_trip);
            }
        }
        Services(least)
    }

    /// `wait` is a round trip, and what the server does.
    fn service(&self, timed: &Timed<'_>) -> f64 {
        let round_trip = origin(&timed.entry.request.url).and_then(|origin| self.0.get(origin)).copied();
        (timed.entry.timings.wait - round_trip.unwrap_or(0.0)).max(0.0)
    }
}

impl<'a> Timed<'a> {
    fn of(number: usize, entry: &'a Entry, page: usize) -> Result<Timed<'a>, String> {
        let start = milliseconds(&entry.started_date_time).ok_or_else(|| {
            let text = short(&entry.started_date_time);
            format!("startedDateTime `{text}` is no time such as 2026-01-31T12:00:00.000Z; correct it")
        })?;
        let Timings { blocked, dns, connect, ssl, send, wait, receive } = entry.timings;
        let parts = [
            ("blocked", blocked),
            ("dns", dns),
            ("connect", connect),
            ("ssl", ssl),
            ("send", send),
            ("wait", Some(wait)),
            ("receive", Some(receive)),
        ];
        let mut before = 0.0;
        for (key, time) in parts.iter().filter_map(|(key, time)| Some((key, (*time)?))) {
            if time != -1.0 && !(0.0..=LONGEST).contains(&time) {
                return Err(format!("timings.{key} is {time} ms; write 0 to 86400000, or -1 where it does not apply"));
            }
            // That of TLS is part of the connection's.
            before += if matches!(*key, "ssl" | "receive") { 0.0 } else { time.max(0.0) };
        }
        let header = start + before;
        entry.check_sizes()?;
        Ok(Timed { number, entry, start, header, end: header + receive.max(0.0), service: 0.0, page })
    }
}

/// A size that is known.
fn known(size: Option<f64>) -> Option<f64> {
    size.filter(|size| *size >= 0.0)
}

impl Entry {
    fn check_sizes(&self) -> Result<(), String> {
        let (request, response) = (&self.request, &self.response);
        let content = response.content.as_ref().and_then(|content| content.size);
        for (key, size) in [
            ("request.headersSize", request.headers_size),
            ("request.bodySize", request.body_size),
            ("response.headersSize", response.headers_size),
            ("response.bodySize", response.body_size),
            ("response.content.size", content),
            ("response._transferSize", response.transfer_size),
        ] {
            if let Some(size) = size.filter(|size| *size != -1.0 && !(0.0..=LARGEST).contains(size)) {
                return Err(format!("{key} is {size}; write 0 to 1e12 bytes, or -1 where it is not known"));
            }
        }
        Ok(())
    }

    fn request_size(&self) -> Bytes {
        let Request { headers_size, body_size, .. } = self.request;
        Bytes((known(headers_size).unwrap_or(HEADER) + known(body_size).unwrap_or(0.0)).max(1.0) as u64)
    }

    /// Of its header and of its body, each at least a byte. What has come over the wire counts: the content may have been
    /// compressed.
    fn response_sizes(&self) -> [Bytes; 2] {
        let Response { headers_size, body_size, transfer_size, content, .. } = &self.response;
        let header = known(*headers_size).unwrap_or(HEADER).max(1.0);
        let body = known(*body_size).or_else(|| known(content.as_ref()?.size)).unwrap_or(0.0);
        let body = known(*transfer_size).filter(|all| *all > 0.0).map_or(body, |all| all - header);
        [header, body.max(1.0)].map(|size| Bytes(size as u64))
    }

    fn is_loaded(&self) -> bool {
        let answered = self.response.status.is_none_or(|status| status > 0.0);
        answered && self.from_cache.is_none() && origin(&self.request.url).is_some()
    }

    fn redirects(&self) -> Option<&str> {
        self.response.redirect_url.as_deref().filter(|to| !to.is_empty())
    }

    fn is_html(&self) -> bool {
        let mime_type = self.response.content.as_ref().and_then(|content| content.mime_type.as_deref());
        mime_type.is_some_and(|kind| kind.contains("html"))
    }
}

/// Scheme, host and port of what HTTP loads.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))?;
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    (host > 0).then(|| &url[..scheme.len() + 3 + host])
}

/// A page on its way.
struct Reading<'a, 'b> {
    own: &'a [Timed<'a>],
    har: &'b mut Har,
    origins: &'b mut BTreeMap<String, u32>,
    page: Page,
    /// Of each entry so far: its resource, or that for which it stands.
    resources: Vec<Option<u32>>,
    /// Places of a resource's entries.
    places: Vec<usize>,
    /// The last entry of each URL, and the last that redirects to it.
    of_url: BTreeMap<&'a str, usize>,
    redirects: BTreeMap<&'a str, usize>,
    /// Entries by their end, and the last that has ended.
    under_way: BinaryHeap<Reverse<(u64, usize)>>,
    ended: Option<usize>,
}

impl<'a, 'b> Reading<'a, 'b> {
    fn new(own: &'a [Timed<'a>], har: &'b mut Har, origins: &'b mut BTreeMap<String, u32>) -> Reading<'a, 'b> {
        Reading {
            own,
            har,
            origins,
            page: Page::default(),
            resources: Vec::new(),
            places: Vec::new(),
            of_url: BTreeMap::new(),
            redirects: BTreeMap::new(),
            under_way: BinaryHeap::new(),
            ended: None,
        }
    }

    fn page(mut self, about: Option<&PageEntry>) -> Result<Page, String> {
        let begin = self.own[0].start;
        for (place, timed) in self.own.iter().enumerate() {
            if timed.start - begin > LONGEST {
                return Err(format!(
                    "log.entries[{}] begins {:.0} s after its page; correct its startedDateTime, or leave it out",
                    timed.number,
                    (timed.start - begin) / 1e3
                ));
            }
            self.add(place, timed, begin);
        }
        self.load_event(about, begin);
        let redirects = |place: &usize| self.own[*place].entry.redirects().is_some();
        self.page.document = self.places.iter().position(|place| !redirects(place)).unwrap_or_default() as u32;
        Ok(self.page)
    }

    fn add(&mut self, place: usize, timed: &'a Timed<'a>, begin: f64) {
        let end = |ms: f64| (1e3 * (ms - begin)) as u64;
        while let Some(Reverse((_, ended))) = self.under_way.peek().filter(|next| next.0.0 <= end(timed.start)) {
            self.ended = Some(*ended);
            self.under_way.pop();
        }
        let (cause, since) = self.cause(timed, begin);
        let entry = timed.entry;
        if entry.is_loaded() {
            let origin = origin(&entry.request.url).unwrap_or_default();
            let next = self.har.origins.len() as u32;
            let number = *self.origins.entry(origin.to_owned()).or_insert(next);
            if number == next {
                self.har.origins.push(origin.to_owned());
            }
            self.resources.push(Some(self.places.len() as u32));
            self.places.push(place);
            self.page.resources.push(Resource {
                entry: timed.number as u32,
                origin: number,
                cause,
                compute: time(timed.start - since),
                request: entry.request_size(),
                response: entry.response_sizes(),
                service: time(timed.service),
                rank: entry.priority.as_ref().map_or(Named::Medium as u8, Priority::rank),
                gates: true,
            });
        } else {
            self.har.left_out += 1;
            let stands = match cause {
                Cause::Begin => None,
                Cause::All(other) | Cause::Header(other) => Some(other),
            };
            self.resources.push(stands);
        }
        self.under_way.push(Reverse((end(timed.end), place)));
        self.of_url.insert(&entry.request.url, place);
        if let Some(to) = entry.redirects() {
            self.redirects.insert(to, place);
        }
    }

    /// What an entry waits for, and when that was. A redirect to it comes first, then its initiator, then the last response
    /// that had come.
    fn cause(&self, timed: &Timed<'_>, begin: f64) -> (Cause, f64) {
        let url = &*timed.entry.request.url;
        let initiator = timed.entry.initiator.as_ref().and_then(Initiator::url);
        let named = self.redirects.get(url).or_else(|| self.of_url.get(initiator?)).copied();
        let place = named.or(self.ended);
        let first = || (!self.places.is_empty()).then_some(0);
        let Some(resource) = place.map_or_else(first, |place| self.resources[place]) else {
            return (Cause::Begin, begin);
        };
        let before = &self.own[self.places[resource as usize]];
        if before.end <= timed.start {
            return (Cause::All(resource), before.end);
        }
        if before.entry.is_html() && before.header <= timed.start {
            return (Cause::Header(resource), before.header);
        }
        // A document's header that had not come is no cause, unless it is named.
        if place.is_none() { (Cause::Begin, begin) } else { (Cause::All(resource), timed.start) }
    }

    /// The load event waits for what had come before it in the recording.
    fn load_event(&mut self, about: Option<&PageEntry>, begin: f64) {
        let timings = about.and_then(|page| page.page_timings.as_ref());
        let on_load = timings.and_then(|timings| known(timings.on_load)).filter(|ms| *ms <= LONGEST);
        let Some(on_load) = on_load else { return };
        let start = about.and_then(|page| milliseconds(page.started_date_time.as_deref()?)).unwrap_or(begin);
        let ends = self.places.iter().map(|place| self.own[*place].end).collect::<Vec<_>>();
        let gates = ends.iter().map(|end| *end <= start + on_load).collect::<Vec<_>>();
        let Some(last) = ends.iter().zip(&gates).filter(|(_, gates)| **gates).map(|(end, _)| *end).reduce(f64::max)
        else {
            return;
        };
        self.page.resources.iter_mut().zip(gates).for_each(|(resource, gates)| resource.gates = gates);
        self.page.to_onload = time(start + on_load - last);
    }
}

fn time(ms: f64) -> Time {
    Time::from_secs_f64(ms.clamp(0.0, 2.0 * LONGEST) / 1e3)
}

/// ISO 8601 as HAR has it (`2026-01-31T12:00:00.123+01:00`), in milliseconds since 1970.
fn milliseconds(text: &str) -> Option<f64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(at);
    let mut clock = clock.splitn(3, ':');
    let (hour, minute) = (digits(clock.next()?)?, digits(clock.next()?)?);
    let second: f64 = clock.next()?.parse().ok()?;
    let good = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !good || hour > 24 || minute > 59 || !(0.0..=61.0).contains(&second) {
        return None;
    }
    let offset = match zone.split_at_checked(1) {
        None | Some(("Z" | "z", "")) => 0,
        Some((sign @ ("+" | "-"), zone)) => {
            let zone = zone.replace(':', "");
            let (hours, minutes) = zone.split_at_checked(2)?;
            let minutes = if minutes.is_empty() { 0 } else { digits(minutes)? };
            (60 * digits(hours)? + minutes) * if sign == "+" { 1 } else { -1 }
        }
        _ => return None,
    };
    // Days since 1970: years begin in March, so that a leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset) * 60) as f64 * 1e3 + second * 1e3)
}

fn digits(text: &str) -> Option<i64> {
    text.parse().ok().filter(|n| (0..10_000).contains(n))
}

/// Reads a file: of how many resources; what is wrong with it. For tests of parsers.
pub fn check_har(bytes: &[u8]) -> Result<usize, String> {
    let har = parse(bytes)?;
    for page in &har.pages {
        for (resource, number) in page.resources.iter().zip(0..) {
            let behind = match resource.cause {
                Cause::Begin => true,
                Cause::All(other) | Cause::Header(other) => other < number,
            };
            assert!(behind && resource.response.iter().all(|size| size.0 > 0), "{resource:?}");
        }
        assert!(page.resources.iter().any(|resource| resource.gates));
    }
    Ok(har.pages.iter().map(|page| page.resources.len()).sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// An entry of the origin `a` that begins so many milliseconds after the first and takes 30 ms, 10 of them its body's.
    fn entry(path: &str, start: u64) -> Value {
        json!({
            "startedDateTime": format!("2026-01-31T12:00:{:02}.{:03}Z", start / 1000, start % 1000),
            "request": { "url": format!("https://a{path}"), "headersSize": 100, "bodySize": -1 },
            "response": { "status": 200, "headersSize": 50, "bodySize": 1000, "content": { "mimeType": "text/css" } },
            "timings": { "blocked": -1, "connect": -1, "send": 1, "wait": 19, "receive": 10 },
        })
    }

    fn with(mut entry: Value, key: &str, value: Value) -> Value {
        *entry
            .pointer_mut(key.rsplit_once('/').map_or("", |at| at.0))
            .and_then(Value::as_object_mut)
            .and_then(|map| {
                let last = key.rsplit('/').next()?;
                map.insert(last.to_owned(), Value::Null);
                map.get_mut(last)
            })
            .expect("an object") = value;
        entry
    }

    fn read(entries: &[Value]) -> Result<Har, String> {
        parse(json!({ "log": { "entries": entries } }).to_string().as_bytes())
    }

    fn causes(entries: &[Value]) -> Vec<(Cause, u64)> {
        let har = read(entries).expect("valid");
        har.pages[0].resources.iter().map(|own| (own.cause, own.compute.0 / 1_000_000_000)).collect()
    }

    #[test]
    fn dates_are_those_of_unix() {
        // From `date -d … +%s`.
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2024-02-29T23:59:59.5Z", Some(1_709_251_199_500.0)),
            ("2024-03-01T00:00:00.000+01:00", Some(1_709_247_600_000.0)),
            ("2009-04-16T12:07:23.596-0330", Some(1_239_896_243_596.0)),
            ("2100-12-31T00:00:00", Some(4_133_894_400_000.0)),
            ("2026-13-01T00:00:00Z", None),
            ("-2026-01-01T00:00:00Z", None),
            ("2026-01-01T00:00:NaNZ", None),
            ("2026-01-01T00:00:00+é", None),
            ("yesterday", None),
        ] {
            assert_eq!(milliseconds(text), wanted, "{text}");
        }
    }

    #[test]
    fn initiators_are_read_as_each_tool_writes_them() {
        let stack = json!({ "type": "script", "stack": { "callFrames": [], "parent": { "callFrames": [{ "url": "https://a/1" }] } } });
        for initiator in [json!({ "type": "parser", "url": "https://a/1" }), json!("https://a/1"), stack] {
            let third = with(entry("/3", 100), "/_initiator", initiator);
            let found = causes(&[entry("/1", 0), entry("/2", 50), third]);
            assert_eq!(found, [(Cause::Begin, 0), (Cause::All(0), 20), (Cause::All(0), 70)]);
        }
        // What is none, is unknown, or had not begun: the last response that had come.
        for initiator in [json!(7), json!({ "type": "other" }), json!("https://b/"), json!("https://a/4"), json!(null)]
        {
            let third = with(entry("/3", 100), "/_initiator", initiator);
            let found = causes(&[entry("/1", 0), entry("/2", 50), third, entry("/4", 200)]);
            assert_eq!(found[2], (Cause::All(1), 20));
        }
    }

    #[test]
    fn a_circle_of_initiators_is_cut_where_it_began() {
        let by =
            |path: &str, start: u64, by: &str| with(entry(path, start), "/_initiator", json!(format!("https://a{by}")));
        let found = causes(&[by("/1", 0, "/2"), by("/2", 40, "/1"), by("/3", 80, "/3")]);
        assert_eq!(found, [(Cause::Begin, 0), (Cause::All(0), 10), (Cause::All(1), 10)]);
    }

    #[test]
    fn a_url_that_comes_twice_is_two_resources_and_the_later_one_asks() {
        let by = with(entry("/2", 100), "/_initiator", json!("https://a/1"));
        assert_eq!(causes(&[entry("/1", 0), entry("/1", 50), by])[2], (Cause::All(1), 20));
    }

    #[test]
    fn redirects_documents_and_caches() {
        let to = with(entry("/old", 0), "/response/redirectURL", json!("https://a/new"));
        let document = with(entry("/new", 35), "/response/content/mimeType", json!("text/html"));
        let as_it_comes = with(entry("/early", 58), "/_initiator", json!("https://a/new"));
        let cached =
            with(with(entry("/css", 60), "/_initiator", json!("https://a/new")), "/_fromCache", json!("memory"));
        let font = with(entry("/font", 95), "/_initiator", json!("https://a/css"));
        let found = causes(&[to, document, as_it_comes, cached, font]);
        let wanted = [(Cause::Begin, 0), (Cause::All(0), 5), (Cause::Header(1), 3), (Cause::All(1), 30)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn sizes_and_service_times_are_what_is_known() {
        let unknown = with(with(entry("/2", 0), "/response/bodySize", json!(-1)), "/response/headersSize", json!(-1));
        let compressed =
            with(with(entry("/3", 0), "/response/_transferSize", json!(700)), "/response/content/size", json!(9000));
        let content = with(unknown.clone(), "/response/content/size", json!(333));
        let connected = with(with(entry("/5", 0), "/timings/connect", json!(15)), "/timings/ssl", json!(7));
        let har = read(&[entry("/1", 0), unknown, compressed, content, connected]).expect("valid");
        let sizes: Vec<_> = har.pages[0].resources.iter().map(|own| own.response.map(|size| size.0)).collect();
        assert_eq!(sizes, [[50, 1000], [500, 1], [50, 650], [500, 333], [50, 1000]]);
        assert!(har.pages[0].resources.iter().all(|own| own.request == Bytes(100)));
        // 19 ms less the 8 ms of the recording's round trip.
        assert!(har.pages[0].resources.iter().all(|own| own.service == Time::from_ms(11)));
    }

    #[test]
    fn priorities_are_chromium_s() {
        let named = ["VeryHigh", "High", "Medium", "Low", "VeryLow", "Throttled"].map(|name| json!(name));
        let all = named.into_iter().chain([json!(null), json!(5)]);
        let entries: Vec<Value> = all.map(|priority| with(entry("/1", 0), "/_priority", priority)).collect();
        let ranks: Vec<u8> = read(&entries).expect("valid").pages[0].resources.iter().map(|own| own.rank).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4, 2, 2, 2]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_entry() {
        let good = entry("/1", 0);
        for (bad, message) in [
            (with(good.clone(), "/startedDateTime", json!("noon")), "startedDateTime `noon` is no time"),
            (with(good.clone(), "/startedDateTime", json!("2026-02-02T00:00:00Z")), "begins 129600 s after its page"),
            (with(good.clone(), "/timings/receive", json!(-2)), "timings.receive is -2 ms"),
            (with(good.clone(), "/timings/dns", json!(1e300)), "timings.dns is 1"),
            (with(good.clone(), "/response/bodySize", json!(-2)), "response.bodySize is -2"),
            (with(good.clone(), "/request/url", json!(null)), "invalid type: null"),
            (json!({}), "missing field"),
            (json!(7), "invalid type"),
        ] {
            let found = read(&[good.clone(), bad]).expect_err(message);
            assert!(found.contains("log.entries[1]") && found.contains(message), "{found}");
        }
        let left_out =
            [("/response/status", json!(0)), ("/request/url", json!("data:,x")), ("/_fromCache", json!("disk"))];
        let none: Vec<Value> = left_out.into_iter().map(|(key, value)| with(good.clone(), key, value)).collect();
        assert!(read(&none).expect_err("nothing").contains("no entry loads anything"));
        let text = json!({ "log": { "entries": [good] } }).to_string();
        for end in 0..text.len() {
            assert!(parse(&text.as_bytes()[..end]).expect_err("cut").contains("ends too early"), "{end}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes()).is_err());
        let nested = text.replace("\"blocked\":-1", &format!("\"x\":{deep}"));
        assert!(parse(nested.as_bytes()).is_err());
        let initiator = format!("{}{}", "{\"parent\":".repeat(100_000), "1");
        assert!(
            parse(text.replace("{\"request\"", &format!("{{\"_initiator\":{{\"stack\":{initiator}")).as_bytes())
                .is_err()
        );
        assert!(parse(&[b"\xef\xbb\xbf", text.as_bytes()].concat()).is_ok());
    }

    proptest! {
        /// Entries in whatever order in the file: resources are in order of their begin, each behind what it waits for, which
        /// had come by then.
        #[test]
        fn a_resource_waits_for_what_came_before(
            drawn in prop::collection::vec((0u64..3000, 0u64..5, 0usize..40, any::<bool>(), 0u64..8), 1..40),
        ) {
            let entries: Vec<Value> = drawn.iter().enumerate().map(|(i, (start, kind, by, html, page))| {
                let mut own = entry(&format!("/{}", i % 30), *start);
                own["pageref"] = json!(format!("page {}", page / 7));
                if *html { own["response"]["content"]["mimeType"] = json!("text/html") }
                match kind {
                    0 => own["_initiator"] = json!(format!("https://a/{}", by)),
                    1 => own["response"]["redirectURL"] = json!(format!("https://a/{}", by)),
                    2 => own["_fromCache"] = json!("disk"),
                    _ => {}
                }
                own
            }).collect();
            let Ok(har) = read(&entries) else {
                prop_assert!(drawn.iter().all(|own| own.1 == 2));
                return Ok(());
            };
            prop_assert_eq!(har.left_out, drawn.iter().filter(|own| own.1 == 2).count());
            let own = &har.pages[0].resources;
            prop_assert_eq!(own.len(), drawn.len() - har.left_out);
            let start = |resource: &Resource| drawn[resource.entry as usize].0;
            let begin = drawn.iter().map(|own| own.0).min().unwrap_or_default();
            for (number, resource) in (0..).zip(own) {
                prop_assert!(number == 0 || start(&own[number as usize - 1]) <= start(resource));
                let since = match resource.cause {
                    Cause::Begin => begin,
                    Cause::All(other) => { prop_assert!(other < number); start(&own[other as usize]) + 30 }
                    Cause::Header(other) => { prop_assert!(other < number); start(&own[other as usize]) + 20 }
                };
                prop_assert_eq!(resource.compute, Time::from_ms(start(resource).saturating_sub(since)));
            }
        }
    }
}
