//! ControlParameters and ControlResponse, as NFD has them.

use midpath_ndn::NameView;
use midpath_ndn::name::NAME;
use midpath_ndn::tlv::{Error, Reader, put, put_nested, put_number};

const PARAMETERS: u32 = 0x68;
const RESPONSE: u32 = 0x65;
const CODE: u32 = 0x66;
const TEXT: u32 = 0x67;
const FACE: u32 = 0x69;
const COST: u32 = 0x6A;
const STRATEGY: u32 = 0x6B;
const FLAGS: u32 = 0x6C;
const EXPIRATION: u32 = 0x6D;
const ORIGIN: u32 = 0x6F;
const MASK: u32 = 0x70;
const URI: u32 = 0x72;
const LOCAL_URI: u32 = 0x81;
const MTU: u32 = 0x89;
const PERSISTENCY: u32 = 0x85;

/// What a command is about, and what its answer says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// A prefix.
    pub name: Option<Vec<u8>>,
    /// A face.
    pub face: Option<u64>,
    /// Its other end.
    pub uri: Option<String>,
    /// Its end here.
    pub local_uri: Option<String>,
    /// Who says that a route is there.
    pub origin: Option<u64>,
    /// What going there costs.
    pub cost: Option<u64>,
    /// The longest frame.
    pub mtu: Option<u64>,
    /// Flags of a route or a face.
    pub flags: Option<u64>,
    /// Which flags are said.
    pub mask: Option<u64>,
    /// A strategy's name.
    pub strategy: Option<Vec<u8>>,
    /// When a route ends, ms.
    pub expiration: Option<u64>,
    /// What becomes of a face.
    pub persistency: Option<u64>,
}

fn text(value: &[u8]) -> Result<Option<String>, Error> {
    std::str::from_utf8(value).map(|text| Some(text.to_owned())).map_err(|_| Error::Value(URI))
}

fn checked(value: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    NameView::of(value).map(|name| Some(name.bytes().to_vec()))
}

impl Parameters {
    /// Reads the component that a command has them in.
    pub fn decode(component: &[u8]) -> Result<Parameters, Error> {
        let element = Reader::only(component)?;
        if element.kind != PARAMETERS {
            return Err(Error::Element(element.kind));
        }
        let (mut parameters, mut reader) = (Parameters::default(), Reader::new(element.value));
        while let Some(element) = reader.element()? {
            let p = &mut parameters;
            match element.kind {
                NAME => p.name = checked(element.value)?,
                FACE => p.face = Some(element.number()?),
                URI => p.uri = text(element.value)?,
                LOCAL_URI => p.local_uri = text(element.value)?,
                ORIGIN => p.origin = Some(element.number()?),
                COST => p.cost = Some(element.number()?),
                MTU => p.mtu = Some(element.number()?),
                FLAGS => p.flags = Some(element.number()?),
                MASK => p.mask = Some(element.number()?),
                STRATEGY => {
                    let name = Reader::only(element.value)?;
                    p.strategy = if name.kind == NAME { checked(name.value)? } else { None };
                }
                EXPIRATION => p.expiration = Some(element.number()?),
                PERSISTENCY => p.persistency = Some(element.number()?),
                // What NFD has besides: the store's capacity, settings of congestion marks.
                _ => {}
            }
        }
        Ok(parameters)
    }

    /// Writes them, in the order in which python-ndn reads them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(PARAMETERS, out, |out| {
            self.name.iter().for_each(|name| put(NAME, name, out));
            self.face.iter().for_each(|n| put_number(FACE, *n, out));
            self.uri.iter().for_each(|uri| put(URI, uri.as_bytes(), out));
            self.local_uri.iter().for_each(|uri| put(LOCAL_URI, uri.as_bytes(), out));
            for (kind, number) in
                [(ORIGIN, self.origin), (COST, self.cost), (MTU, self.mtu), (FLAGS, self.flags), (MASK, self.mask)]
            {
                number.iter().for_each(|n| put_number(kind, *n, out));
            }
            self.strategy.iter().for_each(|name| put_nested(STRATEGY, out, |out| put(NAME, name, out)));
            self.expiration.iter().for_each(|n| put_number(EXPIRATION, *n, out));
            self.persistency.iter().for_each(|n| put_number(PERSISTENCY, *n, out));
        });
    }
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 200, or what is wrong.
    pub code: u64,
    /// The same for people.
    pub text: String,
    /// What was done.
    pub body: Box<Parameters>,
}

impl Response {
    /// It was done.
    pub fn ok(body: Parameters) -> Response {
        Response { code: 200, text: "OK".to_owned(), body: Box::new(body) }
    }

    /// It was not.
    pub fn error(code: u64, text: impl Into<String>) -> Response {
        Response { code, text: text.into(), body: Box::default() }
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_nested(RESPONSE, &mut out, |out| {
            put_number(CODE, self.code, out);
            put(TEXT, self.text.as_bytes(), out);
            self.body.encode(out);
        });
        out
    }

    /// Reads one.
    pub fn decode(bytes: &[u8]) -> Result<Response, Error> {
        let element = Reader::only(bytes)?;
        if element.kind != RESPONSE {
            return Err(Error::Element(element.kind));
        }
        let (mut response, mut reader) = (Response::error(0, ""), Reader::new(element.value));
        while let Some(element) = reader.element()? {
            match element.kind {
                CODE => response.code = element.number()?,
                TEXT => response.text = String::from_utf8_lossy(element.value).into_owned(),
                PARAMETERS => {
                    let mut whole = Vec::new();
                    put(PARAMETERS, element.value, &mut whole);
                    response.body = Box::new(Parameters::decode(&whole)?);
                }
                _ => {}
            }
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_written() {
        let parameters = Parameters {
            name: Some(crate::name::of(&["a", "b"])),
            face: Some(300),
            uri: Some("udp4://192.0.2.1:6363".to_owned()),
            local_uri: Some("udp4://192.0.2.2:6363".to_owned()),
            origin: Some(0),
            cost: Some(1000),
            mtu: Some(1400),
            flags: Some(1),
            mask: Some(3),
            strategy: Some(crate::name::of(&["s"])),
            expiration: Some(1 << 40),
            persistency: Some(2),
        };
        let response = Response::ok(parameters);
        assert_eq!(Response::decode(&response.encode()), Ok(response));
        // python-ndn's parser wants a body, also of an error.
        assert!(Response::error(403, "no").encode().ends_with(&[PARAMETERS as u8, 0]));
    }
}
