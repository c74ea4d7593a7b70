//! Fast path for the common headers: read and written in place, without the full [`InrppHeader`], with the same result.

use midpath_core::packet::{Header, Packet};

use super::header::{
    ACK, BEGINS, Direction, FAR, FIXED, InrppHeader, NONCES, NOTE_PART, NOWHERE, Nonces, SAYS, SIGNATURE_PART, SIGNED,
    Slow, get, get_long, put,
};

/// Bodies with a note, and with a signature behind it.
const NOTED: usize = FIXED + NOTE_PART;
const ALL: usize = NOTED + SIGNATURE_PART;

/// Where nonces, the note's parts and the signature's begin.
const ECHO: usize = 2;
const RELEASE: usize = FIXED + 4;
const CANCEL: usize = FIXED + 6;
const MAC: usize = NOTED + 8;

/// Which parts the only header of a packet has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What every packet has.
    Plain,
    /// A note for the next hop besides.
    Noted,
    /// And its signature.
    Signed,
}

fn nonces(body: &[u8]) -> [u32; NONCES] {
    [get(body, ECHO), get(body, ECHO + 4), get(body, ECHO + 8)]
}

/// Whether nonces and note are written as [`InrppHeader`] would write them again.
fn is_normal(body: &[u8]) -> bool {
    let [first, second, third] = nonces(body);
    second | third == 0 || Nonces::of([first, second, third]).words() == [first, second, third]
}

fn has_note(body: &[u8]) -> bool {
    let (slow, release) = (get(body, FIXED), [body[RELEASE], body[RELEASE + 1]]);
    if slow == 0 { release == [0; 2] && get(body, CANCEL) != 0 } else { true }
}

/// The form of the header among a packet's headers; `None` for all that is less usual.
#[inline]
pub fn form(headers: &[u8]) -> Option<Form> {
    let [InrppHeader::TAG, len, body @ ..] = headers else { return None };
    if usize::from(*len) != body.len() {
        return None;
    }
    let parts = body.first()? & (FAR | SAYS | SIGNED | BEGINS);
    let form = match (body.len(), parts) {
        (FIXED, 0) => Form::Plain,
        (NOTED, SAYS) if has_note(body) => Form::Noted,
        (ALL, p) if p == SAYS | SIGNED && has_note(body) && get_long(body, NOTED) | get_long(body, MAC) != 0 => {
            Form::Signed
        }
        _ => return None,
    };
    is_normal(body).then_some(form)
}

/// Asks for slowing down on a plain ACK, and adds the nonce for the sender.
#[inline]
pub fn slow_down(packet: &mut Packet, slow: Slow) {
    let Some(body) = packet.only_body_resized(InrppHeader::TAG, NOTED) else { return };
    body[0] |= SAYS;
    let mut echo = Nonces::of(nonces(body));
    echo.add(slow.nonce);
    let words = echo.words();
    (0..NONCES).for_each(|i| put(body, ECHO + 4 * i, words[i]));
    put(body, FIXED, slow.nonce.0);
    body[RELEASE..CANCEL].copy_from_slice(&slow.release.to_be_bytes());
}

/// Whether a note asks for slowing down.
#[inline]
pub fn slows(packet: &Packet) -> bool {
    packet.body(InrppHeader::TAG).is_some_and(|body| body.len() >= NOTED && get(body, FIXED) != 0)
}

/// What the MAC of a note covers ([`mac_input`](super::auth::mac_input)), under this number.
#[inline]
pub fn words(packet: &Packet, number: u64) -> [u64; 6] {
    let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    let Some(body) = packet.body(InrppHeader::TAG).and_then(|body| body.get(..NOTED)) else { return [0; 6] };
    let ([first, second, third], kind) = (nonces(body), u32::from(InrppHeader::TAG) << 8 | u32::from(body[1]));
    let release = u16::from_be_bytes([body[RELEASE], body[RELEASE + 1]]);
    [
        pair(packet.flow.0, kind),
        packet.ack.into(),
        pair(get(body, FIXED), release.into()),
        pair(get(body, CANCEL), first),
        pair(second, third),
        number,
    ]
}

/// Number and MAC of a signed note.
#[inline]
pub fn signature(packet: &Packet) -> (u64, u64) {
    let body = packet.body(InrppHeader::TAG).filter(|body| body.len() >= ALL);
    body.map_or((0, 0), |body| (get_long(body, NOTED), get_long(body, MAC)))
}

/// Puts a signature behind a note.
#[inline]
pub fn sign(packet: &mut Packet, number: u64, mac: u64) {
    let Some(body) = packet.only_body_resized(InrppHeader::TAG, ALL) else { return };
    body[0] |= SIGNED;
    body[NOTED..MAC].copy_from_slice(&number.to_be_bytes());
    body[MAC..].copy_from_slice(&mac.to_be_bytes());
}

/// Takes the signature off, if there is one.
#[inline]
pub fn unsign(packet: &mut Packet) {
    if let Some(body) = packet.only_body_resized(InrppHeader::TAG, NOTED) {
        body[0] &= !SIGNED;
    }
}

/// A plain header, to be put on a packet.
#[derive(Debug, Clone, Copy)]
pub struct Plain([u8; FIXED]);

impl Plain {
    /// Of a packet that goes this way and carries these nonces.
    #[inline]
    pub fn new(direction: Direction, nonces: &Nonces) -> Plain {
        let mut body = [0; FIXED];
        body[0] = if direction == Direction::Ack { ACK } else { 0 };
        let words = nonces.words();
        (0..NONCES).for_each(|i| put(&mut body, ECHO + 4 * i, words[i]));
        put(&mut body, FIXED - 4, NOWHERE);
        Plain(body)
    }
}

