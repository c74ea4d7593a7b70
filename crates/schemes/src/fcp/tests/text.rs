//! `text = "paper"`: nothing of ours.

use serde_json::{Value, json};

use crate::fcp::params::{Additions, FcpParams, HeaderRtt, PreloadFor};
use crate::params::read_text;
use crate::params::without::names;

fn read(table: Value) -> FcpParams {
    read_text(&table).expect("well said")
}

#[test]
fn the_papers_text_has_none_of_our_additions() {
    let paper = read(json!({ "text": "paper" }));
    assert_eq!((paper.preload_for, paper.header_rtt), (PreloadFor::FlowSize, HeaderRtt::RoundTrip));
    assert_eq!(paper.additions, Additions::NONE);
    // Each of them is on by default.
    assert_eq!(json!(read(json!({})))["without"], json!([]));
    assert_eq!(json!(paper)["without"], json!(names::<Additions>()));
}

#[test]
fn one_addition_can_be_tried_on_the_papers_text() {
    let others: Vec<_> = names::<Additions>().into_iter().filter(|name| name != "restart").collect();
    let one = read(json!({ "text": "paper", "without": others }));
    assert_eq!(one.additions, Additions { restart: true, ..Additions::NONE });
    assert_eq!(one.header_rtt, HeaderRtt::RoundTrip);
}
