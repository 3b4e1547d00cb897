//! Options that have no meaning together with others are refused: what is ignored without a word is taken for
//! done.
//!
//! clap knows what conflicts with what. Here is what it cannot say: that an option means something only where
//! another has some value. A test goes through all options of all commands, so that a new one is either here
//! or known to hold always.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// Options of commands that hold only where something is so.
struct Rule {
    /// The commands, with their own subcommands: `gen random`.
    commands: &'static [&'static str],
    /// The options, by their names in the code.
    options: &'static [&'static str],
    /// Whether they mean something.
    applies: fn(&ArgMatches) -> bool,
    /// What they are for: `--stride is for …`.
    only_for: &'static str,
}

/// Options of the bounds on generated programs.
const BOUNDS: [&str; 4] = ["size", "thread_size", "threads", "nodes"];

const RULES: &[Rule] = &[
    Rule {
        commands: &["run"],
        options: &[
            "nodes",
            "secret_file",
            "device",
            "preset",
            "instances",
            "rounds",
            "delay",
            "spread",
            "flush",
            "backlog",
            "stress",
            "no_shuffle",
            "pin",
            "stride",
            "post_list",
            "pages",
            "patience",
            "depth",
            "inline",
        ],
        applies: |given| is(given, "backend", &["verbs", "ofi"]),
        only_for: "--backend verbs and --backend ofi; the other backends have nothing of it",
    },
    Rule {
        commands: &["run"],
        options: &[
            "port",
            "gid",
            "on_demand",
            "outstanding",
            "ack_timeout",
            "service_level",
            "traffic_class",
            "pkey_index",
            "relaxed_ordering",
            "tune",
        ],
        applies: |given| is(given, "backend", &["verbs"]),
        only_for: "--backend verbs; the other backends have nothing of it",
    },
    Rule {
        commands: &["run"],
        options: &["faults"],
        applies: |given| is(given, "backend", &["sim"]),
        only_for: "the simulator; real machines bring their own",
    },
    Rule {
        commands: &["run"],
        options: &["jobs", "shard", "libraries"],
        applies: |given| !has(given, "tune"),
        only_for: "runs without --tune",
    },
    Rule {
        commands: &["run", "devices"],
        options: &["secret_file"],
        applies: |given| match given.get_raw("launch") {
            Some(_) => is(given, "launch", &["none"]),
            None => given.get_raw("nodes").is_some(),
        },
        only_for: "agents that run already: --nodes without --launch; others get a secret of their own",
    },
    Rule {
        commands: &["devices"],
        options: &["port", "gid"],
        applies: |given| given.get_raw("nodes").is_some() || has(given, "launch"),
        only_for: "--nodes and --launch; this machine's devices are listed with all ports",
    },
    Rule {
        commands: &["allowed", "watch"],
        options: &["max_states"],
        applies: |given| is(given, "engine", &["auto", "explore", "both"]),
        only_for: "--engine auto, explore and both",
    },
    Rule {
        commands: &["allowed", "watch"],
        options: &["solver", "loops"],
        applies: |given| {
            is(given, "engine", &["auto", "smt", "both"])
                || has(given, "witness")
                || has(given, "inline")
        },
        only_for: "--engine auto, smt and both",
    },
    Rule {
        commands: &["explain"],
        options: &["format"],
        applies: |given| ["dot", "svg", "tikz"].iter().all(|drawing| !is(given, drawing, &["-"])),
        only_for: "text; standard output has a drawing",
    },
    Rule {
        commands: &["report"],
        options: &["thorough", "mutants"],
        applies: |given| !is(given, "format", &["log"]) || has(given, "output"),
        only_for: "reports; --format log only prints what was seen",
    },
    Rule {
        commands: &["report"],
        options: &["models", "solver", "timeout", "loops"],
        applies: |given| {
            !is(given, "format", &["log"]) || has(given, "output") || has(given, "baseline")
        },
        only_for: "what judges; --format log only prints what was seen",
    },
    Rule {
        commands: &["gen cycles"],
        options: &["size", "thread_size", "threads"],
        applies: |given| !has(given, "cycles"),
        only_for: "all cycles up to a size; those that are named are as large as they are",
    },
    Rule {
        commands: &["coverage"],
        options: &BOUNDS,
        applies: |given| has(given, "missing"),
        only_for: "--missing, which looks for programs",
    },
    Rule {
        commands: &["compare"],
        options: &[BOUNDS[0], BOUNDS[1], BOUNDS[2], BOUNDS[3], "count", "exhaustive"],
        applies: |given| !has(given, "paths"),
        only_for: "the search for programs; here programs are given",
    },
    Rule {
        commands: &["compile"],
        options: &["model", "solver", "loops"],
        applies: |given| is(given, "target", &["verbs-c", "mpi-c", "shmem-c"]),
        only_for: "--target verbs-c, mpi-c and shmem-c, whose programs judge what they see",
    },
    Rule {
        commands: &["compile"],
        options: &["force"],
        applies: |given| has(given, "output"),
        only_for: "-o; standard output replaces no file",
    },
    Rule {
        commands: &["compare"],
        options: &["libraries"],
        applies: |given| has(given, "paths"),
        only_for: "given tests; the programs that are searched call no library",
    },
    Rule {
        commands: &["report"],
        options: &["libraries"],
        applies: |given| has(given, "tests"),
        only_for: "the tests of logs, with --tests; a record has its libraries",
    },
    Rule {
        commands: &["run"],
        options: &["launch"],
        applies: |given| {
            is(given, "backend", &["verbs", "ofi"])
                || is(given, "backend", &["mpi"]) && is(given, "launch", &["mpirun"])
        },
        only_for: "--backend verbs and ofi, and --launch mpirun for --backend mpi",
    },
    Rule {
        commands: &["run"],
        options: &["mpirun"],
        applies: |given| is(given, "backend", &["mpi"]),
        only_for: "--backend mpi",
    },
    Rule {
        commands: &["nic"],
        options: &["secret_file"],
        applies: |given| has(given, "listen") || has(given, "peers"),
        only_for: "--listen and --peer",
    },
    Rule {
        commands: &["run", "devices"],
        options: &["provider", "completion", "atomics"],
        applies: |given| is(given, "backend", &["ofi"]),
        only_for: "--backend ofi",
    },
];

