//! A column of the routing table: for each row the ports that lead to one destination.
//!
//! Most sets have one port, which then stands in the row itself. In large networks, where few sets
//! differ, a row has the number of its set instead, which mostly is one byte.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// How to get to one destination.
#[derive(Debug, Clone)]
pub struct Column {
    sets: Rows,
    /// Where each set begins in `ports`, and after the last set where all end.
    first: Box<[u32]>,
    ports: Box<[u16]>,
    /// How far each row is from there; empty where nobody asks.
    pub distance: Box<[u64]>,
}

/// What each row has.
#[derive(Debug, Clone)]
enum Rows {
    /// Its only port, or the number of its set with [`SET`].
    Direct(Box<[u16]>),
    /// The number of its set.
    Narrow(Box<[u8]>),
    /// The same, where a byte is too small.
    Wide(Box<[u32]>),
}

/// What one row has: its only port, or the number of its set.
enum Row<'a> {
    Only(&'a u16),
    Set(usize),
}

/// In a direct row: what follows is the number of a set.
const SET: u16 = 1 << 15;

/// Columns of up to so many rows are direct: two bytes a row are worth a faster answer. All columns
/// of such a network take 32 MB at most.
const DIRECT: usize = 4096;

impl Column {
    /// The ports of a row, in rising order; none if there is no way.
    #[inline]
    pub fn ports(&self, row: u32) -> &[u16] {
        match self.row(row) {
            Row::Only(port) => std::slice::from_ref(port),
            Row::Set(set) => self.set(set),
        }
    }

    #[inline]
    fn row(&self, row: u32) -> Row<'_> {
        match &self.sets {
            Rows::Direct(rows) => match &rows[row as usize] {
                port if *port < SET => Row::Only(port),
                set => Row::Set(usize::from(set & !SET)),
            },
            Rows::Narrow(sets) => Row::Set(usize::from(sets[row as usize])),
            Rows::Wide(sets) => Row::Set(sets[row as usize] as usize),
        }
    }

    #[inline]
    fn set(&self, set: usize) -> &[u16] {
        &self.ports[self.first[set] as usize..self.first[set + 1] as usize]
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let rows = match &self.sets {
            Rows::Direct(rows) => rows.len() * size_of::<u16>(),
            Rows::Narrow(sets) => sets.len(),
            Rows::Wide(sets) => sets.len() * size_of::<u32>(),
        };
        rows + size_of_val(&*self.first) + size_of_val(&*self.ports) + size_of_val(&*self.distance)
    }
}

/// A column in the making: sets of ports, row by row.
#[derive(Debug, Default)]
pub struct Sets {
    rows: Vec<u32>,
    first: Vec<u32>,
    ports: Vec<u16>,
    known: FxHashMap<Box<[u16]>, u32>,
    /// The numbers here of another column's sets, as far as they have come up.
    numbers: Vec<Option<u32>>,
}

impl Sets {
    /// Adds a row.
    pub fn push(&mut self, ports: &[u16]) {
        // Neighbouring rows mostly have the same ports: look before hashing.
        let before = self.rows.last().copied().filter(|&set| self.set(set) == ports);
        let set = before.unwrap_or_else(|| self.find(ports));
        self.rows.push(set);
    }

    /// Adds `rows` as they are in another column.
    pub fn push_as(&mut self, other: &Column, rows: Range<u32>) {
        self.numbers.resize(other.first.len(), None);
        for row in rows {
            match other.row(row) {
                Row::Only(port) => self.push(std::slice::from_ref(port)),
                Row::Set(set) => {
                    let number = self.numbers[set].unwrap_or_else(|| self.find(other.set(set)));
                    self.numbers[set] = Some(number);
                    self.rows.push(number);
                }
            }
        }
    }

    fn find(&mut self, ports: &[u16]) -> u32 {
        self.known.get(ports).copied().unwrap_or_else(|| self.add(ports))
    }

    fn set(&self, set: u32) -> &[u16] {
        let from = self.first[set as usize] as usize;
        let to = self.first.get(set as usize + 1).map_or(self.ports.len(), |&next| next as usize);
        &self.ports[from..to]
    }

    /// What stands in a direct row with this set, of fewer than [`SET`].
    fn direct(&self, set: u32) -> u16 {
        match self.set(set) {
            [port] if *port < SET => *port,
            _ => SET | set as u16,
        }
    }

    fn add(&mut self, ports: &[u16]) -> u32 {
        let set = self.first.len() as u32;
        self.first.push(self.ports.len() as u32);
        self.ports.extend_from_slice(ports);
        self.known.insert(ports.into(), set);
        set
    }

    /// The column, with the distances of its rows.
    pub fn finish(mut self, distance: Vec<u64>) -> Column {
        let count = self.first.len();
        self.first.push(self.ports.len() as u32);
        let sets = if self.rows.len() <= DIRECT && count <= usize::from(SET) {
            Rows::Direct(self.rows.iter().map(|&set| self.direct(set)).collect())
        } else if count <= 1 << u8::BITS {
            Rows::Narrow(self.rows.iter().map(|&set| set as u8).collect())
        } else {
            Rows::Wide(self.rows.into())
        };
        Column { sets, first: self.first.into(), ports: self.ports.into(), distance: distance.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever sets there are, few or more than a byte can tell apart, in few rows or many; a
        /// column as another one is the same.
        #[test]
        fn a_column_keeps_every_row(
            few in prop::collection::vec(prop::collection::vec(0u16..5, 0..4), 1..50),
            copies in 1u16..400,
            steps in 1u16..200,
            far in any::<bool>(),
        ) {
            let offset = if far { u16::MAX - 1000 } else { 0 };
            let rows: Vec<Vec<u16>> = (0..copies).flat_map(|copy| few.iter().map(move |row| {
                row.iter().map(|port| offset + port + copy / steps).collect()
            })).collect();
            let mut sets = Sets::default();
            rows.iter().for_each(|row| sets.push(row));
            let column = sets.finish(Vec::new());
            let mut copied = Sets::default();
            copied.push_as(&column, 0..rows.len() as u32);
            let copied = copied.finish(Vec::new());
            for (i, row) in rows.iter().enumerate() {
                prop_assert_eq!(column.ports(i as u32), &row[..]);
                prop_assert_eq!(copied.ports(i as u32), &row[..]);
            }
            let (direct, wide) = (matches!(column.sets, Rows::Direct(_)), matches!(column.sets, Rows::Wide(_)));
            prop_assert_eq!(direct, rows.len() <= DIRECT);
            prop_assert_eq!(wide, !direct && column.first.len() > 257);
        }
    }
}
