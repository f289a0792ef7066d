//! Plain-text tables that give up their least important columns rather than wrap.

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
    /// Columns of a higher rank go first where the width does not suffice; rank 0 stays.
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

/// One line per row; where even the columns of rank 0 do not fit, one line per cell.
pub(crate) fn render(mut columns: Vec<Column>, style: Style) -> String {
    let width = |columns: &[Column]| {
        columns
            .iter()
            .map(|column| column.width() + GAP)
            .sum::<usize>()
            + 1
            - GAP
    };
    while width(&columns) > style.width {
        let last = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.rank > 0);
        let Some((i, _)) = last.max_by_key(|&(i, column)| (column.rank, i)) else {
            break;
        };
        columns.remove(i);
    }
    if width(&columns) > style.width {
        stacked(&columns, style)
    } else {
        lines(&columns, style)
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
            let _ = writeln!(
                out,
                " {}  {}",
                style.paint(Paint::Bold, &title),
                style.paint(cell.paint, &cell.text)
            );
        }
        out.push('\n');
    }
    out
}

/// `text` in lines of at most `width` columns, broken at spaces, each begun with `indent` spaces.
/// A word that is longer than a line keeps a line of its own.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
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
            column("p99", 0, ["1.23 ms", "1 us"]),
            column("drops", 2, ["unscheduled 12", "none"]),
            column("goodput", 1, ["9 Gb/s", "10 Gb/s"]),
        ]
    }

    #[test]
    fn the_least_important_column_goes_first() {
        let wide = render(columns(), Style::PLAIN);
        assert_eq!(
            wide,
            " transport     p99       drops            goodput\n \
             homa          1.23 ms   unscheduled 12   9 Gb/s\n \
             expresspass   1 us      none             10 Gb/s\n"
        );
        let narrow = render(
            columns(),
            Style {
                width: 40,
                colour: false,
            },
        );
        assert!(!narrow.contains("drops") && narrow.contains("goodput"));
        assert!(narrow.lines().all(|line| line.len() <= 40));
    }

    #[test]
    fn what_fits_no_line_is_stacked() {
        let tiny = render(
            columns(),
            Style {
                width: 12,
                colour: false,
            },
        );
        assert!(
            tiny.starts_with(" transport  homa\n p99        1.23 ms\n\n"),
            "{tiny}"
        );
    }

    #[test]
    fn colour_comes_only_when_asked_and_takes_no_width() {
        let painted = Style {
            width: 80,
            colour: true,
        };
        let text = render(columns(), painted);
        assert!(text.contains("\x1b[1mtransport\x1b[0m     "));
        assert!(!render(columns(), Style::PLAIN).contains('\x1b'));
    }

    #[test]
    fn long_text_breaks_between_words() {
        assert_eq!(
            wrap("one two three four", 10, 2),
            "  one two\n  three\n  four"
        );
    }
}
