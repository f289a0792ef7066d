//! What a scenario may be called, as a part of the name of its folder.

/// Bytes of a scenario's name: with a hash behind it, it still is a file's name everywhere. [ours]
const NAME_MAX: usize = 200;

/// Why `name` cannot be part of the name of one folder; `None` where it can.
pub(crate) fn unfit(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it is empty".to_owned());
    }
    if name.len() > NAME_MAX {
        return Some(format!(
            "it has {} bytes, of {NAME_MAX} at most",
            name.len()
        ));
    }
    if name.starts_with('.') {
        return Some("it begins with a dot".to_owned());
    }
    let unfit = |&c: &char| c.is_control() || c == '/' || c == '\\';
    let found = name.chars().find(unfit)?;
    Some(format!("it contains {found:?}"))
}
