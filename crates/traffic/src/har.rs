//! HTTP Archives (HAR 1.2): what a page loads, and what each of its resources waits for.
//!
//! Browsers and tools write them; what they add to HAR 1.2 begins with an underscore. Read of this are `_initiator` (an
//! object with `url` or a script's `stack` as Chromium writes it, or the URL as WebPageTest and chrome-har do),
//! `_fromCache` and `_transferSize` (Chromium).

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
    /// Whether the load event waits for it.
    pub gates: bool,
}

/// A page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order in which they began, so each behind what it waits for.
    pub resources: Vec<Resource>,
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
    let file: File = serde_json::from_slice(bytes).map_err(|e| match e.is_eof() {
        true => format!("ends too early ({e}); export it again"),
        false => format!("not a HAR: {e}"),
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
        if let Some(to) = entry.response.redirect_url.as_deref().filter(|to| !to.is_empty()) {
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
