//! UDP over IPv4 in batches, with the TOS byte of every datagram: the only unsafe code of the crate.

use crate::clock::{Clock, duration};
use crate::wire::{BATCH, DATAGRAM_MAX, Datagram, Fill, Sent, Wire};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use units::{Bytes, Span, Time};

/// Room per received datagram: one byte more than we accept shows that one was too long.
const ROOM: usize = DATAGRAM_MAX + 1;
/// Room for one control message with an int, in words, so that it is aligned.
const CONTROL_WORDS: usize = 4;

/// One socket, and the batches on their way in and out.
pub struct Udp {
    socket: UdpSocket,
    clock: Clock,
    rx: RxBatch,
    tx: TxBatch,
}

/// What a [`Udp::recv`] brought.
struct RxBatch {
    bytes: Vec<[u8; ROOM]>,
    about: [About; BATCH],
    len: usize,
}

#[derive(Clone, Copy)]
struct About {
    len: usize,
    from: Option<SocketAddrV4>,
    tos: u8,
}

impl RxBatch {
    fn new() -> Self {
        let about = [About {
            len: 0,
            from: None,
            tos: 0,
        }; BATCH];
        Self {
            bytes: vec![[0; ROOM]; BATCH],
            about,
            len: 0,
        }
    }
}

/// Datagrams that wait for the socket.
struct TxBatch {
    frames: Vec<Frame>,
    /// Those before it have left.
    head: usize,
    len: usize,
}

/// One datagram on its way out.
struct Frame {
    bytes: [u8; DATAGRAM_MAX],
    len: usize,
    to: SocketAddrV4,
    tos: u8,
}

impl TxBatch {
    fn new() -> Self {
        let to = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let frame = |_| Frame {
            bytes: [0; DATAGRAM_MAX],
            len: 0,
            to,
            tos: 0,
        };
        Self {
            frames: (0..BATCH).map(frame).collect(),
            head: 0,
            len: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.head == self.len
    }
}

impl Udp {
    /// Binds, asks for buffers of `buffer` bytes, and learns the TOS byte of what comes.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(at: SocketAddrV4, buffer: Bytes) -> io::Result<Self> {
        let udp = Self {
            socket: UdpSocket::bind(at)?,
            clock: Clock::new(),
            rx: RxBatch::new(),
            tx: TxBatch::new(),
        };
        udp.socket.set_nonblocking(true)?;
        let buffer = libc::c_int::try_from(buffer.get()).unwrap_or(libc::c_int::MAX);
        // The system may grant less; a full buffer is a loss like any other.
        udp.set(libc::SOL_SOCKET, libc::SO_RCVBUF, buffer)?;
        udp.set(libc::SOL_SOCKET, libc::SO_SNDBUF, buffer)?;
        udp.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        // No fragments: a frame that does not fit the path must be seen as an error.
        udp.set(
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DO,
        )?;
        Ok(udp)
    }

