mod registers;
mod switch;
mod vectors;

#[test]
fn every_vector_is_passed_event_by_event() {
    vectors::pass_all(vectors::Player::new);
}
