//! What the memory of a switch held at most.

use super::Switch;
use crate::accounts::{Accounts, Holder, Peak};

impl Switch {
    /// Keeps accounts from now on of what its memory holds, where it has a flow control.
    pub(super) fn keep_accounts(&mut self) {
        if self.controlled {
            self.never_be_calm(); // they follow time across ports
            let accounts = self.common.accounts.take();
            let accounts = accounts.unwrap_or_else(|| Box::new(Accounts::new(self.ports.len())));
            self.common.accounts = Some(accounts);
        }
    }

    /// The same, and tells peaks of them.
    pub fn keep_peaks(&mut self) {
        self.keep_accounts();
        if let Some(accounts) = &mut self.common.accounts {
            accounts.told = true;
        }
    }

    /// Tells the most that its memory and each part of it held, where it keeps accounts, and the most in headroom in any case.
    pub fn peaks(&self, tell: &mut dyn FnMut(Peak)) {
        if let Some(accounts) = self.common.accounts.as_ref().filter(|own| own.told) {
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
