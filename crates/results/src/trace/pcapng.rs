//! A capture for Wireshark: an interface per port, a frame per packet and link, its head as on a wire.
//!
//! Every frame has Ethernet, IPv4 and UDP and the transport's own header, written by the codec that
//! the socket driver uses; the payload is left out. Times are nanoseconds, because tools overflow on
//! picoseconds; a comment has the rest. [draft-ietf-opsawg-pcapng; RFC 791; RFC 768]

use super::{Fate, Flight, Hop, Network};
use model::wire::declared::Layout;
use model::wire::{HEADER_MAX, Link, Writer};
use model::{Class, Packet};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The UDP port of one end of every simulated connection, for the dissector. From the range that
/// nobody is given. [RFC 6335 s6; ours]
pub const PORT: u16 = 51_230;
/// The dissector for Wireshark and tshark, but for the transports.
const DISSECTOR: &str = include_str!("../../assets/tidegate.lua");
/// Where it has them.
const DECLARED: &str = "--DECLARED--";

/// The number of a transport that frames of a link's own have here: on no wire they meet a header of ours. [ours]
const OF_LINKS: u8 = 255;
/// Fields of a kind of frames: names, and bits from and up to.
type Fields = &'static [(&'static str, u32, u32)];
/// Kinds of frames of a link's own, with their fields as bits of the three words of the head, one behind the other:
/// [`model::Signal`], the bitmaps of BFC and [`model::CreditFrame`].
#[rustfmt::skip]
const LINK_KINDS: [(u8, &str, Fields); 6] = [
    (0, "PAUSE_FLOW", &[("lasting_ns", 32, 64), ("point", 64, 96)]),
    (1, "RESUME_FLOW", &[]),
    (2, "PAUSE_PRIORITY", &[("of_priority", 24, 32), ("lasting_ns", 32, 64)]),
    (3, "RESUME_PRIORITY", &[("of_priority", 24, 32)]),
    (5, "CREDITS", &[("asks", 23, 24), ("limited", 22, 23), ("of_lane", 24, 32), ("sent", 48, 64), ("limit", 80, 96)]),
    (8, "BITMAP", &[("queues_0_31", 0, 32), ("queues_32_63", 32, 64), ("queues_64_95", 64, 96)]),
];

/// The dissector for Wireshark and tshark, of these headers.
pub fn dissector(layouts: &[&Layout]) -> String {
    let (mut transports, mut names) = (String::new(), String::new());
    let mut declare = |number: u8, name: &str, kinds: String| {
        let key = key(name);
        let _ = writeln!(
            transports,
            "  [{number}] = {{name = {name:?}, key = {key:?}, kinds = {{\n{kinds}  }}}},"
        );
        let _ = write!(names, "[{number}] = {name:?}, ");
    };
    for layout in layouts {
        let kinds = layout.kinds.iter().map(|kind| {
            let fields = kind.fields.iter().map(|field| (field.name, field.at));
            let form = if kind.short { "short" } else { "long" };
            declared(kind.number, kind.name, form, fields)
        });
        declare(layout.transport, layout.name, kinds.collect());
    }
    let kinds = LINK_KINDS.iter().map(|&(number, name, fields)| {
        let fields = fields.iter().map(|&(name, from, to)| (name, (from, to)));
        declared(number, name, "words", fields)
    });
    declare(OF_LINKS, "Link", kinds.collect());
    let declared = format!("local transports = {{\n{transports}}}\nlocal names = {{{names}}}");
    DISSECTOR.replace(DECLARED, &declared)
}

