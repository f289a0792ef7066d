//! Plain-text tables that go on below where the terminal ends, the least important columns last.

use std::fmt::Write as _;

/// How text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to use colour.
    pub colour: bool,
}

impl Style {
    /// For files and pipes: no colour, and no width to keep to.
    pub const PLAIN: Self = Self {
        width: usize::MAX,
        colour: false,
    };

    /// `text` in `paint`.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            _ if !self.colour => return text.into(),
            Paint::Plain => return text.into(),
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Good => "32",
            Paint::Warn => "33",
            Paint::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            paint: Paint::Plain,
        }
    }
    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self {
            text: text.into(),
            paint,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// Columns of a higher rank go on below first where the width does not suffice. Those of rank 0
    /// name the rows: they stay, and stand in every part.
    pub(crate) rank: u8,
    pub(crate) cells: Vec<Cell>,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.text.chars().count());
        cells.chain([self.title.chars().count()]).max().unwrap_or(0)
    }
}

const GAP: usize = 3;

/// Columns that a cell of several lines has at least. [ours]
const WRAPPED_MIN: usize = 15;

/// Columns of one screen, with their gaps.
fn width(columns: &[Column]) -> usize {
    let all = columns.iter().map(|column| column.width() + GAP);
    (all.sum::<usize>() + 1).saturating_sub(GAP)
}

/// One line per row. Columns that do not fit follow below, beside the names of the rows again, or
/// beside the first of these where there is no room for all; where not even that suffices, every
/// cell has a line.
pub(crate) fn render(columns: &[Column], style: Style) -> String {
    let all = || 0..columns.len();
    let some = |chosen: &[usize]| -> Vec<Column> {
        let of = all().filter(|i| chosen.contains(i));
        of.map(|i| columns[i].clone()).collect()
    };
    let mut names: Vec<usize> = all().filter(|&i| columns[i].rank == 0).collect();
    let mut waiting: Vec<usize> = all().filter(|&i| columns[i].rank > 0).collect();
    let fit =
        |names: &[usize], chosen: &[usize]| width(&some(&[names, chosen].concat())) <= style.width;
    let beside = |names: &[usize]| waiting.iter().all(|&i| fit(names, &[i]));
    let again = if beside(&names) {
        names.clone()
    } else {
        names.iter().copied().take(1).collect()
    };
    if !fit(&names, &[]) || !beside(&again) {
        return stacked(columns, style);
    }
    let mut out = String::new();
    loop {
        let mut chosen = waiting.clone();
        while !fit(&names, &chosen) {
            let last = (0..chosen.len()).max_by_key(|&at| (columns[chosen[at]].rank, at));
            let Some(at) = last else { break };
            chosen.remove(at);
        }
        waiting.retain(|i| !chosen.contains(i));
        out.push_str(&lines(&some(&[names.clone(), chosen].concat()), style));
        if waiting.is_empty() {
            return out;
        }
        out.push('\n');
        names.clone_from(&again);
    }
}

fn lines(columns: &[Column], style: Style) -> String {
    let mut out = String::new();
    let mut line = |cells: Vec<(String, Paint, usize)>| {
        let last = cells.len() - 1;
        for (i, (text, paint, width)) in cells.into_iter().enumerate() {
            out.push_str(if i == 0 { " " } else { "   " });
            out.push_str(&style.paint(paint, &text));
            if i < last {
                out.extend(std::iter::repeat_n(' ', width - text.chars().count()));
            }
        }
        out.push('\n');
    };
    line(
        columns
            .iter()
            .map(|c| (c.title.clone(), Paint::Bold, c.width()))
            .collect(),
    );
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        line(
            columns
                .iter()
                .map(|c| (c.cells[row].text.clone(), c.cells[row].paint, c.width()))
                .collect(),
        );
    }
    out
}

