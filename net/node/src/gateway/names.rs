//! Names of hosts, resolved as by any other program of the machine (`getaddrinfo`). That blocks, for as long as
//! a resolver does not answer, so threads do it: a few in all, and fewer for one client. A client with unanswered
//! names delays only itself, and literal addresses ([`literal`]) skip this.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use dns_lookup::{AddrInfoHints, getaddrinfo};
use midpath_core::packet::NodeId;
use rustix::event::{EventfdFlags, eventfd};

/// Threads, and how many of them one client may have. Ours: no four clients can block a fifth's names.
pub const THREADS: usize = 16;
const EACH: usize = 4;

/// What resolves a name, and blocks: the addresses in the order in which they are to be tried, without ports;
/// none if there are none.
pub type Resolve = Arc<dyn Fn(&str) -> Vec<SocketAddr> + Send + Sync>;

/// The machine's own resolver: `/etc/hosts`, DNS, and whatever else `nsswitch.conf` names.
pub fn system() -> Resolve {
    Arc::new(|host| lookup(host, 0))
}

/// The address that this stands for without asking anybody, in any way that the C library knows (`127.1`,
/// `0x7f000001`, `fe80::1%eth0`).
pub fn literal(host: &str) -> Option<SocketAddr> {
    /// `AI_NUMERICHOST`, in Linux's `netdb.h`.
    const NUMERIC: i32 = 4;
    lookup(host, NUMERIC).into_iter().next()
}

fn lookup(host: &str, flags: i32) -> Vec<SocketAddr> {
    // For streams alone, or each address would come three times.
    let hints = AddrInfoHints { flags, socktype: dns_lookup::SockType::Stream.into(), ..AddrInfoHints::default() };
    let found = getaddrinfo(Some(host), None, Some(hints));
    found.into_iter().flatten().filter_map(|info| info.ok().map(|info| info.sockaddr)).collect()
}

/// One name, and whoever waits for it.
struct Query {
    host: String,
    wanted: Vec<u64>,
}

#[derive(Default)]
struct Client {
    waiting: VecDeque<Query>,
    running: usize,
    /// Its turn came last at this number of lookups.
    served: u64,
}

/// Names that are being resolved, for clients.
pub struct Names {
    resolve: Resolve,
    clients: BTreeMap<NodeId, Client>,
    /// Lookups that threads are at, by number.
    running: BTreeMap<u64, (NodeId, Query)>,
    begun: u64,
    threads: usize,
    /// Why there was no thread more.
    lacking: Option<io::Error>,
    orders: Sender<(u64, String)>,
    ordered: Arc<Mutex<Receiver<(u64, String)>>>,
    done: Sender<(u64, Vec<SocketAddr>)>,
    results: Receiver<(u64, Vec<SocketAddr>)>,
    bell: Arc<OwnedFd>,
}

impl Names {
    pub fn new(resolve: Resolve) -> io::Result<Names> {
        let (orders, ordered) = channel();
        let (done, results) = channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let ordered = Arc::new(Mutex::new(ordered));
        let (clients, running, lacking) = Default::default();
        Ok(Names { resolve, clients, running, begun: 0, threads: 0, lacking, orders, ordered, done, results, bell })
    }