    /// What the system is asked to wait for.
    fn awaited(&self) -> libc::pollfd {
        let events = libc::POLLIN | if self.is_blocked() { libc::POLLOUT } else { 0 };
        libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events,
            revents: 0,
        }
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let size = socklen(size_of::<libc::c_int>());
        // SAFETY: `value` lives through the call and `size` is its size.
        let rc = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                size,
            )
        };
        if rc == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Wire for Udp {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn local_addr(&self) -> io::Result<SocketAddrV4> {
        match self.socket.local_addr()? {
            std::net::SocketAddr::V4(addr) => Ok(addr),
            std::net::SocketAddr::V6(_) => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }

    fn recv(&mut self) -> io::Result<usize> {
        let batch = &mut self.rx;
        batch.len = 0;
        // SAFETY: all-zero bytes are valid values of these plain C structures.
        let (mut headers, mut addrs): ([libc::mmsghdr; BATCH], [libc::sockaddr_in; BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        // SAFETY: as above.
        let mut vectors: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        let mut controls = [[0u64; CONTROL_WORDS]; BATCH];
        for i in 0..BATCH {
            vectors[i].iov_base = batch.bytes[i].as_mut_ptr().cast();
            vectors[i].iov_len = ROOM;
            let header = &mut headers[i].msg_hdr;
            header.msg_name = (&raw mut addrs[i]).cast();
            header.msg_namelen = socklen(size_of::<libc::sockaddr_in>());
            header.msg_iov = &raw mut vectors[i];
            header.msg_iovlen = 1;
            header.msg_control = controls[i].as_mut_ptr().cast();
            header.msg_controllen = (CONTROL_WORDS * size_of::<u64>()) as _;
        }
        let count = libc::c_uint::try_from(BATCH).expect("a small constant");
        // SAFETY: every header points at buffers that live through the call, with their sizes.
        let got = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            return if passing(&error) { Ok(0) } else { Err(error) };
        };
        for i in 0..got {
            let header = &headers[i].msg_hdr;
            batch.about[i] = About {
                len: usize::try_from(headers[i].msg_len)
                    .unwrap_or(ROOM)
                    .min(ROOM),
                from: address(&addrs[i]),
                tos: received_tos(header),
            };
        }
        batch.len = got;
        Ok(got)
    }

    fn datagram(&self, i: usize) -> Option<Datagram<'_>> {
        let About { len, from, tos } = *self.rx.about[..self.rx.len].get(i)?;
        let (bytes, from) = (&self.rx.bytes[i][..len], from?);
        Some(Datagram { bytes, from, tos })
    }

    fn room(&self) -> usize {
        BATCH - self.tx.len
    }

    fn is_blocked(&self) -> bool {
        !self.tx.is_empty()
    }

    fn push(&mut self, to: SocketAddrV4, tos: u8, fill: &mut Fill<'_>) -> io::Result<()> {
        assert!(self.room() > 0, "pushed into a full batch");
        let frame = &mut self.tx.frames[self.tx.len];
        frame.len = fill(&mut frame.bytes)?;
        (frame.to, frame.tos) = (to, tos);
        self.tx.len += 1;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<Sent> {
        let Self {
            socket, tx: batch, ..
        } = self;
        let mut sent = Sent::default();
        while batch.head < batch.len {
            match send_some(socket, &batch.frames[batch.head..batch.len]) {
                Ok(n) => {
                    let gone = &batch.frames[batch.head..batch.head + n];
                    sent.datagrams += n as u64;
                    sent.bytes += gone.iter().map(|frame| frame.len as u64).sum::<u64>();
                    batch.head += n;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Of the first frame alone: it is lost, as it could be on the way.
                Err(error) if lost_one(&error) => {
                    sent.errors += 1;
                    batch.head += 1;
                }
                Err(error) => return Err(error),
            }
        }
        if batch.is_empty() {
            (batch.head, batch.len) = (0, 0);
        }
        Ok(sent)
    }

    fn wait_for_any<'a>(wires: impl Iterator<Item = &'a Self>, at_most: Span) -> io::Result<()> {
        sleep(&mut wires.map(Self::awaited).collect::<Vec<_>>(), at_most)
    }

    fn wait(&self, at_most: Span) -> io::Result<()> {
        sleep(&mut [self.awaited()], at_most)
    }
}

/// Sleeps until one of these has what it waits for, a signal comes, or the time is over.
fn sleep(awaited: &mut [libc::pollfd], at_most: Span) -> io::Result<()> {
    let time = duration(at_most);
    // SAFETY: all-zero bytes are a valid timespec.
    let mut timeout: libc::timespec = unsafe { std::mem::zeroed() };
    timeout.tv_sec = time.as_secs().try_into().unwrap_or(libc::time_t::MAX);
    timeout.tv_nsec = time.subsec_nanos().into();
    let count = awaited.len() as libc::nfds_t;
    // SAFETY: `count` is the number of pollfds, which live through the call as the timespec does; no signal mask.
    let rc = unsafe {
        libc::ppoll(
            awaited.as_mut_ptr(),
            count,
            &raw const timeout,
            std::ptr::null(),
        )
    };
    if rc >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(error)
    }
}

/// Hands datagrams to the system, and says how many it took.
fn send_some(socket: &UdpSocket, frames: &[Frame]) -> io::Result<usize> {
    // SAFETY: all-zero bytes are valid values of these plain C structures.
    let (mut headers, mut addrs): ([libc::mmsghdr; BATCH], [libc::sockaddr_in; BATCH]) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: as above.
    let mut vectors: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
    let mut controls = [[0u64; CONTROL_WORDS]; BATCH];
    for (i, frame) in frames.iter().enumerate() {
        addrs[i].sin_family = libc::sa_family_t::try_from(libc::AF_INET).expect("a small constant");
        addrs[i].sin_port = frame.to.port().to_be();
        addrs[i].sin_addr.s_addr = u32::from(*frame.to.ip()).to_be();
        vectors[i].iov_base = frame.bytes.as_ptr().cast_mut().cast();
        vectors[i].iov_len = frame.len;
        let header = &mut headers[i].msg_hdr;
        header.msg_name = (&raw mut addrs[i]).cast();
        header.msg_namelen = socklen(size_of::<libc::sockaddr_in>());
        header.msg_iov = &raw mut vectors[i];
        header.msg_iovlen = 1;
        if frame.tos != 0 {
            ask_tos(header, &mut controls[i], frame.tos);
        }
    }
    let count = libc::c_uint::try_from(frames.len()).expect("at most BATCH frames");
    // SAFETY: every header points at buffers that live through the call, with their sizes;
    // the kernel only reads the payload behind `iov_base`.
    let rc = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(rc).map_err(|_| io::Error::last_os_error())
}
fn socklen(size: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(size).expect("the size of a small structure")
}

/// Errors of a receive that mean "nothing now".
fn passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        // Refused: the echo of a datagram that found no receiver.
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused
    )
}

