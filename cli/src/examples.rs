//! Examples for the end of `--help`: a test runs all of them, in this order, in one folder beside the suite.

use clap::Command;

use crate::exit;

/// What to begin with.
const FIRST: &[(&str, &str)] = &[
    ("litmus allowed litmus-suite", "what the models say, against the verdicts in the files"),
    ("litmus run litmus-suite -n 1000", "what a simulated machine shows"),
    ("litmus allowed --help", "more examples of each command"),
];

/// The commands, by their names with blanks between, and their examples: a line each, with what it is for.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "allowed",
        &[
            ("litmus allowed litmus-suite/rmw-paper/CoRW+put-poll-w.litmus", "one test in full"),
            ("litmus allowed litmus-suite -k 'MP* and rdma-wait'", "some tests, under one model"),
            ("litmus allowed litmus-suite/put-get --engine both", "by both engines, compared"),
            (
                "litmus allowed litmus-suite/put-get/MP+put-put+po.litmus --across",
                "on which networks is it safe?",
            ),
            ("litmus allowed litmus-suite/values --format json", "for programs"),
        ],
    ),
    ("watch", &[("litmus watch litmus-suite/rmw-paper", "check again whenever a file is saved")]),
    (
        "explain",
        &[
            (
                "litmus explain litmus-suite/put-get/MP+put-put+po.litmus --outcome 'a=1, b=0'",
                "why is it forbidden?",
            ),
            (
                "litmus explain litmus-suite/rmw-paper/CoRW+put-w.litmus --outcome z=1 --svg z.svg",
                "and as a picture",
            ),
        ],
    ),
    ("explain-code", &[("litmus explain-code wrong-home-node", "what does this diagnostic mean?")]),
    (
        "run",
        &[
            ("litmus run litmus-suite/put-get -n 1000 --seed 1", "on the simulator"),
            ("litmus run litmus-suite -k 'SB*' -n 1000 --record sb.jsonl", "keep what was seen"),
            (
                "litmus run litmus-suite/put-get --fault puts-reordered -n 1000 -x",
                "a broken machine",
            ),
            (
                "litmus run litmus-suite --backend verbs --nodes a,b -n 100000",
                "real RDMA, two machines",
            ),
        ],
    ),
    (
        "report",
        &[
            ("litmus report sb.jsonl", "judge a record again"),
            ("litmus report sb.jsonl -o report --mutants 0", "report.html and others in a folder"),
            ("litmus report sb.jsonl --model sc --only violation", "by another model"),
        ],
    ),
    (
        "gen",
        &[
            ("litmus gen pivot --cell 'nrW, nrW' --size 4 -o puts", "tests of one rule"),
            ("litmus gen random --seed 7 --count 50 -o random", "random tests"),
            ("litmus gen cycles 'rb oppo[nrW, nrW] rfe po' -o cycles", "the tests of a cycle"),
        ],
    ),
    (
        "gen pivot",
        &[
            ("litmus gen pivot --list", "the rules of the model"),
            ("litmus gen pivot -k 'rao or *pf*' --size 3 -o rao", "the tests of some of them"),
        ],
    ),
    (
        "gen cycles",
        &[(
            "litmus gen cycles 'rb po rb po' 'rfe po rb po' -o classics",
            "store buffering and message passing",
        )],
    ),
    (
        "gen random",
        &[(
            "litmus gen random --model rdma-wait --count 50 --weights put=8,mfence=0 -o puts-random",
            "mostly puts",
        )],
    ),
    (
        "coverage",
        &[(
            "litmus coverage litmus-suite/put-get --model rdma-tso",
            "which rules do these tests test?",
        )],
    ),
    (
        "compare",
        &[
            (
                "litmus compare rdma-tso sc litmus-suite/rmw-paper/SB+put-poll+put-poll.litmus",
                "needs it care?",
            ),
            (
                "litmus compare rdma-tso sc --size 4 --exhaustive 0 -o differ",
                "the smallest programs that differ",
            ),
        ],
    ),
    ("refine", &[("litmus refine wlock --calls 1", "a shipped library, with small clients")]),
    (
        "repair",
        &[(
            "litmus repair litmus-suite/put-get/CoWR+get-r.litmus --forbid 'a=0'",
            "what must be added to make the outcome impossible?",
        )],
    ),
    (
        "merge",
        &[
            (
                "litmus allowed litmus-suite/values --format json --shard 1/2 > 1.json",
                "on one machine",
            ),
            ("litmus allowed litmus-suite/values --format json --shard 2/2 > 2.json", "on another"),
            ("litmus merge 1.json 2.json", "what both found"),
        ],
    ),
    (
        "agent",
        &[
            (
                "head -c 32 /dev/urandom | base64 > secret",
                "make a secret, and copy it to all machines",
            ),
            (
                "litmus agent --listen 127.0.0.1:18515 --secret-file secret",
                "wait for `litmus run --nodes …`",
            ),
        ],
    ),
    (
        "nic",
        &[
            ("litmus nic -- litmus devices", "devices without hardware"),
            (
                "litmus nic -- litmus run litmus-suite/put-get --backend verbs -n 100",
                "the tests on this NIC",
            ),
            (
                "litmus nic --fault rfence-ignored -- litmus run litmus-suite/rfence --backend verbs -n 1000",
                "a broken NIC is found",
            ),
            ("litmus nic --trace steps.jsonl -- litmus devices", "each step of each request"),
            (
                "litmus nic --listen 127.0.0.1 --secret-file secret -- litmus devices",
                "other hosts may connect: litmus nic --peer HOST --secret-file secret -- …",
            ),
        ],
    ),
    (
        "nic power",
        &[
            ("litmus nic power litmus-suite/rfence -o measured", "what these tests find"),
            (
                "litmus nic power litmus-suite/rfence -o measured --fault rfence-ignored --seeds 5",
                "how surely they find a fault",
            ),
        ],
    ),
    (
        "nic trace",
        &[
            ("litmus nic trace steps.jsonl", "in words"),
            ("litmus nic trace steps.jsonl --at 3280 --within 10", "around a time"),
            ("litmus nic trace steps.jsonl --address 7f6198061d00", "of some memory"),
        ],
    ),
    (
        "compile",
        &[
            (
                "litmus compile litmus-suite/rmw-paper/CoRW+put-poll-w.litmus --target plan",
                "what runs where",
            ),
            (
                "litmus compile litmus-suite/rmw-paper/CoRW+put-poll-w.litmus --target verbs-c -o corw.c",
                "a C program over libibverbs",
            ),
            ("litmus compile litmus-suite/cpu-classics --target herd -o herd", "files for herd7"),
        ],
    ),
    (
        "check",
        &[(
            "litmus check litmus-suite --deny-warnings",
            "tests, models and libraries below a folder",
        )],
    ),
    (
        "fmt",
        &[
            ("litmus fmt litmus-suite/rmw-paper/CoRW+put-w.litmus", "print in normal form"),
            ("litmus fmt --check litmus-suite", "is anything not in normal form?"),
        ],
    ),
    ("lsp", &[("litmus lsp", "editors start this; docs/editors.md says how")]),
    (
        "models",
        &[
            ("litmus models", "the shipped models"),
            ("litmus models rdma-tso > mine.cat", "the text of one, to change it"),
        ],
    ),
    ("devices", &[("litmus devices", "the RDMA devices of this machine")]),
    ("completions", &[("litmus completions bash > litmus.bash", "then source it")]),
    (
        "man",
        &[
            ("litmus man run > litmus-run.1", "then man -l litmus-run.1"),
            ("litmus man -o man1", "all pages"),
        ],
    ),
];

/// The command with examples at the end of the long help of each subcommand.
pub fn with_examples(mut command: Command) -> Command {
    command = command.after_long_help(format!("{}\n\n{}", text(FIRST), exit::HELP));
    for (path, examples) in EXAMPLES {
        let words: Vec<&str> = path.split(' ').collect();
        command = add(command, &words, &text(examples));
    }
    command
}

fn add(command: Command, path: &[&str], text: &str) -> Command {
    match path {
        [] => command.after_long_help(text.to_owned()),
        [name, rest @ ..] => command.mut_subcommand(name, |inner| add(inner, rest, text)),
    }
}

fn text(examples: &[(&str, &str)]) -> String {
    let line = |(command, what): &(&str, &str)| format!("\n  # {what}\n  {command}");
    format!("Examples:{}", examples.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_some() {
        fn look(command: &Command, path: &str, without: &mut Vec<String>) {
            for inner in command.get_subcommands() {
                let path = format!("{path} {}", inner.get_name());
                if inner.get_after_long_help().is_none() {
                    without.push(path.clone());
                }
                look(inner, &path, without);
            }
        }
        let mut without = Vec::new();
        look(&crate::command(), "litmus", &mut without);
        assert_eq!(without, Vec::<String>::new());
    }
}