/// A kind of packet as the dissector has it, with the form of its header, its fields and their bits.
fn declared<'a>(
    number: u8,
    name: &str,
    form: &str,
    fields: impl Iterator<Item = (&'a str, (u32, u32))>,
) -> String {
    let fields = fields.map(|(name, (from, to))| format!("{{{name:?}, {from}, {to}}}"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    format!("    [{number}] = {{name = {name:?}, form = {form:?}, fields = {{{fields}}}}},\n")
}

/// A transport's name as a part of a filter: letters, digits and `_`.
fn key(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

/// What a frame has on the wire that no capture shows: preamble, gap and check sum.
const UNSEEN: u16 = 24;
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
/// DSCP of each class, in the order of their numbers: those of the socket driver. [RFC 4594]
const DSCP: [u8; Class::COUNT] = [48, 40, 18, 20, 0, 48];

/// Appends a block: type, length, body padded to four bytes, length.
fn block(out: &mut dyn Write, kind: u32, mut body: Vec<u8>) -> io::Result<()> {
    body.resize(body.len().next_multiple_of(4), 0);
    let length = u32::try_from(body.len() + 12).expect("a block is short");
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&body)?;
    out.write_all(&length.to_le_bytes())
}

/// Appends an option.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("an option is short");
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Writes every frame whose transmission lies in the trace, by the moment its first bit left.
///
/// # Errors
/// If `out` cannot be written.
pub fn pcapng(out: &mut dyn Write, network: &Network, flights: &[Flight]) -> io::Result<()> {
    let mut header = Vec::new();
    header.extend(0x1a2b_3c4d_u32.to_le_bytes()); // byte order
    header.extend([1, 0, 0, 0]); // version 1.0
    header.extend(u64::MAX.to_le_bytes()); // length of the section: not said
    block(out, 0x0a0d_0d0a, header)?;
    let hops = flights.iter().flat_map(|flight| &flight.hops);
    let ports: BTreeSet<u32> = hops.map(|hop| hop.link).collect();
    let ports: Vec<u32> = ports.into_iter().collect();
    for &port in &ports {
        let mut body = Vec::new();
        body.extend([1, 0, 0, 0]); // Ethernet
        body.extend(0u32.to_le_bytes()); // no limit of capture
        option(&mut body, 2, network.link_name(port).as_bytes());
        option(
            &mut body,
            8,
            &network.links[port as usize].rate.0.to_le_bytes(),
        );
        option(&mut body, 9, &[9]); // nanoseconds
        option(&mut body, 0, &[]);
        block(out, 1, body)?;
    }
    let mut frames: Vec<(&Hop, &Flight)> = flights
        .iter()
        .flat_map(|flight| flight.hops.iter().map(move |hop| (hop, flight)))
        .collect();
    frames.sort_by_key(|(hop, _)| (hop.start, hop.link));
    for (hop, flight) in frames {
        let last = hop.at == flight.hops[flight.hops.len() - 1].at;
        let mut comment = format!("first bit at {} ps", hop.start.0);
        match flight.fate {
            Fate::Dropped(link, reason, _) if last => {
                let port = network.link_name(link);
                let _ = write!(comment, "; dropped at {port}: {}", reason.name());
            }
            Fate::Lost if last => comment += "; lost to a fault on this link",
            _ => {}
        }
        let bytes = frame(network, &flight.packet);
        let (ns, captured) = (hop.start.0 / 1_000, bytes.len());
        let interface = ports
            .binary_search(&hop.link)
            .expect("every port is listed");
        let whole = usize::from(flight.packet.size.saturating_sub(UNSEEN)).max(captured);
        let word = |n: usize| {
            u32::try_from(n)
                .expect("a link has 32 bits, a length 16")
                .to_le_bytes()
        };
        let mut body = Vec::new();
        body.extend(word(interface));
        #[allow(clippy::cast_possible_truncation, reason = "the two halves of 64 bits")]
        for half in [(ns >> 32) as u32, ns as u32] {
            body.extend(half.to_le_bytes());
        }
        body.extend(word(captured));
        body.extend(word(whole));
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        option(&mut body, 1, comment.as_bytes());
        option(&mut body, 0, &[]);
        block(out, 6, body)?;
    }
    Ok(())
}

/// Four bytes of an address that identify a host.
fn address(first: u8, host: u32) -> [u8; 4] {
    let [_, a, b, c] = (host + 1).to_be_bytes();
    [first, a, b, c]
}

/// Source and destination port of connection `conn`, from host `from` to host `to`. Both directions share
/// one pair, as they must for the same way; the connection's own is of the end with the higher number.
#[allow(clippy::cast_possible_truncation, reason = "14 bits")]
const fn ports(conn: u32, from: u32, to: u32) -> (u16, u16) {
    let own = 0xc000 | (conn & 0x3fff) as u16;
    if from > to { (own, PORT) } else { (PORT, own) }
}

/// The host that stands for both ends of a link, in frames of the link's own: 10.255.255.255.
const NEIGHBOURS: u32 = 0x00ff_fffe;

/// The heads of a packet as bytes.
fn frame(network: &Network, packet: &Packet) -> Vec<u8> {
    let is_of_link = packet.class() == Class::Link;
    let (from, to) = if is_of_link {
        (NEIGHBOURS, NEIGHBOURS)
    } else {
        let to = packet.to().0;
        let ends = network.conns[packet.conn.0 as usize];
        (if ends.0 == to { ends.1 } else { ends.0 }, to)
    };
    let mut head = [0; HEADER_MAX];
    let link = Link {
        conn: packet.conn.0,
        tag: 0,
        cookie: 0,
    };
    let head_len = if is_of_link {
        let mut writer = Writer::begin(&mut head, packet, link, OF_LINKS);
        writer.u32(packet.head[0]);
        writer.u32(packet.head[1]);
        writer.len()
    } else {
        network.codec(packet.conn).encode(packet, link, &mut head)
    };
    let shown = usize::from(packet.size.saturating_sub(UNSEEN)).max(ETHERNET + IP + UDP + head_len);
    let length = |skip: usize| {
        u16::try_from(shown - skip)
            .expect("a frame's size")
            .to_be_bytes()
    };

    let mut bytes = Vec::with_capacity(ETHERNET + IP + UDP + head_len);
    for host in [to, from] {
        bytes.extend([2, 0]); // a locally administered address [IEEE 802]
        bytes.extend(address(0, host));
    }
    bytes.extend([0x08, 0x00]);
    let mut ip = vec![0x45, DSCP[packet.class_index()] << 2 | packet.ecn() as u8];
    ip.extend(length(ETHERNET));
    ip.extend([0, 0, 0x40, 0, packet.ttl(), 17, 0, 0]); // do not fragment; UDP
    ip.extend(address(10, from));
    ip.extend(address(10, to));
    let sum: u32 = ip
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    #[allow(clippy::cast_possible_truncation, reason = "folded twice into 16 bits")]
    let check = !((sum & 0xffff) as u16 + (sum >> 16) as u16);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    bytes.extend(ip);
    let (source, target) = ports(packet.conn.0, from, to);
    bytes.extend(source.to_be_bytes());
    bytes.extend(target.to_be_bytes());
    bytes.extend(length(ETHERNET + IP));
    bytes.extend([0, 0]); // no check sum
    bytes.extend(&head[..head_len]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_connection_has_one_5_tuple_and_no_other_of_its_hosts_has_the_same() {
        let tuple = |conn: u32, from: u32, to: u32| {
            let (source, target) = ports(conn, from, to);
            ((address(10, from), source), (address(10, to), target))
        };
        let mut seen = BTreeSet::new();
        for conn in 70_000..70_000 + (1 << 14) {
            let (there, back) = (tuple(conn, 3, 8), tuple(conn, 8, 3));
            assert_eq!(there, (back.1, back.0), "connection {conn}");
            assert!(seen.insert(there), "connection {conn}");
        }
        // The same number between other hosts is another connection.
        assert!(seen.insert(tuple(70_000, 3, 9)));
    }
}
