//! Faces as the tables know them. Sockets belong to the driver.

use midpath_core::units::Time;
use midpath_ndn::link::Reassembler;
use rustc_hash::FxHashMap;

/// A face's number, never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaceId(pub u64);

/// The face of management.
pub const MANAGEMENT: FaceId = FaceId(1);
/// The first number of other faces. NFD's.
const FIRST: u64 = 256;

/// Whether the other end is on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// It is not: names in /localhost do not pass.
    NonLocal = 0,
    /// It is.
    Local = 1,
}

/// What becomes of a face when its socket fails or is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistency {
    /// It stays until it fails.
    Persistent = 0,
    /// The other end made it: it goes when it is silent, too.
    OnDemand = 1,
    /// It stays whatever happens.
    Permanent = 2,
}

/// What a face is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaceSpec {
    /// Whether the other end is on this machine.
    pub scope: Scope,
    /// What becomes of it.
    pub persistency: Persistency,
    /// The other end.
    pub remote: String,
    /// This end.
    pub local: String,
    /// The longest frame that it carries: the driver cuts longer ones to pieces.
    pub mtu: usize,
}

/// What went over a face. Nacks are counted as such, not as Interests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Interests.
    pub interests: u64,
    /// Data.
    pub data: u64,
    /// Nacks.
    pub nacks: u64,
    /// All bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds another count.
    pub fn add(&mut self, other: &Traffic) {
        self.interests += other.interests;
        self.data += other.data;
        self.nacks += other.nacks;
        self.bytes += other.bytes;
    }
}

/// Nacks in a second that say that nothing leads there, to another machine, and at once. Ours: who asks
/// for a name that is not served learns it; a flood of such names does not fill the way back.
const REFUSALS: u64 = 100;

/// How many of them a face has got of late: each is due after the one before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refusals {
    free_at: Time,
}

impl Refusals {
    /// Whether another one may go.
    pub fn take(&mut self, now: Time) -> bool {
        let each = Time(Time::from_secs(1).0 / REFUSALS);
        let next = self.free_at.max(now).saturating_add(each);
        let due = next <= now.saturating_add(Time::from_secs(1));
        if due {
            self.free_at = next;
        }
        due
    }
}

/// A face.
#[derive(Debug)]
pub struct Face {
    /// What it is.
    pub spec: FaceSpec,
    /// What came in.
    pub received: Traffic,
    /// What went out.
    pub sent: Traffic,
    /// Frames that are no packets, or break a rule.
    pub malformed: u64,
    /// Pieces of packets that wait for the others.
    pub pieces: Option<Box<Reassembler>>,
    /// Nacks that say that nothing leads there.
    pub refusals: Refusals,
}

impl Face {
    /// Whether the other end is on this machine.
    pub fn is_local(&self) -> bool {
        self.spec.scope == Scope::Local
    }
}

/// The faces there are.
#[derive(Debug)]
pub struct Faces {
    faces: FxHashMap<FaceId, Face>,
    next: u64,
    limit: usize,
    /// What faces that are gone had carried: received, sent.
    gone: [Traffic; 2],
}

impl Faces {
    /// At most `limit` besides that of management.
    pub fn new(limit: usize) -> Faces {
        let spec = FaceSpec {
            scope: Scope::Local,
            persistency: Persistency::Permanent,
            remote: "internal://".to_owned(),
            local: "internal://".to_owned(),
            mtu: usize::MAX,
        };
        let faces = FxHashMap::from_iter([(MANAGEMENT, Faces::made(spec))]);
        Faces { faces, next: FIRST, limit, gone: Default::default() }
    }

    fn made(spec: FaceSpec) -> Face {
        let (received, sent) = Default::default();
        Face { spec, received, sent, malformed: 0, pieces: None, refusals: Refusals::default() }
    }

    /// A new face; `None` if there are too many.
    pub fn add(&mut self, spec: FaceSpec) -> Option<FaceId> {
        if self.faces.len() > self.limit {
            return None;
        }
        let id = FaceId(self.next);
        self.next += 1;
        self.faces.insert(id, Faces::made(spec));
        Some(id)
    }

    /// Takes a face out. That of management stays.
    pub fn remove(&mut self, id: FaceId) -> Option<Face> {
        let face = self.faces.remove(&id)?;
        self.gone[0].add(&face.received);
        self.gone[1].add(&face.sent);
        Some(face)
    }

    /// A face.
    pub fn get(&self, id: FaceId) -> Option<&Face> {
        self.faces.get(&id)
    }

    /// A face, to count.
    pub fn get_mut(&mut self, id: FaceId) -> Option<&mut Face> {
        self.faces.get_mut(&id)
    }

    /// Whether the other end of a face is on this machine.
    pub fn is_local(&self, id: FaceId) -> bool {
        self.get(id).is_some_and(Face::is_local)
    }

    /// All of them, by number.
    pub fn sorted(&self) -> Vec<(FaceId, &Face)> {
        let mut all: Vec<_> = self.faces.iter().map(|(id, face)| (*id, face)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    /// How many there are besides that of management.
    pub fn len(&self) -> usize {
        self.faces.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What all faces have received and sent so far, those that are gone as well.
    pub fn traffic(&self) -> [Traffic; 2] {
        let mut sums = self.gone;
        for face in self.faces.values() {
            sums[0].add(&face.received);
            sums[1].add(&face.sent);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_so_many_at_once_and_in_a_second() {
        let mut refusals = Refusals::default();
        let at = |refusals: &mut Refusals, ms: u64| (0..1000).filter(|_| refusals.take(Time::from_ms(ms))).count();
        assert_eq!([at(&mut refusals, 5), at(&mut refusals, 14), at(&mut refusals, 115)], [100, 0, 11]);
        assert_eq!(at(&mut refusals, 60_000), 100);
    }

    #[test]
    fn numbers_are_given_once_and_faces_are_bounded() {
        let mut faces = Faces::new(2);
        let spec = faces.get(MANAGEMENT).expect("it is there").spec.clone();
        let first = faces.add(spec.clone()).expect("there is room");
        assert!(faces.add(spec.clone()).is_some());
        assert_eq!(faces.add(spec.clone()), None);
        faces.get_mut(first).expect("it is there").received.data = 3;
        assert!(faces.remove(first).is_some());
        assert_eq!(faces.add(spec), Some(FaceId(FIRST + 2)));
        assert_eq!((faces.len(), faces.traffic()[0].data), (2, 3));
    }
}
