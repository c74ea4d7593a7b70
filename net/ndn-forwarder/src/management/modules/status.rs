//! Datasets, as NFD's management protocol has them.

use midpath_core::units::Time;
use midpath_ndn::name::NAME;
use midpath_ndn::tlv::{Reader, put, put_nested, put_number};

use crate::faces::{Face, FaceId, Traffic};
use crate::forwarder::Forwarder;
use crate::rib::{ORIGIN_FIB, Route};

/// An entry of a list, and what there is several of in it.
const ENTRY: u32 = 0x80;
const ITEM: u32 = 0x81;
const FACE: u32 = 0x69;
const COST: u32 = 0x6A;
const STRATEGY: u32 = 0x6B;
const FLAGS: u32 = 0x6C;
const EXPIRATION: u32 = 0x6D;
const ORIGIN: u32 = 0x6F;
const URI: u32 = 0x72;
const LOCAL_URI: u32 = 0x81;
const URI_SCHEME: u32 = 0x83;
const SCOPE: u32 = 0x84;
const PERSISTENCY: u32 = 0x85;
const LINK_TYPE: u32 = 0x86;
const MTU: u32 = 0x89;
const FILTER: u32 = 0x96;

impl Forwarder {
    /// `status/general`.
    pub(super) fn general_status(&self, now: Time) -> Vec<u8> {
        let [received, sent] = self.faces.traffic();
        let counters = self.counters();
        let epoch = self.settings.epoch_ms;
        let version = concat!("midpath-", env!("CARGO_PKG_VERSION"));
        let mut out = Vec::new();
        put(0x80, version.as_bytes(), &mut out);
        for (kind, number) in [
            (0x81, epoch),
            (0x82, epoch + now.as_ns() / 1_000_000),
            (0x83, self.names.len() as u64),
            (0x84, self.fib.len() as u64),
            (0x85, self.pit.len() as u64),
            (0x86, 0),
            (0x87, self.store.len() as u64),
        ] {
            put_number(kind, number, &mut out);
        }
        put_traffic(&received, &sent, &mut out);
        put_number(0x99, counters.satisfied, &mut out);
        put_number(0x9A, counters.unsatisfied, &mut out);
        out
    }

    /// `faces/list`, and `faces/query` with a filter.
    pub(super) fn face_list(&self, filter: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        for (id, face) in self.faces.sorted() {
            if filter.is_none_or(|filter| passes(filter, id, face)) {
                put_nested(ENTRY, &mut out, |out| face_status(id, face, out));
            }
        }
        out
    }

    /// `fib/list`.
    pub(super) fn fib_list(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (prefix, hops) in in_order(self.fib.iter()) {
            put_entry(prefix, &mut out, |out| {
                for hop in hops {
                    put_nested(ITEM, out, |out| {
                        put_number(FACE, hop.face.0, out);
                        put_number(COST, hop.cost, out);
                    });
                }
            });
        }
        out
    }

    /// `rib/list`.
    pub(in crate::management) fn rib_list(&self, now: Time) -> Vec<u8> {
        let mut out = Vec::new();
        for (prefix, routes) in self.rib.iter() {
            let routes: Vec<&Route> = routes.iter().filter(|route| route.origin != ORIGIN_FIB).collect();
            if routes.is_empty() {
                continue;
            }
            put_entry(prefix, &mut out, |out| {
                routes.iter().for_each(|route| put_nested(ITEM, out, |out| put_route(now, route, out)));
            });
        }
        out
    }

    /// `strategy-choice/list`.
    pub(super) fn strategy_list(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (prefix, strategy) in in_order(self.strategies.iter()) {
            put_entry(prefix, &mut out, |out| {
                put_nested(STRATEGY, out, |out| put(NAME, &strategy.name(), out));
            });
        }
        out
    }

    /// `cs/info`. Its capacity is one of bytes; NFD's is one of packets.
    pub(super) fn store_info(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_nested(ENTRY, &mut out, |out| {
            put_number(0x83, self.settings.store_bytes as u64, out);
            // Admit, serve.
            put_number(FLAGS, 3, out);
            put_number(0x87, self.store.len() as u64, out);
            put_number(0x81, self.store.hits, out);
            put_number(0x82, self.store.misses, out);
        });
        out
    }
}

fn put_route(now: Time, route: &Route, out: &mut Vec<u8>) {
    put_number(FACE, route.face.0, out);
    put_number(ORIGIN, route.origin, out);
    put_number(COST, route.cost, out);
    put_number(FLAGS, route.flags, out);
    route.until.iter().for_each(|until| {
        put_number(EXPIRATION, until.saturating_sub(now).as_ns() / 1_000_000, out);
    });
}

fn face_status(id: FaceId, face: &Face, out: &mut Vec<u8>) {
    let Face { spec, received, sent, .. } = face;
    put_number(FACE, id.0, out);
    put(URI, spec.remote.as_bytes(), out);
    put(LOCAL_URI, spec.local.as_bytes(), out);
    for (kind, number) in [
        (SCOPE, spec.scope as u64),
        (PERSISTENCY, spec.persistency as u64),
        // Point to point.
        (LINK_TYPE, 0),
        (MTU, spec.mtu as u64),
    ] {
        put_number(kind, number, out);
    }
    put_traffic(received, sent, out);
    [(0x94, received.bytes), (0x95, sent.bytes), (FLAGS, 0)].iter().for_each(|(kind, n)| put_number(*kind, *n, out));
}

/// Packets by kind.
fn put_traffic(received: &Traffic, sent: &Traffic, out: &mut Vec<u8>) {
    for (kind, number) in [
        (0x90, received.interests),
        (0x91, received.data),
        (0x97, received.nacks),
        (0x92, sent.interests),
        (0x93, sent.data),
        (0x98, sent.nacks),
    ] {
        put_number(kind, number, out);
    }
}

/// An entry about a prefix.
fn put_entry(prefix: &[u8], out: &mut Vec<u8>, rest: impl FnOnce(&mut Vec<u8>)) {
    put_nested(ENTRY, out, |out| {
        put(NAME, prefix, out);
        rest(out);
    });
}

/// Values by prefix, in its order.
fn in_order<'a, T>(all: impl Iterator<Item = (&'a [u8], T)>) -> Vec<(&'a [u8], T)> {
    let mut entries: Vec<_> = all.collect();
    entries.sort_unstable_by_key(|(prefix, _)| *prefix);
    entries
}

/// Whether a face is one that a query's filter means; what is no filter means none.
fn passes(filter: &[u8], id: FaceId, face: &Face) -> bool {
    let Some(filter) = Reader::only(filter).ok().filter(|filter| filter.kind == FILTER) else { return false };
    let mut reader = Reader::new(filter.value);
    while let Ok(Some(field)) = reader.element() {
        let number = field.number().ok();
        let text = std::str::from_utf8(field.value).unwrap_or_default();
        let spec = &face.spec;
        let same = match field.kind {
            FACE => number == Some(id.0),
            URI => text == spec.remote,
            LOCAL_URI => text == spec.local,
            URI_SCHEME => spec.remote.split_once("://").is_some_and(|(scheme, _)| scheme == text),
            SCOPE => number == Some(spec.scope as u64),
            PERSISTENCY => number == Some(spec.persistency as u64),
            LINK_TYPE => number == Some(0),
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}
