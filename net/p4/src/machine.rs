//! A packet's way through bmv2's `simple_switch`: parser, ingress, queue, egress, deparser.

use std::collections::BTreeMap;

use crate::load::{Error, Node, Pipeline, Primitive, Program, Step};

/// `simple_switch`'s port for packets that are dropped.
const DROP_PORT: u128 = 511;

/// What the headers of a packet hold, and the metadata.
pub struct Packet {
    pub fields: Vec<u128>,
    pub valid: Vec<bool>,
}

/// A packet as it comes in, with what v1model's standard metadata say of it.
#[derive(Debug, Clone, Default)]
pub struct Arrival<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The port that it came in by.
    pub port: u16,
    /// When it came in and when it left the queue, in µs.
    pub arrived_us: u64,
    /// How long it was in the queue, in µs.
    pub queued_us: u32,
    /// Packets in the queue when it left.
    pub behind: u32,
}

/// A packet as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The port that it leaves by.
    pub port: u16,
}

/// Entries of a table: an action with its arguments for each key.
type Entries = BTreeMap<Vec<u128>, (usize, Vec<u128>)>;

/// A switch that runs a program, with its registers and the entries of its tables.
pub struct Machine {
    program: Program,
    registers: Vec<Vec<u128>>,
    entries: BTreeMap<String, Entries>,
}

/// A value's lowest `width` bits.
const fn cut(value: u128, width: u32) -> u128 {
    if width >= 128 { value } else { value & ((1 << width) - 1) }
}

impl Machine {
    /// A switch with empty registers.
    ///
    /// # Errors
    ///
    /// The text is no program of bmv2, or one that needs what this interpreter has not.
    pub fn new(text: &str) -> Result<Machine, Error> {
        let program = Program::new(text)?;
        let registers = program.arrays.iter().map(|array| vec![0; array.size]).collect();
        Ok(Machine { program, registers, entries: BTreeMap::new() })
    }

    /// A cell of a register array.
    ///
    /// # Errors
    ///
    /// There is none of the name or with the index.
    pub fn register(&self, name: &str, index: usize) -> Result<u128, Error> {
        let array = self.array(name)?;
        self.registers[array].get(index).copied().ok_or_else(|| Error::Index(name.into(), index as i128))
    }

    /// Writes a cell of a register array, as a control plane may.
    ///
    /// # Errors
    ///
    /// There is none of the name or with the index.
    pub fn write_register(&mut self, name: &str, index: usize, value: u128) -> Result<(), Error> {
        let array = self.array(name)?;
        *cell(&mut self.registers[array], name, index as i128)? = cut(value, self.program.arrays[array].bits);
        Ok(())
    }

    fn array(&self, name: &str) -> Result<usize, Error> {
        let found = self.program.arrays.iter().position(|array| array.name == name);
        found.ok_or_else(|| Error::Unknown(format!("register {name}")))
    }

    /// Adds an entry to a table, which is what a control plane does: exact values, and an action of
    /// the table with its arguments.
    ///
    /// # Errors
    ///
    /// There is no such table, or no such action there.
    pub fn insert(&mut self, table: &str, key: &[u128], action: &str, arguments: &[u128]) -> Result<(), Error> {
        let none = |what: &str| Error::Unknown(what.into());
        let pipelines = [&self.program.ingress, &self.program.egress];
        let found = pipelines.iter().flat_map(|p| &p.tables).find(|t| t.name == table).ok_or_else(|| none(table))?;
        let actions = &self.program.actions;
        let action = found.actions.iter().find(|at| actions[**at].name == action).ok_or_else(|| none(action))?;
        if key.len() != found.key.len() {
            return Err(none("a key of another length"));
        }
        self.entries.entry(table.into()).or_default().insert(key.into(), (*action, arguments.into()));
        Ok(())
    }

