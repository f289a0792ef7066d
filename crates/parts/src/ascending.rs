//! Sizes that ascend, as a parameter: cut-offs between priorities, thresholds of steps.

use crate::forms::{Form, Size, Takes};
use std::fmt;
use toml::Value;
use units::Bytes;

/// Up to `N` sizes in bytes, each larger than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ascending<const N: usize> {
    sizes: [u64; N],
    count: usize,
}

impl<const N: usize> Ascending<N> {
    /// Those of `N` sizes or fewer; none where they do not ascend.
    pub const fn new(list: &[u64]) -> Option<Self> {
        if list.len() > N {
            return None;
        }
        let mut sizes = [0; N];
        let mut count = 0;
        while count < list.len() {
            if count > 0 && list[count] <= list[count - 1] {
                return None;
            }
            sizes[count] = list[count];
            count += 1;
        }
        Some(Self { sizes, count })
    }

    /// The first `most` of them.
    #[must_use]
    pub fn first(self, most: usize) -> Self {
        Self::new(&self.list()[..self.count.min(most)]).expect("they ascend")
    }

    /// The sizes.
    pub fn list(&self) -> &[u64] {
        &self.sizes[..self.count]
    }
}

impl<const N: usize> fmt::Debug for Ascending<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list().fmt(f)
    }
}

/// A list of ascending sizes, each up to this many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes(pub u64);

impl<const N: usize> Form<Ascending<N>> for Sizes {
    fn read(&self, value: &Value) -> Result<Ascending<N>, String> {
        let list = value
            .as_array()
            .ok_or_else(|| format!("{value} is no list; write [\"200B\", \"2800B\"]"))?;
        let one = Size(0, self.0);
        let sizes: Result<Vec<u64>, _> = list.iter().map(|size| one.read(size)).collect();
        if list.len() > N {
            return Err(format!(
                "has {} sizes: {N} at most are possible",
                list.len()
            ));
        }
        Ascending::new(&sizes?).ok_or_else(|| "write each size larger than the one before".into())
    }
    fn write(&self, of: &Ascending<N>) -> Value {
        let sizes = of.list().iter().map(|&size| Bytes(size).to_string());
        Value::Array(sizes.map(Value::from).collect())
    }
    fn takes(&self) -> Takes {
        Takes::Sizes(N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Two = Ascending<2>;

    #[test]
    fn sizes_ascend_and_are_few() {
        assert_eq!(Two::new(&[5, 6]).unwrap().list(), [5, 6]);
        assert_eq!(Two::new(&[]).unwrap().list(), []);
        for wrong in [&[5, 5][..], &[6, 5], &[1, 2, 3]] {
            assert_eq!(Two::new(wrong), None);
        }
        assert_eq!(format!("{:?}", Two::new(&[7])), "Some([7])");
    }

    #[test]
    fn a_list_is_read_and_written_and_an_error_says_what_to_write() {
        let read = |text: &str| {
            let table: toml::Table = format!("of = {text}").parse().unwrap();
            Form::<Two>::read(&Sizes(1_000), &table["of"])
        };
        let two = read("[\"200B\", \"1KB\"]").unwrap();
        assert_eq!(Sizes(1_000).write(&two), Value::from(vec!["200B", "1KB"]));
        assert_eq!(read("[]").unwrap().list(), []);
        let said = |text| read(text).unwrap_err();
        assert_eq!(said("7"), "7 is no list; write [\"200B\", \"2800B\"]");
        assert!(said("[\"1001B\"]").contains("out of range"));
        let many = "has 3 sizes: 2 at most are possible";
        assert_eq!(said("[\"1B\", \"2B\", \"3B\"]"), many);
        let wrong = "write each size larger than the one before";
        assert_eq!(said("[\"2B\", \"1B\"]"), wrong);
        assert_eq!(Some(two.first(1)), Two::new(&[200]));
        assert_eq!(two.first(3), two);
        let takes = Form::<Two>::takes(&Sizes(1_000));
        assert_eq!(
            takes.to_string(),
            "up to 2 ascending sizes like [\"200B\", \"2800B\"]"
        );
    }
}
