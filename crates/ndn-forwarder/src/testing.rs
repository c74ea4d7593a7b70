//! Packets for tests.

use midpath_ndn::{Data, DataView, Interest, InterestView, Name, View};

/// Data in this name, fresh for so many ms.
pub fn a_data(name: &[u8], freshness: u64, content: &[u8]) -> Vec<u8> {
    let name = Name::get(name).expect("a name");
    let data = Data::unsigned(name, content.to_vec());
    let data = if freshness > 0 { data.fresh_for(freshness) } else { data };
    let mut wire = Vec::new();
    data.put(&mut wire);
    wire
}

/// An Interest in this name.
pub fn an_interest(name: &[u8], can_be_prefix: bool, must_be_fresh: bool, nonce: u32) -> Vec<u8> {
    let name = Name::get(name).expect("a name");
    let interest = Interest { name, can_be_prefix, must_be_fresh, nonce: Some(nonce), ..Interest::default() };
    let mut wire = Vec::new();
    interest.put(&mut wire);
    wire
}

pub fn data(wire: &[u8]) -> DataView<'_> {
    match View::of(wire) {
        Ok(View::Data(data)) => data,
        other => panic!("{other:?}"),
    }
}

pub fn interest(wire: &[u8]) -> InterestView<'_> {
    match View::of(wire) {
        Ok(View::Interest(interest)) => interest,
        other => panic!("{other:?}"),
    }
}
