//! The rows of a log in the Standard Workload Format, if they contain only plain numbers.

use rustc_hash::FxHashMap;

/// Times, needs and limits: submit, wait, size, need, requested, estimate.
pub const NUMBERS: usize = 6;
/// Fields with few distinct whole numbers: status, user, group, queue, partition.
pub const LABELS: usize = 5;
/// What is read of each field of a row, in order. The think time is only checked.
const FIELDS: [Field; 18] = {
    use Field::{Checked, Job, Label, Number, Unread};
    [
        Job,
        Number(0),
        Number(1),
        Number(2),
        Number(3),
        Unread, // processor time
        Unread, // memory
        Number(4),
        Number(5),
        Unread, // requested memory
        Label(0),
        Label(1),
        Label(2),
        Unread, // executable
        Label(3),
        Label(4),
        Unread, // preceding job
        Checked,
    ]
};
/// Most digits before the decimal point, so numbers are below 10^12, the largest that logs may contain.
const DIGITS: usize = 12;

#[derive(Clone, Copy)]
enum Field {
    Job,
    Number(usize),
    Label(usize),
    Checked,
    Unread,
}

/// The distinct values of a field, and the position among them of the value of each row.
#[derive(Default)]
pub struct Labels {
    /// The values, in the order in which they occur first.
    pub distinct: Vec<i64>,
    /// Of each row.
    pub codes: Vec<u32>,
    positions: FxHashMap<i64, u32>,
}

impl Labels {
    fn push(&mut self, value: i64) {
        let code = *self.positions.entry(value).or_insert_with(|| {
            self.distinct.push(value);
            (self.distinct.len() - 1) as u32
        });
        self.codes.push(code);
    }
}

/// The columns of some rows.
#[derive(Default)]
pub struct Rows {
    /// See `NUMBERS`.
    pub numbers: [Vec<f64>; NUMBERS],
    /// The job numbers.
    pub jobs: Vec<i64>,
    /// See `LABELS`.
    pub labels: [Labels; LABELS],
}

/// Returns the rows of a text whose lines end with line feeds; `None` unless each line is a row of 18 fields.
///
/// The fields that are read must be decimal numbers below 10^12, without exponent or `+`, and whole where they are labels.
/// Blanks may surround them. Other rows are left to the readers that report on them.
pub fn plain_rows(text: &[u8]) -> Option<Rows> {
    let mut rows = Rows::default();
    let mut cursor = Cursor { text, at: 0 };
    while cursor.at < text.len() {
        for field in FIELDS {
            cursor.skip_blanks();
            match field {
                Field::Job => rows.jobs.push(cursor.whole()?),
                Field::Number(at) => rows.numbers[at].push(cursor.number()?),
                Field::Label(at) => rows.labels[at].push(cursor.whole()?),
                Field::Checked => _ = cursor.number()?,
                Field::Unread => cursor.skip_field()?,
            }
        }
        cursor.skip_blanks();
        if cursor.byte() != b'\n' {
            return None;
        }
        cursor.at += 1;
    }
    Some(rows)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// The next byte; a line feed after the end.
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    fn skip_blanks(&mut self) {
        while is_blank(self.byte()) {
            self.at += 1;
        }
    }

    /// Skips a field that is not read: letters, digits and signs, none of which has a meaning for the other readers.
    fn skip_field(&mut self) -> Option<()> {
        let begin = self.at;
        while self.byte().is_ascii_alphanumeric() || matches!(self.byte(), b'+' | b'-' | b'.' | b'_' | b'/') {
            self.at += 1;
        }
        (self.at > begin && is_end(self.byte())).then_some(())
    }

    /// Skips digits; returns their value, which wraps if they are many.
    fn digits(&mut self) -> u64 {
        let mut value: u64 = 0;
        while self.byte().is_ascii_digit() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(self.byte() - b'0'));
            self.at += 1;
        }
        value
    }

    fn number(&mut self) -> Option<f64> {
        let begin = self.at;
        let negative = self.byte() == b'-';
        self.at += usize::from(negative);
        let first = self.at;
        let whole = self.digits();
        if !(1..=DIGITS).contains(&(self.at - first)) {
            return None;
        }
        let mut value = if negative { -(whole as f64) } else { whole as f64 };
        if self.byte() == b'.' {
            self.at += 1;
            let point = self.at;
            self.digits();
            if self.at == point {
                return None;
            }
            value = std::str::from_utf8(&self.text[begin..self.at]).ok()?.parse().ok()?;
        }
        is_end(self.byte()).then_some(value)
    }

    fn whole(&mut self) -> Option<i64> {
        let number = self.number()?;
        let whole = number as i64;
        (whole as f64 == number).then_some(whole)
    }
}

/// Whether a byte separates fields, as in the readers of other rows.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0)
}

fn is_end(byte: u8) -> bool {
    byte == b'\n' || is_blank(byte)
}

#[cfg(test)]
mod tests {
    use super::{Rows, plain_rows};

    const ROW: &str = "7 10 -1 3.5 4 x -1 4 60 -1 1 5 6 -1 8 9 -1 -1\n";

    fn column(rows: &Rows, at: usize) -> &[f64] {
        &rows.numbers[at]
    }

    #[test]
    fn reads_the_fields_of_each_row() {
        let text = format!("{ROW}  {}", ROW.replace("7 10", "8 \t-0.25").replace(" 5 6 ", " 5.0 7 "));
        let rows = plain_rows(text.as_bytes()).expect("rows");
        assert_eq!(rows.jobs, [7, 8]);
        let columns = [[10.0, -0.25], [-1.0; 2], [3.5; 2], [4.0; 2], [4.0; 2], [60.0; 2]];
        for (at, expected) in columns.iter().enumerate() {
            assert_eq!(column(&rows, at), expected);
        }
        let distinct: Vec<_> = rows.labels.iter().map(|each| each.distinct.clone()).collect();
        assert_eq!(distinct, [vec![1], vec![5], vec![6, 7], vec![8], vec![9]]);
        assert_eq!(rows.labels[2].codes, [0, 1]);
        assert_eq!(plain_rows(b"").map(|rows| rows.jobs.len()), Some(0));
    }

    #[test]
    fn leaves_other_rows_to_other_readers() {
        let others = ["", "; note", "+7", "1e3", "1000000000000", ".5", "5.", "-", "7.5", "x", "7;", "7 7"];
        for first in others {
            let text = ROW.replacen('7', first, 1);
            assert!(plain_rows(text.as_bytes()).is_none(), "{text}");
        }
        for unread in [";", "a;b", "4;", "\"a\"", "\u{e9}", ",", "#"] {
            let text = ROW.replacen('x', unread, 1);
            assert!(plain_rows(text.as_bytes()).is_none(), "{text}");
        }
        for text in ["\n", " \n", &ROW.replace(" -1\n", "\n"), &ROW.replace("-1\n", "-\n"), &ROW[..ROW.len() - 3]] {
            assert!(plain_rows(text.as_bytes()).is_none(), "{text}");
        }
    }
}
