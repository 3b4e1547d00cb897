//! The way of a command over its inputs: find the files, keep those that are asked for, and work on all of
//! them, with results in their order. A command says what it does with one of them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use evidence::record::LibraryText;
use lang::diagnostic::Code;

use crate::input::{Input, collect};
use crate::models::Models;
use crate::ordered::map_in_order;
use crate::problem::Problem;
use crate::select::{SelectOption, StopOption};
use crate::shard::ShardOption;
use crate::sink::Sink;

/// The files that paths stand for, as far as the command line asks for them; of folders, those with one of
/// the endings. If there is something wrong with what is asked for, the sink has got the reason, and the
/// command ends.
pub fn choose(
    paths: &[PathBuf],
    endings: &[&str],
    select: &SelectOption,
    models: &Models,
    sink: &mut Sink<'_>,
) -> Option<Vec<Input>> {
    let mut inputs = find(paths, endings, sink);
    let kept = select.keep(&mut inputs, models);
    kept.map_err(|message| sink.usage_error(Code::NoTestMatches, &message)).ok()?;
    Some(inputs)
}

/// All files that paths stand for.
pub fn find(paths: &[PathBuf], endings: &[&str], sink: &mut Sink<'_>) -> Vec<Input> {
    let (inputs, unreadable) = collect(paths, endings);
    sink.problems(unreadable);
    inputs
}

/// Keeps the inputs of this part, if the work is in parts, and notes the part in the sink. If they cannot be
/// split, the sink has got the reason, and the command ends.
pub fn take_part(
    inputs: &mut Vec<Input>,
    shard: &ShardOption,
    models: &Models,
    libraries: &[LibraryText],
    sink: &mut Sink<'_>,
) -> Option<()> {
    let part = shard.keep(inputs, models, libraries);
    sink.shard = part.map_err(|message| sink.usage_error(Code::CannotSplit, &message)).ok()?;
    Some(())
}

/// Who works, and for how long.
#[derive(Clone, Copy, Default)]
pub struct Workers<'a> {
    /// How many work at once.
    pub jobs: usize,
    /// What ends the work when it is set, if something does.
    pub stop: Option<&'a AtomicBool>,
    /// Whether the first failure ends the work.
    pub fail_fast: Option<&'a StopOption>,
}

/// How far the work came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worked {
    /// How many inputs were worked on.
    pub done: usize,
    /// Whether something else than a signal or a failure kept an input from having a result.
    pub is_short: bool,
}

impl Workers<'_> {
    /// Calls `work` on every input, and `each` with every result, in the order of the inputs. What panics or
    /// hits a limit is a problem of its input.
    pub fn work<R: Send>(
        self,
        inputs: &[Input],
        sink: &mut Sink<'_>,
        work: impl Fn(&Input) -> R + Sync,
        mut each: impl FnMut(&Input, R, &mut Sink<'_>),
    ) -> Worked {
        let mut worked = Worked::default();
        let never = AtomicBool::new(false);
        let ends = |sink: &Sink<'_>| self.fail_fast.is_some_and(|option| option.ends(sink.exit));
        sink.terminal.begin_progress(inputs.len());
        map_in_order(inputs, self.jobs, self.stop.unwrap_or(&never), work, |input, result| {
            sink.terminal.progress().inc(1);
            worked.done += 1;
            match result {
                Ok(result) => each(input, result, sink),
                Err(broken) => {
                    worked.is_short = true;
                    sink.problem(Problem::of_broken(&input.name(), &broken));
                }
            }
            if ends(sink) {
                return ControlFlow::Break(());
            }
            let flow = sink.flow();
            worked.is_short |= flow.is_break();
            flow
        });
        if ends(sink) {
            sink.skip_rest(&inputs[worked.done..]);
        }
        worked
    }
}
