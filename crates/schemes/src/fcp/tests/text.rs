//! `text = "paper"`: nothing of ours.

use serde_json::{Value, json};

use crate::fcp::params::{Additions, FcpParams, HeaderRtt, PreloadFor};
use crate::params::read_text;

fn read(table: Value) -> FcpParams {
    read_text(&table).expect("well said")
}

#[test]
fn the_papers_text_has_none_of_our_additions() {
    let paper = read(json!({ "text": "paper" }));
    assert_eq!((paper.preload_for, paper.header_rtt), (PreloadFor::FlowSize, HeaderRtt::RoundTrip));
    assert_eq!((paper.network.catch_up, paper.network.additions), (false, Additions::NONE));
    // Each of them is on by default.
    let table = |additions| serde_json::to_value(additions).expect("a table");
    let (ours, none) = (table(Additions::default()), table(Additions::NONE));
    let same: Vec<_> = ours.as_object().expect("keys").iter().filter(|(key, value)| none[*key] == **value).collect();
    assert!(same.is_empty(), "{same:?}");
}

#[test]
fn one_addition_can_be_tried_on_the_papers_text() {
    let one = read(json!({ "text": "paper", "network": { "additions": { "restart": true } } }));
    assert_eq!(one.network.additions, Additions { restart: true, ..Additions::NONE });
    assert!(!one.network.catch_up);
}