    /// Becomes readable when a lookup is over.
    pub fn bell(&self) -> impl AsFd + '_ {
        &*self.bell
    }

    /// Begins to resolve a name for whoever has this number. What a client asks for twice is looked up once.
    pub fn ask(&mut self, client: NodeId, number: u64, host: &str) {
        let running = self.running.values_mut().filter(|(of, _)| *of == client).map(|(_, query)| query);
        let waiting = self.clients.entry(client).or_default().waiting.iter_mut();
        match running.chain(waiting).find(|query| query.host == host) {
            Some(query) => query.wanted.push(number),
            None => {
                let query = Query { host: host.to_owned(), wanted: vec![number] };
                self.clients.entry(client).or_default().waiting.push_back(query);
            }
        }
        self.dispatch();
    }

    /// Nobody waits under this number any more. A lookup that has begun keeps its thread until it is over.
    pub fn forget(&mut self, client: NodeId, number: u64) {
        let running = self.running.values_mut().filter(|(of, _)| *of == client).map(|(_, query)| query);
        let waiting = self.clients.get_mut(&client).into_iter().flat_map(|client| client.waiting.iter_mut());
        running.chain(waiting).for_each(|query| query.wanted.retain(|wanted| *wanted != number));
        if let Some(client) = self.clients.get_mut(&client) {
            client.waiting.retain(|query| !query.wanted.is_empty());
        }
        self.tidy(client);
    }

    /// What has been found, and for whom.
    pub fn found(&mut self) -> Vec<(u64, Vec<SocketAddr>)> {
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        let results: Vec<_> = self.results.try_iter().collect();
        let mut found = Vec::new();
        for (lookup, addresses) in results {
            let Some((of, query)) = self.running.remove(&lookup) else { continue };
            if let Some(client) = self.clients.get_mut(&of) {
                client.running -= 1;
            }
            self.tidy(of);
            found.extend(query.wanted.into_iter().map(|wanted| (wanted, addresses.clone())));
        }
        self.dispatch();
        found
    }

    /// Called now and then: why there was no thread for a name, if there was none. That is tried again.
    pub fn lacking(&mut self) -> Option<io::Error> {
        let lacking = self.lacking.take();
        if lacking.is_some() {
            self.dispatch();
        }
        lacking
    }

    /// A client that has nothing to wait for is not kept.
    fn tidy(&mut self, client: NodeId) {
        if self.clients.get(&client).is_some_and(|c| c.running == 0 && c.waiting.is_empty()) {
            self.clients.remove(&client);
        }
    }

    /// Gives threads something to do: the client that has fewest comes first, and of several the one whose turn
    /// came longest ago.
    fn dispatch(&mut self) {
        while self.running.len() < THREADS {
            let waits = |(_, client): &(&NodeId, &mut Client)| !client.waiting.is_empty() && client.running < EACH;
            let next = self.clients.iter_mut().filter(waits).min_by_key(|(_, c)| (c.running, c.served));
            let Some((&of, client)) = next else { return };
            if self.threads <= self.running.len() {
                match spawn(&self.resolve, &self.ordered, &self.done, &self.bell) {
                    Ok(()) => self.threads += 1,
                    // They wait for a thread that is there, or until there is one more.
                    Err(error) => {
                        self.lacking = Some(error);
                        return;
                    }
                }
            }
            let Some(query) = client.waiting.pop_front() else { return };
            self.begun += 1;
            (client.running, client.served) = (client.running + 1, self.begun);
            // The receiver is ours, too, so it is there.
            let _ = self.orders.send((self.begun, query.host.clone()));
            self.running.insert(self.begun, (of, query));
        }
    }
}

