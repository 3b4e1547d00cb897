//! A history as a picture: calls as intervals.

/// A call in a picture.
pub struct Drawn {
    /// The number of its thread, from 1.
    pub thread: usize,
    /// What stands in it.
    pub label: String,
    /// The calls that end before it begins, those of its own thread too.
    pub after: Vec<usize>,
}

/// What an interval has around its label.
const ENDS: usize = 6;

/// A line for each thread. Calls overlap unless one ended before the other began.
pub fn picture(calls: &[Drawn]) -> String {
    let spans = columns(calls);
    let columns = spans.iter().map(|(_, last)| last + 1).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    let mut in_order: Vec<usize> = (0..calls.len()).collect();
    in_order.sort_by_key(|call| spans[*call].1);
    for call in in_order {
        let (first, last) = spans[call];
        let width: usize = widths[first..=last].iter().sum();
        let needed = calls[call].label.chars().count() + ENDS + 1;
        widths[last] += needed.saturating_sub(width);
    }
    let start = |column: usize| widths[..column].iter().sum::<usize>();
    let threads = calls.iter().map(|call| call.thread).max().unwrap_or(0);
    let mut out = String::new();
    for thread in 1..=threads {
        let mut line = format!("  thread {thread}  ");
        let margin = line.chars().count();
        for (call, (first, last)) in calls.iter().zip(&spans) {
            if call.thread == thread {
                let gap = (margin + start(*first)).saturating_sub(line.chars().count());
                let width = start(last + 1) - start(*first) - 1;
                let rest = width.saturating_sub(call.label.chars().count() + ENDS);
                line.extend([" ".repeat(gap), "├─ ".to_owned(), call.label.clone()]);
                line.extend([" ".to_owned(), "─".repeat(rest), "─┤".to_owned()]);
            }
        }
        if line.chars().count() > margin {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// The columns that each call begins and ends in: it begins as early and ends as late as it may.
fn columns(calls: &[Drawn]) -> Vec<(usize, usize)> {
    let mut spans = vec![(0, 0); calls.len()];
    let (mut begun, mut ended) = (vec![false; calls.len()], vec![false; calls.len()]);
    for column in 0..calls.len() {
        for (number, call) in calls.iter().enumerate() {
            if !begun[number] && call.after.iter().all(|other| ended[*other]) {
                (begun[number], spans[number].0) = (true, column);
            }
        }
        // Those end that the next one to begin comes after.
        let waits = |call: &&Drawn| call.after.iter().filter(|other| !ended[**other]).count();
        let open = calls.iter().enumerate().filter(|(number, _)| !begun[*number]);
        let next = open.map(|(_, call)| call).min_by_key(waits);
        for number in 0..calls.len() {
            let is_needed = next.is_none_or(|next| next.after.contains(&number));
            if begun[number] && !ended[number] && is_needed {
                (ended[number], spans[number].1) = (true, column);
            }
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::{Drawn, picture};

    fn drawn(thread: usize, label: &str, after: &[usize]) -> Drawn {
        Drawn { thread, label: label.to_owned(), after: after.to_vec() }
    }

    #[test]
    fn calls_overlap_unless_one_is_before() {
        let one = [drawn(1, "Write(o, 1)", &[]), drawn(2, "Read(o)", &[0])];
        let lines =
            ["  thread 1  ├─ Write(o, 1) ─┤", "  thread 2                    ├─ Read(o) ─┤"];
        assert_eq!(picture(&one), lines.join("\n") + "\n");
        let both = [drawn(1, "Write(o, 1)", &[]), drawn(2, "Read(o)", &[])];
        let lines = ["  thread 1  ├─ Write(o, 1) ─┤", "  thread 2  ├─ Read(o) ─────┤"];
        assert_eq!(picture(&both), lines.join("\n") + "\n");
    }

    #[test]
    fn a_call_may_last_longer_than_others() {
        let calls = [drawn(1, "A()", &[]), drawn(1, "B()", &[0]), drawn(2, "C()", &[])];
        let lines = ["  thread 1  ├─ A() ─┤ ├─ B() ─┤", "  thread 2  ├─ C() ───────────┤"];
        assert_eq!(picture(&calls), lines.join("\n") + "\n");
    }
}