    /// Runs a packet. `None`: the switch dropped it.
    ///
    /// # Errors
    ///
    /// A number that has no room, or an index behind the end of a register array.
    pub fn run(&mut self, arrival: &Arrival<'_>) -> Result<Option<Departure>, Error> {
        let mut packet = Packet {
            fields: vec![0; self.program.names.fields.len()],
            valid: self.program.names.headers.iter().map(|h| h.metadata).collect(),
        };
        self.set(&mut packet, "ingress_port", u128::from(arrival.port))?;
        self.set(&mut packet, "packet_length", arrival.bytes.len() as u128)?;
        self.set(&mut packet, "ingress_global_timestamp", u128::from(arrival.arrived_us))?;
        let rest = self.parse(&mut packet, arrival.bytes)?;
        self.pipeline(&mut packet, |program| &program.ingress)?;
        let port = packet.fields[self.standard("egress_spec")?];
        if port == DROP_PORT {
            return Ok(None);
        }
        self.set(&mut packet, "egress_port", port)?;
        self.set(&mut packet, "egress_spec", DROP_PORT - 1)?;
        self.set(&mut packet, "deq_timedelta", u128::from(arrival.queued_us))?;
        self.set(&mut packet, "deq_qdepth", u128::from(arrival.behind))?;
        let left = u128::from(arrival.arrived_us) + u128::from(arrival.queued_us);
        self.set(&mut packet, "egress_global_timestamp", left)?;
        self.pipeline(&mut packet, |program| &program.egress)?;
        if packet.fields[self.standard("egress_spec")?] == DROP_PORT {
            return Ok(None);
        }
        Ok(Some(Departure { bytes: self.deparsed(&packet, rest), port: port as u16 }))
    }

    fn standard(&self, field: &str) -> Result<usize, Error> {
        self.program.names.place("standard_metadata", field)
    }

    /// Sets a field of the standard metadata.
    fn set(&self, packet: &mut Packet, field: &str, value: u128) -> Result<(), Error> {
        let at = self.standard(field)?;
        packet.fields[at] = cut(value, self.program.names.fields[at].bits);
        Ok(())
    }