/// One more thread: lookup after lookup, until nobody orders any more.
fn spawn(
    resolve: &Resolve,
    ordered: &Arc<Mutex<Receiver<(u64, String)>>>,
    done: &Sender<(u64, Vec<SocketAddr>)>,
    bell: &Arc<OwnedFd>,
) -> io::Result<()> {
    let (resolve, ordered, done, bell) = (resolve.clone(), ordered.clone(), done.clone(), bell.clone());
    let work = move || {
        loop {
            let order = ordered.lock().ok().and_then(|ordered| ordered.recv().ok());
            let Some((lookup, host)) = order else { return };
            if done.send((lookup, resolve(&host))).is_err() {
                return;
            }
            let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
        }
    };
    thread::Builder::new().name("names".into()).spawn(work).map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use midpath_core::rng::{Purpose, below, stream};

    use super::*;

    /// A resolver that answers `n` names when it is told so `n` times.
    fn held() -> (Names, Sender<()>) {
        let (go, gate) = channel();
        let gate = Mutex::new(gate);
        let resolve = move |_: &str| {
            let _ = gate.lock().map(|gate| gate.recv());
            Vec::new()
        };
        (Names::new(Arc::new(resolve)).expect("names"), go)
    }

    fn hosts(names: &Names, client: u32) -> usize {
        names.running.values().filter(|(of, _)| *of == NodeId(client)).count()
    }

    /// The next names that are found.
    fn next(names: &mut Names) -> Vec<(u64, Vec<SocketAddr>)> {
        loop {
            let found = names.found();
            if !found.is_empty() {
                return found;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn no_client_has_more_threads_than_its_share() {
        let (mut names, go) = held();
        for i in 0..1000 {
            names.ask(NodeId(1), i, &format!("name-{i}"));
        }
        assert_eq!((hosts(&names, 1), names.threads), (EACH, EACH));
        for client in 2..=5 {
            (0..10).for_each(|i| names.ask(NodeId(client), u64::from(client) * 10_000 + i, &format!("name-{i}")));
        }
        assert_eq!((1..=5).map(|client| hosts(&names, client)).collect::<Vec<_>>(), [4, 4, 4, 4, 0]);
        // The first thread that is free is for who has none.
        go.send(()).expect("it waits");
        next(&mut names);
        assert_eq!((hosts(&names, 5), names.running.len()), (1, THREADS));
        drop(go);
    }

    /// All are served in the end, in turns, however they ask and hang up; and nothing is kept of them.
    #[test]
    fn all_who_wait_are_served_and_nothing_is_left() {
        let (mut names, go) = held();
        let mut rng = stream(58, Purpose::Fault, 1);
        let mut wanted = BTreeSet::new();
        for number in 0..2000 {
            let client = below(&mut rng, 40) as u32;
            names.ask(NodeId(client), number, &format!("name-{}", below(&mut rng, 20)));
            wanted.insert((number, client));
            if below(&mut rng, 3) == 0 {
                let (number, client) = *wanted.iter().next().expect("one");
                names.forget(NodeId(client), number);
                wanted.remove(&(number, client));
            }
            assert!(names.running.len() <= THREADS && (0..40).all(|client| hosts(&names, client) <= EACH));
        }
        drop(go);
        let mut left: BTreeSet<u64> = wanted.into_iter().map(|(number, _)| number).collect();
        while !left.is_empty() {
            next(&mut names).iter().for_each(|(number, _)| assert!(left.remove(number), "asked for, and once"));
        }
        while !names.running.is_empty() {
            names.found();
            thread::yield_now();
        }
        assert!(names.clients.is_empty());
    }

    #[test]
    fn what_a_client_asks_for_twice_is_looked_up_once() {
        let (mut names, go) = held();
        [1, 2, 3].into_iter().for_each(|number| names.ask(NodeId(1), number, "host"));
        names.ask(NodeId(2), 4, "host");
        names.forget(NodeId(1), 2);
        assert_eq!((hosts(&names, 1), hosts(&names, 2)), (1, 1));
        drop(go);
        let mut found = next(&mut names);
        while found.len() < 3 {
            found.extend(next(&mut names));
        }
        found.sort();
        assert_eq!(found.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn literals_are_told_from_names() {
        let is = |host: &str| literal(host).map(|address| address.ip().to_string());
        for (host, address) in [
            ("192.0.2.1", "192.0.2.1"),
            ("127.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("::1", "::1"),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ] {
            assert_eq!(is(host).as_deref(), Some(address), "{host}");
        }
        for name in
            ["", "localhost", "1.2.3.4.5", "256.1.1.1", "b\u{fc}cher.example", "a\0b", "1.2.3.4 x", "::1%nowhere"]
        {
            assert_eq!(is(name), None, "{name:?}");
        }
        assert!(system()("").is_empty() && !system()("localhost").is_empty());
    }
}
