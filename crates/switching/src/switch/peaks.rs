//! What the memory of a switch held at most.

use super::Switch;
use crate::accounts::{Accounts, Holder, Peak};

impl Switch {
    /// Keeps accounts from now on of what its memory holds, where it has a flow control.
    pub fn keep_accounts(&mut self) {
        if self.controlled {
            self.never_be_calm(); // they follow time across ports
            self.common.accounts = Some(Box::new(Accounts::new(self.ports.len())));
        }
    }

    /// Tells the most that its memory and each part of it held, where it keeps accounts, and the most in headroom in any case.
    pub fn peaks(&self, tell: &mut dyn FnMut(Peak)) {
        if let Some(accounts) = &self.common.accounts {
            accounts.peaks(tell);
        }
        if let Some(control) = &self.common.control {
            control.headroom(&mut |port, priority, bytes| {
                let of = Holder::Headroom(port, priority);
                tell(Peak { of, bytes });
            });
        }
    }
}