fn stacked(columns: &[Column], style: Style) -> String {
    let mut out = String::new();
    let widest = columns
        .iter()
        .map(|column| column.title.chars().count())
        .max()
        .unwrap_or(0);
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        for column in columns {
            let cell = &column.cells[row];
            let title = format!("{:widest$}", column.title);
            let indent = widest + 3;
            // Few columns of text are worse to read than a line that is too long.
            let width = if style.width < indent + WRAPPED_MIN {
                usize::MAX
            } else {
                style.width
            };
            let text = wrap(&cell.text, width, indent);
            let text = text.trim_start();
            let _ = writeln!(
                out,
                " {}  {}",
                style.paint(Paint::Bold, &title),
                style.paint(cell.paint, text)
            );
        }
        out.push('\n');
    }
    out
}

/// `text` to the right of `name`, in lines of at most `width` columns; below it where little room is
/// left beside it.
pub fn beside(name: &str, text: &str, width: usize) -> String {
    let indent = name.chars().count();
    if width < indent + WRAPPED_MIN {
        return format!("{}\n{}", name.trim_end(), wrap(text, width, 4));
    }
    let whole = wrap(text, width, indent);
    format!("{name}{}", whole.trim_start())
}

/// `text` in lines of at most `width` columns, broken at spaces, each begun with `indent` spaces.
/// A word that is longer than a line keeps a line of its own.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        }
        if used == 0 {
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent + length;
        } else {
            out.push(' ');
            used += 1 + length;
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let column = |title: &str, rank, cells: [&str; 2]| Column {
            title: title.into(),
            rank,
            cells: cells.into_iter().map(Cell::new).collect(),
        };
        vec![
            column("transport", 0, ["homa", "expresspass"]),
            column("p99", 1, ["1.23 ms", "1 us"]),
            column("drops", 3, ["unscheduled 12", "none"]),
            column("goodput", 2, ["9 Gb/s", "10 Gb/s"]),
        ]
    }

    #[test]
    fn what_does_not_fit_follows_below_the_least_important_last() {
        let wide = render(&columns(), Style::PLAIN);
        assert_eq!(
            wide,
            " transport     p99       drops            goodput\n \
             homa          1.23 ms   unscheduled 12   9 Gb/s\n \
             expresspass   1 us      none             10 Gb/s\n"
        );
        let narrow = render(
            &columns(),
            Style {
                width: 40,
                colour: false,
            },
        );
        assert_eq!(
            narrow,
            " transport     p99       goodput\n \
             homa          1.23 ms   9 Gb/s\n \
             expresspass   1 us      10 Gb/s\n\n \
             transport     drops\n \
             homa          unscheduled 12\n \
             expresspass   none\n"
        );
    }

    #[test]
    fn every_cell_is_shown_at_any_width() {
        for width in 1..60 {
            let shown = render(
                &columns(),
                Style {
                    width,
                    colour: false,
                },
            );
            for column in columns() {
                assert!(shown.contains(&column.title), "{width}: {shown}");
                for cell in column.cells {
                    assert!(shown.contains(&cell.text), "{width}: {shown}");
                }
            }
        }
    }

    #[test]
    fn what_fits_no_line_is_stacked() {
        let tiny = render(
            &columns(),
            Style {
                width: 12,
                colour: false,
            },
        );
        assert!(
            tiny.starts_with(" transport  homa\n p99        1.23 ms\n drops "),
            "{tiny}"
        );
    }

    #[test]
    fn colour_comes_only_when_asked_and_takes_no_width() {
        let painted = Style {
            width: 80,
            colour: true,
        };
        let text = render(&columns(), painted);
        assert!(text.contains("\x1b[1mtransport\x1b[0m     "));
        assert!(!render(&columns(), Style::PLAIN).contains('\x1b'));
    }

    #[test]
    fn long_text_breaks_between_words() {
        assert_eq!(
            wrap("one two three four", 10, 2),
            "  one two\n  three\n  four"
        );
    }
}