/// Errors of a send that concern one datagram and its destination, not the socket.
fn lost_one(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::ENOBUFS
                | libc::EMSGSIZE
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::ENETDOWN
                | libc::EPERM
                | libc::EINVAL
        )
    )
}

fn address(addr: &libc::sockaddr_in) -> Option<SocketAddrV4> {
    (libc::c_int::from(addr.sin_family) == libc::AF_INET).then(|| {
        let ip = Ipv4Addr::from(u32::from_be(addr.sin_addr.s_addr));
        SocketAddrV4::new(ip, u16::from_be(addr.sin_port))
    })
}

/// The TOS byte that came with a datagram; 0 where the system did not say.
fn received_tos(header: &libc::msghdr) -> u8 {
    // SAFETY: the kernel filled `msg_control` and `msg_controllen`; the macros stay inside, and a
    // control message of this level and type carries at least one byte.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while let Some(control) = at.as_ref() {
            if control.cmsg_level == libc::IPPROTO_IP && control.cmsg_type == libc::IP_TOS {
                return *libc::CMSG_DATA(at);
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    0
}

/// Makes `header` send its datagram with this TOS byte.
fn ask_tos(header: &mut libc::msghdr, room: &mut [u64; CONTROL_WORDS], tos: u8) {
    let int = libc::c_uint::try_from(size_of::<libc::c_int>()).expect("a small size");
    header.msg_control = room.as_mut_ptr().cast();
    // SAFETY: the room is aligned for cmsghdr, outlives the call that uses the header, and holds
    // CMSG_SPACE(int) = 24 bytes; CMSG_FIRSTHDR therefore points into it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(int) as _;
        let control = libc::CMSG_FIRSTHDR(header);
        (*control).cmsg_level = libc::IPPROTO_IP;
        (*control).cmsg_type = libc::IP_TOS;
        (*control).cmsg_len = libc::CMSG_LEN(int) as _;
        libc::CMSG_DATA(control)
            .cast::<libc::c_int>()
            .write_unaligned(tos.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_at_the_last_of_three_sockets_ends_the_sleep() {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let mut three = [0; 3].map(|_| Udp::bind(any, Bytes(1 << 20)).unwrap());
        let start = three[0].now();
        Udp::wait_for_any(three.iter(), Span::ms(20)).unwrap();
        assert!(three[0].now().since(start) >= Span::ms(20), "it has slept");
        let to = three[2].local_addr().unwrap();
        three[0].push(to, 0, &mut |_| Ok(1)).unwrap();
        three[0].flush().unwrap();
        let start = three[0].now();
        Udp::wait_for_any(three.iter(), Span::ms(60_000)).unwrap();
        assert!(three[0].now().since(start) < Span::ms(30_000));
        assert_eq!(three[2].recv().unwrap(), 1);
    }

    #[test]
    fn a_batch_arrives_whole_with_its_tos_bytes() {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let (mut a, mut b) = (
            Udp::bind(any, Bytes(1 << 20)).unwrap(),
            Udp::bind(any, Bytes(1 << 20)).unwrap(),
        );
        let [to, from] = [&b, &a].map(|udp| udp.local_addr().unwrap());
        for i in 0..BATCH {
            let byte = u8::try_from(i).unwrap();
            let mut fill = |bytes: &mut [u8; DATAGRAM_MAX]| {
                bytes.fill(byte);
                Ok(i * 40)
            };
            a.push(to, byte << 2 | 2, &mut fill).unwrap();
            // One that cannot be filled leaves no trace.
            if a.room() > 0 {
                let mut fail = |_: &mut [u8; DATAGRAM_MAX]| Err(io::ErrorKind::Other.into());
                a.push(to, 0, &mut fail).unwrap_err();
            }
        }
        assert_eq!(a.room(), 0);
        let sent = a.flush().unwrap();
        assert_eq!((sent.datagrams, sent.errors), (BATCH as u64, 0));
        assert!(!a.is_blocked() && a.room() == BATCH);

        let mut seen = 0;
        while seen < BATCH {
            b.wait(Span::ms(1000)).unwrap();
            let got = b.recv().unwrap();
            assert!(got > 0, "datagrams missing after {seen}");
            for i in 0..got {
                let byte = u8::try_from(seen).unwrap();
                let bytes = vec![byte; seen * 40];
                let tos = byte << 2 | 2;
                let expected = Datagram {
                    bytes: &bytes,
                    from,
                    tos,
                };
                assert_eq!(b.datagram(i), Some(expected));
                seen += 1;
            }
            assert_eq!(b.datagram(got), None);
        }
    }
}