    /// Fills headers; what is left is the payload. A packet that ends inside a header goes on with
    /// what was read, as in bmv2.
    fn parse<'a>(&self, packet: &mut Packet, bytes: &'a [u8]) -> Result<&'a [u8], Error> {
        let mut rest = bytes;
        let mut next = Some(self.program.first);
        while let Some(at) = next {
            let state = &self.program.states[at];
            for step in &state.steps {
                match step {
                    Step::Extract(header) => match self.extracted(packet, *header, rest) {
                        Some(behind) => rest = behind,
                        None => return Ok(rest),
                    },
                    Step::Validate(header, valid) => packet.valid[*header] = *valid,
                    Step::Set(field, value) => {
                        let value = value.value(packet, &[])?;
                        packet.fields[*field] = cut(value as u128, self.program.names.fields[*field].bits);
                    }
                }
            }
            let mut key: u128 = 0;
            for (part, width) in state.key.iter().zip(&state.widths) {
                key = key << width | part.value(packet, &[])? as u128;
            }
            let fits = |of: &Option<(u128, u128)>| of.is_none_or(|(value, mask)| key & mask == value & mask);
            next = state.transitions.iter().find(|t| fits(&t.of)).and_then(|t| t.next);
        }
        Ok(rest)
    }

    /// Fills a header's fields; the bytes behind it.
    fn extracted<'a>(&self, packet: &mut Packet, header: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let names = &self.program.names;
        let range = names.headers[header].fields.clone();
        let width: u32 = names.fields[range.clone()].iter().map(|f| f.bits).sum();
        let (own, behind) = bytes.split_at_checked(width as usize / 8)?;
        let mut at = 0;
        for field in range {
            let bit = |i: u32| u128::from(own[i as usize / 8] >> (7 - i % 8) & 1);
            let end = at + names.fields[field].bits;
            packet.fields[field] = (at..end).fold(0, |value, i| value << 1 | bit(i));
            at = end;
        }
        packet.valid[header] = true;
        Some(behind)
    }

    fn deparsed(&self, packet: &Packet, rest: &[u8]) -> Vec<u8> {
        let names = &self.program.names;
        let mut bytes = Vec::new();
        for header in self.program.deparser.iter().filter(|header| packet.valid[**header]) {
            bytes.extend(self.bytes_of(names.headers[*header].fields.clone(), packet));
        }
        bytes.extend(rest);
        bytes
    }

    /// Fields one after the other, the first bit first.
    fn bytes_of(&self, fields: impl IntoIterator<Item = usize>, packet: &Packet) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut at = 0;
        for field in fields {
            for i in (0..self.program.names.fields[field].bits).rev() {
                if at % 8 == 0 {
                    bytes.push(0);
                }
                let bit = (packet.fields[field] >> i & 1) as u8;
                *bytes.last_mut().expect("a byte was just pushed") |= bit << (7 - at % 8);
                at += 1;
            }
        }
        bytes
    }

    fn pipeline(&mut self, packet: &mut Packet, of: fn(&Program) -> &Pipeline) -> Result<(), Error> {
        let mut next = of(&self.program).first;
        while let Some(node) = next {
            next = match node {
                Node::Conditional(at) => {
                    let conditional = &of(&self.program).conditionals[at];
                    let taken = conditional.expression.value(packet, &[])? != 0;
                    conditional.next[usize::from(!taken)]
                }
                Node::Table(at) => self.table(packet, of, at)?,
            };
        }
        Ok(())
    }

    /// Applies a table; what comes after it.
    fn table(&mut self, packet: &mut Packet, of: fn(&Program) -> &Pipeline, at: usize) -> Result<Option<Node>, Error> {
        let table = &of(&self.program).tables[at];
        let key: Vec<u128> = table.key.iter().map(|field| packet.fields[*field]).collect();
        let entry = self.entries.get(&table.name).filter(|_| !key.is_empty()).and_then(|entries| entries.get(&key));
        let hit = entry.is_some();
        let (action, arguments) = entry.unwrap_or(&table.default).clone();
        let by = if hit { "__HIT__" } else { "__MISS__" };
        let name = &self.program.actions[action].name;
        let next = table.next.get(name).or_else(|| table.next.get(by)).copied().flatten();
        self.action(packet, action, &arguments)?;
        Ok(next)
    }

    fn action(&mut self, packet: &mut Packet, action: usize, arguments: &[u128]) -> Result<(), Error> {
        for primitive in &self.program.actions[action].primitives {
            let (field, value) = match primitive {
                Primitive::Assign(into, from) => (*into, from.value(packet, arguments)? as u128),
                Primitive::Copy(into, from) => (*into, packet.fields[*from]),
                Primitive::Read { into, array, index } => {
                    let index = index.value(packet, arguments)?;
                    (*into, *cell(&mut self.registers[*array], &self.program.arrays[*array].name, index)?)
                }
                Primitive::Hash { into, base, calculation, size } => {
                    let calculation = &self.program.calculations[*calculation];
                    let hash = (calculation.hash)(&self.bytes_of(calculation.input.iter().copied(), packet));
                    let size = size.value(packet, arguments)?.max(1);
                    (*into, (i128::from(hash) % size + base.value(packet, arguments)?) as u128)
                }
                Primitive::Write { array, index, value } => {
                    let (index, value) = (index.value(packet, arguments)?, value.value(packet, arguments)? as u128);
                    let of = &self.program.arrays[*array];
                    *cell(&mut self.registers[*array], &of.name, index)? = cut(value, of.bits);
                    continue;
                }
                Primitive::CopyHeader(into, from) => {
                    let headers = &self.program.names.headers;
                    let source = headers[*from].fields.clone();
                    packet.valid[*into] = packet.valid[*from];
                    packet.fields.copy_within(source, headers[*into].fields.start);
                    continue;
                }
                Primitive::Validate(header, valid) => {
                    packet.valid[*header] = *valid;
                    continue;
                }
                Primitive::Drop => (self.standard("egress_spec")?, DROP_PORT),
            };
            packet.fields[field] = cut(value, self.program.names.fields[field].bits);
        }
        Ok(())
    }
}

/// A cell of an array.
fn cell<'a>(cells: &'a mut [u128], name: &str, index: i128) -> Result<&'a mut u128, Error> {
    let at = usize::try_from(index).ok().filter(|at| *at < cells.len());
    at.map(|at| &mut cells[at]).ok_or_else(|| Error::Index(name.into(), index))
}
