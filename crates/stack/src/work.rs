//! What is between a stack and its applications: one per connection.

/// The applications of one end, by connection. A stack that accepts numbers its connections as they come.
#[derive(Debug, Default)]
pub struct Work {
    connections: Vec<Connection>,
}

/// One connection's application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connection {
    /// Bytes to send so far, from the beginning of the stream on. Each call may give more.
    pub given: u64,
    /// No more will follow: the stream ends after them.
    pub closed: bool,
    /// Messages to send so far as datagrams of their own, and how long each is.
    pub messages: (u64, usize),
    /// The application gives the connection up: to be closed at once.
    pub abort: bool,
    /// Told by the stack: bytes of the stream or of messages that have arrived.
    pub delivered: u64,
    /// Told by the stack: the stream has arrived to its end.
    pub complete: bool,
    /// Told by the stack: what was given has been sent and acknowledged to its end.
    pub acknowledged: bool,
    /// Told by the stack: the connection is gone, and nothing of it will be sent any more.
    pub over: bool,
    /// Bytes of the stream that the stack has taken, and messages.
    taken: (u64, u64),
}

impl Connection {
    /// Writes to the stream what was given, until `write`, which says how many bytes it takes, takes none. Returns
    /// whether the stream ends here.
    pub fn write(&mut self, mut write: impl FnMut(&'static [u8]) -> usize) -> bool {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        while self.taken.0 < self.given {
            let piece = &ZEROS[..ZEROS.len().min((self.given - self.taken.0) as usize)];
            match write(piece) {
                0 => return false,
                written => self.taken.0 += written as u64,
            }
        }
        self.closed
    }

    /// Hands over the messages that were given and not handed over before.
    pub fn send(&mut self, mut send: impl FnMut(Vec<u8>)) {
        for _ in self.taken.1..self.messages.0 {
            send(vec![0; self.messages.1]);
        }
        self.taken.1 = self.messages.0;
    }

    /// Whether it carries messages, and no stream.
    pub fn has_messages(&self) -> bool {
        self.messages.1 > 0
    }
}

impl Work {
    pub(crate) fn new(connections: usize) -> Work {
        Work { connections: vec![Connection::default(); connections] }
    }

    /// The application of connection `number`.
    pub fn of(&mut self, number: usize) -> &mut Connection {
        if number >= self.connections.len() {
            self.connections.resize_with(number + 1, Connection::default);
        }
        &mut self.connections[number]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.connections.iter_mut()
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.iter().map(|connection| connection.delivered).sum()
    }
}
