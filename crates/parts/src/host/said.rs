//! What packets say, and the packets that say it.

use super::Token;
use crate::go_back::{Piece, Wanted};
use model::Lifetime;

/// What a packet says. A transport has a kind of packet for each: [`words!`](crate::words).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Opens a connection.
    Open {
        /// What it carries before it ends.
        lifetime: Lifetime,
        /// Which life of it this is, where the opener says so ([`Rules::EAGER`](super::Rules::EAGER)); 0 where the accepter does.
        token: Token,
    },
    /// Accepts it.
    Accept {
        /// Which life of it this is; never 0.
        token: Token,
    },
    /// A piece of a message.
    Data {
        /// That of the connection.
        token: Token,
        /// It opens the connection, for nobody has answered yet. Only where connections are
        /// [`Rules::EAGER`](super::Rules::EAGER).
        opens: bool,
        /// What the connection carries before it ends; one message each way is one where it does not open.
        lifetime: Lifetime,
        /// Which.
        piece: Piece,
    },
    /// What the receiver wants next.
    Ack {
        /// That of the connection.
        token: Token,
        /// Which.
        wanted: Wanted,
    },
    /// This end does not know that life of the connection.
    Reset {
        /// That of the packet that it answers; 0 where it does not want to know the connection.
        token: Token,
    },
}

/// Makes [`Rules::said`](crate::host::Rules::said) and [`Rules::packet`](crate::host::Rules::packet) of the kinds of packet that a transport has declared, by the names of
/// their fields; of fields that are its own it says what they hold before [`Rules::stamp`](crate::host::Rules::stamp).
///
/// `parts::words!(Kind: Open {}, Accept {}, Data { rate: 0 }, Ack {}, Reset {});`
#[macro_export]
macro_rules! words {
    (
        $Kind:ident: $Open:ident { $($open:ident: $open_is:expr),* }, $Accept:ident { $($accept:ident: $accept_is:expr),* },
        $Data:ident { $($data:ident: $data_is:expr),* }, $Ack:ident { $($ack:ident: $ack_is:expr),* },
        $Reset:ident { $($reset:ident: $reset_is:expr),* }
    ) => {
        fn said(packet: &::model::Packet) -> Option<$crate::host::Said> {
            use $crate::go_back::{Piece, Wanted};
            use $crate::host::Said;
            Some(match $Kind::of(packet)? {
                $Kind::$Open => Said::Open { lifetime: $Open::read(packet).lifetime, token: 0 },
                $Kind::$Accept => Said::Accept { token: $Accept::read(packet).token },
                $Kind::$Data => {
                    let $Data { token, ordinal, offset, length, end, one_shot, .. } = $Data::read(packet);
                    let piece = Piece { ordinal, offset, length, end };
                    let lifetime = if one_shot { ::model::Lifetime::OneMessage } else { ::model::Lifetime::Persistent };
                    Said::Data { token, opens: false, lifetime, piece }
                }
                $Kind::$Ack => {
                    let $Ack { token, ordinal, offset, gap, .. } = $Ack::read(packet);
                    let wanted = Wanted { ordinal, offset, gap };
                    Said::Ack { token, wanted }
                }
                $Kind::$Reset => Said::Reset { token: $Reset::read(packet).token },
            })
        }

        fn packet(
            said: $crate::host::Said,
            to: ::model::HostId,
            conn: ::model::ConnId,
            size: u16,
        ) -> ::model::Packet {
            use $crate::go_back::{Piece, Wanted};
            use $crate::host::Said;
            match said {
                Said::Open { lifetime, .. } => $Open { lifetime, $($open: $open_is),* }.packet(to, conn, size),
                Said::Accept { token } => $Accept { token, $($accept: $accept_is),* }.packet(to, conn, size),
                Said::Data { token, lifetime, piece: Piece { ordinal, offset, length, end }, .. } => {
                    let one_shot = lifetime != ::model::Lifetime::Persistent;
                    $Data { token, ordinal, offset, length, end, one_shot, $($data: $data_is),* }.packet(to, conn, size)
                }
                Said::Ack { token, wanted: Wanted { ordinal, offset, gap } } => {
                    $Ack { token, ordinal, offset, gap, $($ack: $ack_is),* }.packet(to, conn, size)
                }
                Said::Reset { token } => $Reset { token, $($reset: $reset_is),* }.packet(to, conn, size),
            }
        }
    };
}