/// The first option of the command line that means nothing there, in words.
pub fn meaningless(given: &ArgMatches) -> Option<String> {
    let (mut path, mut given) = (String::new(), given);
    let mut command = <crate::Arguments as clap::CommandFactory>::command();
    while let Some((name, of_it)) = given.subcommand() {
        command = command.find_subcommand(name)?.clone();
        path = if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
        given = of_it;
    }
    let of_command = RULES.iter().filter(|rule| rule.commands.contains(&path.as_str()));
    for rule in of_command.filter(|rule| !(rule.applies)(given)) {
        if let Some(option) = rule.options.iter().find(|option| has(given, option)) {
            let argument = command.get_arguments().find(|argument| argument.get_id() == *option)?;
            let name = argument.get_long()?;
            return Some(format!("--{name} is for {}", rule.only_for));
        }
    }
    None
}

/// Whether the command line has an option; its default and the environment do not count.
fn has(given: &ArgMatches, option: &str) -> bool {
    given.value_source(option) == Some(ValueSource::CommandLine)
}

/// Whether an option has one of these values, be it by default.
fn is(given: &ArgMatches, option: &str, values: &[&str]) -> bool {
    let found = given.get_raw(option).and_then(|mut found| found.next_back());
    found.is_some_and(|found| values.iter().any(|value| found == *value))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::Arguments;

    /// Options that mean something wherever their command has them; `*` is for all commands.
    const ALWAYS: &[(&str, &str)] = &[
        (
            "*",
            "color quiet verbose help version format jobs shard models model libraries timeout patterns list \
             most_memory",
        ),
        ("allowed", "across engine inline witness verdict_only cache fail_fast only"),
        ("watch", "across engine inline witness verdict_only cache fail_fast only"),
        ("explain", "tikz outcome inline solver loops dot svg"),
        (
            "run",
            "output backend iterations seed list_faults solver loops record resume fail_fast only",
        ),
        ("report", "output baseline tests only"),
        ("gen pivot", "output size thread_size threads nodes rules cells"),
        ("gen cycles", "output nodes"),
        (
            "gen random",
            "output size thread_size threads nodes seed count weights queue_pairs unsignaled shared",
        ),
        ("coverage", "missing output"),
        ("compare", "output"),
        ("man", "output"),
        (
            "refine",
            "implementation threads calls nodes values plain objects size loops record resume repair weaken \
             additions",
        ),
        ("repair", "forbid only size weaken neighbors diff write cost solver loops"),
        ("merge", "output"),
        ("agent", "listen secret_file memory queue_pairs once"),
        ("compile", "target output inline"),
        ("check", "deny_warnings"),
        ("fmt", "check write to output"),
        ("lsp", "stdio"),
        ("devices", "nodes launch device backend"),
        (
            "nic",
            "preset seed delay delay_percent tear fault list_faults devices ports ethernet network listen peers trace library",
        ),
        ("nic power", "output iterations presets nic run faults seeds library solver loops"),
        ("nic trace", "at within address queue_pair"),
    ];

    fn each(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &clap::Arg)) {
        command.get_arguments().for_each(|argument| visit(path, argument));
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name());
            each(inner, path.trim(), visit);
        }
    }

    /// Every option of every command has rules or holds always, and rules name options that exist.
    #[test]
    fn every_option_is_known() {
        let (mut unknown, mut known) = (Vec::new(), Vec::new());
        let mut command = Arguments::command();
        command.build();
        each(&command, "", &mut |path, argument| {
            let id = argument.get_id().as_str();
            let of = |rule: &&Rule| rule.commands.contains(&path) && rule.options.contains(&id);
            let always = ALWAYS.iter().filter(|(of, _)| *of == "*" || *of == path);
            let is_always = always.flat_map(|(_, all)| all.split(' ')).any(|option| option == id);
            let is_ruled = RULES.iter().any(|rule| of(&rule));
            known.push((path.to_owned(), id.to_owned()));
            if !is_always && !is_ruled && argument.get_long().is_some() {
                unknown.push(format!("{path}: {id}"));
            }
        });
        assert!(unknown.is_empty(), "neither in RULES nor in ALWAYS: {unknown:#?}");
        for rule in RULES {
            for (command, option) in
                rule.commands.iter().flat_map(|of| rule.options.iter().map(move |id| (of, id)))
            {
                let pair = ((*command).to_owned(), (*option).to_owned());
                assert!(known.contains(&pair), "{command} has no option {option}");
            }
        }
    }

    fn refused(line: &str) -> Option<String> {
        let matches = Arguments::command().try_get_matches_from(line.split(' '));
        meaningless(&matches.unwrap_or_else(|error| panic!("{line}: {error}")))
    }

    /// Each option of each rule, where it means nothing; and the same command with what it is for.
    #[test]
    fn options_without_a_meaning_are_refused() {
        let values = |path: &str, id: &str| match id {
            "nodes" if matches!(path, "coverage" | "compare") => " 2",
            "nodes" | "secret_file" | "device" | "models" | "model" | "libraries" => " a",
            "launch" => " local",
            "mpirun" => " mpirun",
            "preset" => " calm",
            "solver" => " z3",
            "shard" => " 1/2",
            "format" => " json",
            "memory" => " 1G",
            "faults" => " poll-early",
            "pages" => " huge",
            "completion" => " delivery",
            "no_shuffle" | "pin" | "inline" | "atomics" | "relaxed_ordering" | "on_demand"
            | "tune" | "thorough" | "force" => "",
            _ => " 2",
        };
        let wrong_and_right = [
            ("litmus run x", "litmus run x --backend ofi --nodes b", 0),
            ("litmus run x --backend ofi", "litmus run x --backend verbs", 1),
            ("litmus run x --backend verbs", "litmus run x", 2),
            ("litmus run x --backend verbs --tune=2", "litmus run x --backend verbs", 3),
            (
                "litmus run x --backend verbs --launch local",
                "litmus run x --backend verbs --nodes b",
                4,
            ),
            ("litmus devices --nodes b --launch ssh", "litmus devices --nodes b", 4),
            ("litmus devices", "litmus devices --nodes b", 5),
            ("litmus allowed x --engine smt", "litmus allowed x", 6),
            ("litmus allowed x --engine explore", "litmus allowed x --engine explore --witness", 7),
            ("litmus watch x --engine explore", "litmus watch x", 7),
            (
                "litmus explain x --outcome a=1 --svg -",
                "litmus explain x --outcome a=1 --svg a.svg",
                8,
            ),
            ("litmus report x --format log", "litmus report x", 9),
            ("litmus report x --format log", "litmus report x --format log -o y", 10),
            ("litmus gen cycles rf -o x", "litmus gen cycles -o x", 11),
            ("litmus coverage x", "litmus coverage x --missing", 12),
            ("litmus compare a b x", "litmus compare a b", 13),
            ("litmus compile x --target plan", "litmus compile x --target verbs-c", 14),
            ("litmus compile x --target plan", "litmus compile x --target plan -o y", 15),
            ("litmus compare a b", "litmus compare a b x", 16),
            ("litmus report x", "litmus report x --tests y", 17),
            ("litmus run x --backend mpi", "litmus run x --backend verbs", 18),
            ("litmus run x", "litmus run x --backend mpi", 19),
            ("litmus nic --list-faults", "litmus nic --list-faults --listen a", 20),
            ("litmus run x", "litmus run x --backend ofi", 21),
        ];
        let ruled: std::collections::BTreeSet<usize> =
            wrong_and_right.iter().map(|(.., rule)| *rule).collect();
        assert_eq!(ruled.len(), RULES.len(), "every rule has an example");
        let mut command = Arguments::command();
        command.build();
        let mut longs = std::collections::BTreeMap::new();
        each(&command, "", &mut |path, argument| {
            let long = argument.get_long().unwrap_or_default().to_owned();
            longs.insert((path.to_owned(), argument.get_id().to_string()), long);
        });
        for (wrong, right, rule) in wrong_and_right {
            let words: Vec<&str> = wrong.split(' ').collect();
            let path = if words[1] == "gen" { words[1..3].join(" ") } else { words[1].to_owned() };
            for id in RULES[rule].options {
                let long = &longs[&(path.clone(), (*id).to_owned())];
                let option = format!(" --{long}{}", values(&path, id));
                let refusal = refused(&format!("{wrong}{option}"));
                let begin = format!("--{long} is for ");
                assert!(
                    refusal.as_ref().is_some_and(|refusal| refusal.starts_with(&begin)),
                    "{wrong}{option}: {refusal:?}"
                );
                let is_there = right.contains(&format!(" --{long} "));
                if !is_there {
                    assert_eq!(refused(&format!("{right}{option}")), None, "{right}{option}");
                }
            }
        }
    }
}
