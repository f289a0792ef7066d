//! What must hold for every packet that an endpoint of ours sends.

use model::wire::{Codec, Decoded, Envelope, HEADER_MAX, Link};
use model::{Encap, HostId, Packet};

/// Largest randomised credit. [xpass s3.1: 84 B to 92 B]
const CREDIT_SIZE_MAX: u16 = 92;

/// Whether the envelope makes sense; otherwise what is wrong with it.
pub(crate) fn envelope(
    packet: &Packet,
    from: HostId,
    peer: Option<HostId>,
    encap: Encap,
) -> Result<(), String> {
    if packet.to() == from {
        return Err("goes back to its own host".to_owned());
    }
    if peer != Some(packet.to()) {
        return Err(format!(
            "goes to {:?}; the connection leads to {peer:?}",
            packet.to()
        ));
    }
    if packet.size == 0 || packet.size > encap.wire_max().max(CREDIT_SIZE_MAX) {
        return Err(format!("has {} B, which no frame has", packet.size));
    }
    Ok(())
}

/// Whether the packet survives its codec; otherwise what came out.
pub(crate) fn through_codec(codec: &dyn Codec, packet: &Packet) -> Result<(), String> {
    let link = Link {
        conn: packet.conn.0,
        tag: 0,
        cookie: 0,
    };
    let mut bytes = [0; HEADER_MAX];
    let length = codec.encode(packet, link, &mut bytes);
    // A payload follows the header on the wire; the codec must not care what it is.
    let Decoded {
        packet: back,
        link: link_back,
        header_len,
    } = codec
        .decode(&bytes[..length])
        .map_err(|error| format!("its codec refuses: {error}"))?;
    let envelope = Envelope::read(&bytes[..length]);
    if envelope != Ok(Envelope::of(packet)) {
        return Err(format!("is to a switch {envelope:?}"));
    }
    let same = back.kind() == packet.kind()
        && back.class() == packet.class()
        && back.priority() == packet.priority()
        && back.conn == packet.conn
        && back.head == packet.head
        && codec.payload(&back) == codec.payload(packet);
    if !same {
        return Err(format!("comes out of its codec as {back:?}"));
    }
    if (link_back.conn, header_len) != (link.conn, length) {
        return Err(format!(
            "comes out of its codec with {link_back:?} and {header_len} B"
        ));
    }
    Ok(())
}