impl Header for Plain {
    const TAG: u8 = InrppHeader::TAG;
    #[inline]
    fn body_len(&self) -> usize {
        FIXED
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }
    /// Whatever is read is an [`InrppHeader`].
    fn get(_: &[u8]) -> Option<Plain> {
        None
    }
}

#[cfg(test)]
mod tests {
    use midpath_core::packet::{FlowId, NodeId};
    use proptest::prelude::*;

    use super::super::auth::mac_input;
    use super::super::header::Nonce;
    use super::*;

    fn packet() -> Packet {
        Packet::new(FlowId(3), NodeId(0), NodeId(1), 52)
    }

    /// Numbers of which some are zero and some are equal.
    fn few() -> impl Strategy<Value = u32> {
        prop_oneof![Just(0), Just(7), Just(9), 1..u32::MAX]
    }

    /// Any header, mostly of a usual form, with nonces as they come from a peer.
    fn bodies() -> impl Strategy<Value = Vec<u8>> {
        let parts = prop_oneof![3 => Just(0), 3 => Just(SAYS), 3 => Just(SAYS | SIGNED), 1 => any::<u8>()];
        let rest = (few(), 0u16..3, few(), 0u64..2, 0u64..2, prop_oneof![9 => Just(0usize), 1 => 0..9usize]);
        (parts, any::<bool>(), 0u8..3, [few(), few(), few()], rest).prop_map(
            |(parts, ack, releases, echo, (slow, release, cancel, number, mac, more))| {
                let mut body = vec![parts | u8::from(ack), releases];
                echo.into_iter().for_each(|n| body.extend(n.to_be_bytes()));
                body.extend(NOWHERE.to_be_bytes());
                if parts & SAYS != 0 {
                    body.extend(slow.to_be_bytes());
                    body.extend(release.to_be_bytes());
                    body.extend(cancel.to_be_bytes());
                }
                if parts & SIGNED != 0 {
                    body.extend(number.to_be_bytes());
                    body.extend(mac.to_be_bytes());
                }
                body.extend(vec![0; more]);
                body
            },
        )
    }

    proptest! {
        /// All that is done in place, beside the header that is read, changed and put back.
        #[test]
        fn in_place_is_as_read_changed_and_put_back(
            body in bodies(), other in any::<bool>(), nonce in 1u32..12, release in 0u16..4, number in 1u64..9, mac: u64,
        ) {
            let mut packet = packet();
            if other {
                packet.push_raw(7, &[1, 2, 3]);
            }
            packet.push_raw(InrppHeader::TAG, &body);
            let Some(form) = form(packet.headers()) else { return Ok(()) };
            let mut plain = packet;
            let mut option = packet.header::<InrppHeader>().expect("what has a form is valid");
            prop_assert_eq!(form != Form::Plain, option.notifies());
            match form {
                Form::Plain => {
                    let slow = Slow { nonce: Nonce(nonce), release };
                    option.slow = Some(slow);
                    option.nonces.add(slow.nonce);
                    slow_down(&mut packet, slow);
                }
                Form::Noted => {
                    prop_assert_eq!(slows(&packet), option.slow.is_some());
                    (option.number, option.mac) = (number, mac);
                    prop_assert_eq!(words(&packet, number), mac_input(&packet, &option));
                    sign(&mut packet, number, mac);
                }
                Form::Signed => {
                    prop_assert_eq!(slows(&packet), option.slow.is_some());
                    prop_assert_eq!(signature(&packet), (option.number, option.mac));
                    prop_assert_eq!(words(&packet, option.number), mac_input(&packet, &option));
                    (option.number, option.mac) = (0, 0);
                    unsign(&mut packet);
                }
            }
            plain.set_header(&option);
            prop_assert_eq!(packet, plain);
            prop_assert_eq!(packet.size, plain.size);
        }

        #[test]
        fn a_plain_header_is_one(ack: bool, echo in [few(), few(), few()]) {
            let direction = if ack { Direction::Ack } else { Direction::Data };
            let (mut short, mut long, nonces) = (packet(), packet(), Nonces::of(echo));
            short.set_header(&Plain::new(direction, &nonces));
            long.set_header(&InrppHeader { direction, nonces, ..InrppHeader::default() });
            prop_assert_eq!(short, long);
            prop_assert_eq!(form(long.headers()), Some(Form::Plain));
        }
    }

    #[test]
    fn the_usual_headers_have_a_form() {
        let slow = Some(Slow { nonce: Nonce(7), release: 1 });
        let headers = [
            (InrppHeader { direction: Direction::Ack, ..InrppHeader::default() }, Some(Form::Plain)),
            (InrppHeader { slow, ..InrppHeader::default() }, Some(Form::Noted)),
            (InrppHeader { cancel: Some(Nonce(9)), number: 3, mac: 4, ..InrppHeader::default() }, Some(Form::Signed)),
            (InrppHeader { begin: Some(3), ..InrppHeader::default() }, None),
            (InrppHeader { far_slow: Some(Nonce(3)), ..InrppHeader::default() }, None),
        ];
        for (header, expected) in headers {
            let mut packet = packet();
            packet.set_header(&header);
            assert_eq!(form(packet.headers()), expected, "{header:?}");
        }
    }
}
