//! Tokens, initial data sequence numbers and HMACs, against Python's:
//!
//! ```python
//! import hashlib, hmac
//! a, b = bytes.fromhex("0123456789abcdef"), bytes.fromhex("fedcba9876543210")
//! r_a, r_b = bytes.fromhex("11223344"), bytes.fromhex("aabbccdd")
//! for key in (a, b):
//!     digest = hashlib.sha256(key).digest()
//!     print(digest[:4].hex(), digest[-8:].hex())
//! mac = lambda key, text: hmac.new(key, text, "sha256").digest()
//! print(mac(b + a, r_b + r_a)[:8].hex())
//! print(mac(a + b, r_a + r_b)[:20].hex())
//! print(mac(b + a, bytes([3, 10, 0, 0, 19, 0, 0]))[-8:].hex())
//! ```

use crate::mptcp::keys::{Key, Keys};

const NONCES: [u32; 2] = [0x1122_3344, 0xaabb_ccdd];

/// The initiator's and the listener's view.
fn ends() -> [Keys; 2] {
    let (a, b) = (Key::new(0x0123_4567_89ab_cdef), Key::new(0xfedc_ba98_7654_3210));
    [Keys { own: a, peer: b }, Keys { own: b, peer: a }]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn tokens_and_first_numbers_are_pythons() {
    let [Keys { own: a, peer: b }, _] = ends();
    assert_eq!((a.token, a.first), (0x55c5_3f5d, 0x5707_62cd_38be_9818 + 1));
    assert_eq!((b.token, b.first), (0x18f9_781b, 0x2808_18bf_0fa7_e28e + 1));
}

#[test]
fn proofs_are_pythons() {
    let ([a, b], [r_a, r_b]) = (ends(), NONCES);
    assert_eq!(hex(&b.short_proof(r_b, r_a)), "3bae5abc810a33c2");
    assert_eq!(hex(&a.proof(r_a, r_b)), "f61753d6b8ac227764b9d1b17a6f5ceeec9d1a8a");
    assert_eq!(hex(&b.vouch(3, [10, 0, 0, 19])), "83b8bdc96a998beb");
}

#[test]
fn a_proof_convinces_the_other_end_and_nobody_elses_does() {
    let ([a, b], [r_a, r_b]) = (ends(), NONCES);
    assert!(a.proves(&b.short_proof(r_b, r_a), r_a, r_b) && b.proves(&a.proof(r_a, r_b), r_b, r_a));
    assert!(a.vouched(b.vouch(3, [10, 0, 0, 19]), 3, [10, 0, 0, 19]));
    let thief = Keys { own: Key::new(1), ..a };
    assert!(!b.proves(&thief.proof(r_a, r_b), r_b, r_a), "another key");
    assert!(!b.proves(&a.proof(r_a, r_b + 1), r_b, r_a), "another handshake's");
    assert!(!b.proves(&b.proof(r_b, r_a), r_b, r_a), "one's own, sent back");
    assert!(!a.vouched(a.vouch(3, [10, 0, 0, 19]), 3, [10, 0, 0, 19]), "one's own, sent back");
    assert!(!a.vouched(b.vouch(3, [10, 0, 0, 19]), 4, [10, 0, 0, 19]), "another number");
    assert!(!a.vouched(b.vouch(3, [10, 0, 0, 19]), 3, [10, 0, 0, 20]), "another address");
    for at in 0..20 {
        let mut proof = a.proof(r_a, r_b);
        proof[at] ^= 1;
        assert!(!b.proves(&proof, r_b, r_a), "byte {at}");
    }
}
