//! What a node is called and where it leads, without an allocation for a host: a fabric has a hundred thousand of them.

use crate::LinkId;
use std::fmt;
use std::ops::Deref;

/// Letters of a name that are kept in place. [ours]
const SHORT: usize = 22;

/// A node's name, for people.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(Text);

#[derive(Clone, PartialEq, Eq)]
enum Text {
    /// So many bytes of the array; zeros behind them.
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

impl Name {
    /// This text.
    pub fn new(text: &str) -> Self {
        let mut short = [0; SHORT];
        let Some(place) = short.get_mut(..text.len()) else {
            return Self(Text::Long(text.into()));
        };
        place.copy_from_slice(text.as_bytes());
        #[allow(clippy::cast_possible_truncation, reason = "at most 22")]
        Self(Text::Short(text.len() as u8, short))
    }

    /// `prefix`, of at most 12 letters, and a number.
    pub(crate) fn numbered(prefix: &str, number: u32) -> Self {
        let mut digits = [0; 10];
        let (mut first, mut rest) = (digits.len(), number);
        loop {
            first -= 1;
            #[allow(clippy::cast_possible_truncation, reason = "a digit")]
            let digit = (rest % 10) as u8;
            digits[first] = b'0' + digit;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let (letters, length) = (prefix.len(), prefix.len() + digits.len() - first);
        let mut short = [0; SHORT];
        short[..letters].copy_from_slice(prefix.as_bytes());
        short[letters..length].copy_from_slice(&digits[first..]);
        #[allow(clippy::cast_possible_truncation, reason = "at most 22")]
        Self(Text::Short(length as u8, short))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Short(length, text) => {
                std::str::from_utf8(&text[..usize::from(*length)]).expect("it was made of text")
            }
            Text::Long(text) => text,
        }
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}
impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

/// The egress links of a node's ports, in port order: a list, of which one is kept in place.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Ports(Links);

#[derive(Clone, Default, PartialEq, Eq)]
enum Links {
    #[default]
    None,
    One(LinkId),
    Several(Vec<LinkId>),
}

impl Ports {
    /// Makes room for this many.
    pub(crate) fn expect(&mut self, ports: usize) {
        if ports > 1 {
            self.0 = Links::Several(Vec::with_capacity(ports));
        }
    }

    pub(crate) fn push(&mut self, link: LinkId) {
        match &mut self.0 {
            Links::None => self.0 = Links::One(link),
            &mut Links::One(first) => self.0 = Links::Several(vec![first, link]),
            Links::Several(links) => links.push(link),
        }
    }
}

impl Deref for Ports {
    type Target = [LinkId];
    #[inline]
    fn deref(&self) -> &[LinkId] {
        match &self.0 {
            Links::None => &[],
            Links::One(link) => std::slice::from_ref(link),
            Links::Several(links) => links,
        }
    }
}
impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
impl<'a> IntoIterator for &'a Ports {
    type Item = &'a LinkId;
    type IntoIter = std::slice::Iter<'a, LinkId>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_texts_that_they_were_made_from() {
        for text in [
            "",
            "h0",
            "twenty-two letters, no",
            "twenty-three letters, so",
            "Zürich",
        ] {
            let name = Name::new(text);
            assert_eq!((name.as_str(), name.to_string()), (text, text.to_owned()));
        }
        for number in [0, 9, 10, 4_096, u32::MAX] {
            let name = Name::numbered("three-tier-x", number);
            assert_eq!(&*name, format!("three-tier-x{number}"));
            assert_eq!(name, Name::new(&name), "equal texts are equal names");
        }
    }

    #[test]
    fn ports_are_a_list() {
        for expected in [0, 1, 5] {
            let mut ports = Ports::default();
            ports.expect(expected);
            for n in 0..4 {
                assert_eq!(ports.len(), n as usize);
                ports.push(LinkId(n));
            }
            assert_eq!(*ports, [0, 1, 2, 3].map(LinkId));
        }
    }
}
