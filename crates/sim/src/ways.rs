//! The routing of a whole run: which ports lead where, and from when.

use std::sync::Arc;
use switching::Routing;
use topology::{NodeId, Routes, Row, ecmp_index_salted};
use units::Time;

/// The routing of a run: a new table whenever a link comes or goes.
pub(crate) struct Ways {
    /// From when each table holds, ascending; the first from the start.
    pub(crate) epochs: Vec<(Time, Arc<Routes>)>,
}

/// The table that a switch used last, and until when that holds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Epoch {
    number: usize,
    until: Time,
}

/// What one switch looks up, and until when it holds.
pub(crate) struct View<'a> {
    row: Row<'a>,
    pub(crate) until: Time,
}

impl Ways {
    /// What `node` looks up at `now`. `epoch` is that of its last look, at a moment no later.
    #[inline]
    pub(crate) fn of(&self, node: NodeId, epoch: &mut Epoch, now: Time) -> View<'_> {
        if now >= epoch.until {
            self.turn(epoch, now);
        }
        View {
            row: self.epochs[epoch.number].1.row_of(node),
            until: epoch.until,
        }
    }

    #[cold]
    fn turn(&self, epoch: &mut Epoch, now: Time) {
        while now >= self.ends(epoch.number) {
            epoch.number += 1;
        }
        epoch.until = self.ends(epoch.number);
    }

    /// When the table of `epoch` holds no more.
    fn ends(&self, epoch: usize) -> Time {
        self.epochs
            .get(epoch + 1)
            .map_or(Time::NEVER, |&(from, _)| from)
    }
}

impl Routing for View<'_> {
    #[inline(always)] // once per packet-hop
    fn way(&self, host: u32, choose: impl FnOnce(&[u16]) -> u32) -> Option<u16> {
        self.row.way(host, choose)
    }

    #[inline(always)]
    fn ways(&self, host: u32) -> &[u16] {
        self.row.ways(host)
    }

    #[inline(always)]
    fn way_of_flow(conn: u32, salt: u32, ways: u32) -> u32 {
        ecmp_index_salted(conn, salt, ways)
    }
}
