//! The machine's steps as text: a thread that spins alone would fill pages with one round.

/// The longest round that is looked for, in steps.
const ROUND: usize = 64;
/// As many steps of each end are shown of what no folding makes short.
const END: usize = 100;

/// Steps of the machine, one on a line: rounds that come again at once are shown once.
pub(super) fn numbered(steps: &[String]) -> String {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let (round, times) = repeated(&steps[at..]);
        for (index, step) in steps[at..at + round].iter().enumerate() {
            lines.push(format!("  {:>3}  {step}\n", at + index + 1));
        }
        if times > 1 {
            let what = if round == 1 { "this step" } else { &format!("these {round} steps") };
            lines.push(format!("       ({what}, {times} times)\n"));
        }
        at += round * times;
    }
    if lines.len() > 2 * END {
        let left_out = lines.len() - 2 * END;
        lines.splice(END..END + left_out, [format!("       ({left_out} lines left out)\n")]);
    }
    lines.concat()
}

/// How many steps at the front come again at once, and how many times they stand there: at least 3 times, or
/// once.
fn repeated(steps: &[String]) -> (usize, usize) {
    let rounds = 1..=ROUND.min(steps.len() / 3);
    let mut counted = rounds.map(|round| {
        let first = &steps[..round];
        (round, steps.chunks_exact(round).take_while(|chunk| *chunk == first).count())
    });
    counted.find(|(_, times)| *times >= 3).unwrap_or((1, 1))
}

#[cfg(test)]
mod tests {
    use super::numbered;

    fn text(steps: &[&str]) -> String {
        numbered(&steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn rounds_are_shown_once() {
        let spin = ["a", "b", "c", "b", "c", "b", "c", "d"];
        let folded = "    1  a\n    2  b\n    3  c\n       (these 2 steps, 3 times)\n    8  d\n";
        assert_eq!(text(&spin), folded);
        assert_eq!(text(&["a", "a"]), "    1  a\n    2  a\n");
        assert_eq!(text(&["a", "a", "a"]), "    1  a\n       (this step, 3 times)\n");
    }

    #[test]
    fn the_middle_of_what_is_long_is_left_out() {
        let steps: Vec<String> = (0..300).map(|number| number.to_string()).collect();
        let text = numbered(&steps);
        assert_eq!(text.lines().count(), 201);
        assert!(text.contains("  100  99\n       (100 lines left out)\n  201  200\n"));
    }
}
