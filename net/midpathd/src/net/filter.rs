//! Programs on clsact.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcBpfFlags, TcFilterBpfOption, TcHandle, TcMessage, TcOption};

use super::Net;

/// All protocols (linux/if_ether.h); in a filter it stands in the byte order of the wire.
const ETH_P_ALL: u16 = 3;
/// There is one filter at our priority, and it has this handle.
const HANDLE: TcHandle = TcHandle { major: 0, minor: 1 };

/// The side of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What comes in.
    Ingress,
    /// What goes out.
    Egress,
}

impl Side {
    fn parent(self) -> TcHandle {
        let minor = match self {
            Side::Ingress => TcHandle::MIN_INGRESS,
            Side::Egress => TcHandle::MIN_EGRESS,
        };
        TcHandle { major: TcHandle::CLSACT.major, minor }
    }
}

/// A filter on clsact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its place in the order.
    pub priority: u16,
    /// The program's name and number, if it is one.
    pub program: Option<(String, u32)>,
}

impl Net {
    /// The filters of a device's side; none where there is no clsact.
    pub fn filters(&mut self, index: u32, side: Side) -> io::Result<Vec<Filter>> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.parent = side.parent();
        let found = match self.dump(RouteNetlinkMessage::GetTrafficFilter(message)) {
            // EINVAL: "Parent Qdisc doesn't exists".
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Vec::new()),
            found => found?,
        };
        let filters = found.into_iter().filter_map(|message| match message {
            RouteNetlinkMessage::NewTrafficFilter(filter) => Some(read(&filter)),
            _ => None,
        });
        Ok(filters.collect())
    }

    /// Puts a program on a device's side.
    pub fn add_filter(
        &mut self,
        index: u32,
        side: Side,
        priority: u16,
        name: &str,
        program: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let mut message = filter(index, side, priority, HANDLE);
        let options = [
            TcFilterBpfOption::ProgFd(program.as_raw_fd() as u32),
            TcFilterBpfOption::ProgName(name.into()),
            TcFilterBpfOption::Flags(TcBpfFlags::DirectAction),
        ];
        message.attributes = vec![
            TcAttribute::Kind("bpf".into()),
            TcAttribute::Options(options.into_iter().map(TcOption::Bpf).collect()),
        ];
        self.request(RouteNetlinkMessage::NewTrafficFilter(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Takes the filter of a priority away.
    pub fn delete_filter(&mut self, index: u32, side: Side, priority: u16) -> io::Result<()> {
        let mut message = filter(index, side, priority, HANDLE);
        message.attributes = vec![TcAttribute::Kind("bpf".into())];
        self.request(RouteNetlinkMessage::DelTrafficFilter(message), 0)
    }
}

fn filter(index: u32, side: Side, priority: u16, handle: TcHandle) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.parent = side.parent();
    message.header.handle = handle;
    message.header.info = u32::from(priority) << 16 | u32::from(ETH_P_ALL.to_be());
    message
}

fn read(message: &TcMessage) -> Filter {
    let options = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => Some(options.as_slice()),
        _ => None,
    });
    let (mut name, mut id) = (None, None);
    for option in options.unwrap_or_default() {
        match option {
            TcOption::Bpf(TcFilterBpfOption::ProgName(found)) => name = Some(found.clone()),
            TcOption::Bpf(TcFilterBpfOption::ProgId(found)) => id = Some(*found),
            _ => {}
        }
    }
    Filter { priority: (message.header.info >> 16) as u16, program: name.zip(id) }
}
