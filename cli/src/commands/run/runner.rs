//! What workers do: a test on its machines, judged by its models.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use evidence::judge::{Answers, NotJudged, Program};
use evidence::observation::Observations;
use evidence::record::{ModelIdentity, RecordWriter, Status, TestRecord, hash_text};
use evidence::reports::logs;
use executor::backend::{Backend, Control, Job, line, measure};
use lang::Test;
use lang::cat::model::Hardware;
use lang::diagnostic::{Code, Diagnostic, Severity};
use lang::mutex::lock;
use lang::source::Source;
use model::allowed::undefined_calls;
use model::engine::Request;
use rayon::ThreadPool;

use super::heartbeat::Heartbeat;
use super::parts::{self, Parts};
use super::plan::{Plan, is_reproducible};
use super::result::RunResult;
use crate::input::{Input, load_test_within};
use crate::libraries::{Uses, inlined};
use crate::models::{LoadedModel, MPI, Models};
use crate::ordered::Broken;
use crate::problem::{Problem, problems};
use crate::select::SelectOption;
use crate::sink::Skip;

/// The machine's name in records of real ones.
pub const HARDWARE: &str = "hardware";

/// A model that judges nothing, and why.
type Unkept = (Arc<LoadedModel>, String);

/// What came of a file.
#[derive(Default)]
pub struct Answer {
    /// Errors and warnings.
    pub problems: Vec<Problem>,
    /// Lines for the record, which are in it already.
    pub records: Vec<TestRecord>,
    /// Why the record does not have them.
    pub unwritten: Option<io::Error>,
    /// A result for each model.
    pub results: Vec<RunResult>,
    /// Models by which it was not judged.
    pub skips: Vec<Skip>,
    /// What broke while it was run.
    pub failures: Vec<Problem>,
    /// What was seen, as blocks of a log.
    pub logs: Vec<String>,
}

/// What workers need.
pub struct Runner<'a> {
    /// The backend and what all tests have in common.
    pub plan: &'a Plan,
    /// The models.
    pub models: &'a Models,
    /// Which tests, and under which of the models.
    pub select: &'a SelectOption,
    /// Where the backend's work is done.
    pub pool: &'a ThreadPool,
    /// What models allow.
    pub answers: &'a Answers<'a>,
    /// The limits, and the libraries.
    pub request: Request<'a>,
    /// The options that name libraries.
    pub library_options: String,
    /// What tests make use of.
    pub uses: &'a Uses<'a>,
    /// Set when work is to end.
    pub stop: &'a AtomicBool,
    /// Told of runs that are done.
    pub progress: &'a (dyn Fn() + Sync),
    /// Says how far the run is, where there is no progress bar.
    pub heartbeat: &'a Heartbeat,
    /// Where lines of the record go.
    pub writer: &'a Mutex<Option<RecordWriter>>,
}

impl Runner<'_> {
    /// Runs a test on each machine that its models name.
    pub fn run_test(&self, input: &Input) -> Answer {
        let mut answer = Answer::default();
        let (loaded, diagnostics) =
            load_test_within(input, self.request.libraries(), &self.request.limits());
        answer.problems = diagnostics;
        let Some((test, source)) = loaded else { return answer };
        self.uses.take(&test);
        let asked = match self.models.of_test(&test, &source) {
            Ok(asked) => self.select.models(&test, input, asked),
            Err(unknown) => {
                answer.problems.extend(problems(&source, unknown));
                return answer;
            }
        };
        for (machine, models) in self.machines(input, &test, &source, asked, &mut answer) {
            self.run_on_machine(&test, &source, &machine, &models, &mut answer);
        }
        answer.unwritten = self.record(&answer.records).err();
        answer
    }

    /// Adds lines to the record at once: a result may wait long for those of earlier tests.
    fn record(&self, records: &[TestRecord]) -> io::Result<()> {
        match &mut *lock(self.writer) {
            Some(writer) => records.iter().try_for_each(|record| writer.append(record)),
            None => Ok(()),
        }
    }

    /// The machines to be simulated, each once, with the models that judge it.
    fn machines(
        &self,
        input: &Input,
        test: &Test,
        source: &Arc<Source>,
        asked: Vec<Arc<LoadedModel>>,
        answer: &mut Answer,
    ) -> Vec<(String, Vec<Arc<LoadedModel>>)> {
        let mut order: Vec<(String, Vec<Arc<LoadedModel>>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let skip_of = |model: &LoadedModel, reason: String| Skip {
            test: test.name.clone(),
            file: input.name(),
            model: model.name().to_owned(),
            reason,
        };
        let (asked, unkept) = self.promised(asked);
        for model in asked {
            let skip = |reason: String| skip_of(&model, reason);
            let undefined = undefined_calls(test, model.model(), self.request.libraries());
            if !undefined.is_empty() {
                answer.skips.push(skip(NotJudged::reason(&undefined)));
                if input.is_named {
                    // Who names a test wants to know the place too.
                    let warning = |one| Diagnostic { severity: Severity::Warning, ..one };
                    let undefined = undefined.into_iter().map(warning).collect();
                    answer.problems.extend(problems(source, undefined));
                }
                continue;
            }
            let Some(machine) = self.machine_for(test, &model) else {
                let reason = format!("the model `{}` has no operational machine", model.name());
                answer.skips.push(skip(reason));
                continue;
            };
            let index = *known.entry(machine.clone()).or_insert_with(|| {
                order.push((machine, Vec::new()));
                order.len() - 1
            });
            order[index].1.push(model);
        }
        // Where another model judges, nothing is missing.
        if order.is_empty() {
            let skips = unkept.iter().map(|(model, reason)| skip_of(model, reason.clone()));
            answer.skips.extend(skips);
        }
        order
    }

    /// The models that judge, for the models that a test is for: hardware is judged by what it promises,
    /// unless the command line names models. Besides, the models that judge nothing, each with the reason.
    fn promised(&self, asked: Vec<Arc<LoadedModel>>) -> (Vec<Arc<LoadedModel>>, Vec<Unkept>) {
        if !self.plan.is_hardware() || !self.models.chosen.is_empty() || asked.is_empty() {
            return (asked, Vec::new());
        }
        // Of MPI, no model of a header says anything but its own.
        if self.plan.header.is_mpi() {
            return (self.models.shipped(MPI).into_iter().collect(), Vec::new());
        }
        // Nor of libfabric, whose providers each promise something else.
        if let Some(provider) = self.plan.header.provider() {
            return (self.models.shipped(&provider.model).into_iter().collect(), Vec::new());
        }
        let mut judges: Vec<Arc<LoadedModel>> = Vec::new();
        let mut unkept = Vec::new();
        for model in asked {
            let judge = match &model.model().hardware {
                Hardware::Itself => Ok(model.clone()),
                Hardware::By(name) => self.models.named(name).ok_or_else(|| {
                    format!(
                        "hardware is judged by `{name}` in its place, and there is no such model"
                    )
                }),
                Hardware::None => Err("no hardware promises this model".to_owned()),
            };
            match judge {
                Ok(judge) if judges.iter().any(|known| known.identity == judge.identity) => {}
                Ok(judge) => judges.push(judge),
                Err(reason) => unkept.push((model, reason)),
            }
        }
        (judges, unkept)
    }

    /// The machine that a model names. A user's own model may name none: then it judges the machine that the
    /// test is for, as it would judge hardware.
    fn machine_for(&self, test: &Test, model: &LoadedModel) -> Option<String> {
        let own = model.model().machine.clone();
        if self.plan.is_hardware() {
            return Some(HARDWARE.to_owned());
        }
        if own.is_some() || !model.is_own {
            return own;
        }
        let mut names = test.models.iter();
        let of_test = names.find_map(|name| self.models.shipped(name)?.model().machine.clone());
        of_test.or_else(|| self.models.machine_changed_by(model))
    }

    fn run_on_machine(
        &self,
        test: &Test,
        source: &Arc<Source>,
        machine: &str,
        models: &[Arc<LoadedModel>],
        answer: &mut Answer,
    ) {
        let known = match self.known(test, source, machine) {
            Ok(known) => known,
            Err(problem) => {
                answer.problems.push(*problem);
                return;
            }
        };
        let (record, seen) = match known {
            Some(known) => known,
            None => {
                // Machines know no libraries: their implementations are what is run.
                let runnable = match inlined(test, source, self.request.libraries()) {
                    Ok(runnable) => runnable,
                    Err(wrong) => {
                        answer.problems.extend(wrong);
                        return;
                    }
                };
                let earlier = self.earlier(test, source, machine);
                let job = Job {
                    test: &runnable,
                    file: &source.name,
                    program: &source.text,
                    libraries: self.request.libraries(),
                    machine,
                    iterations: self.plan.header.iterations,
                    done: earlier.map_or(0, |earlier| earlier.iterations),
                    seed: self.plan.header.seed,
                };
                let identities = models.iter().map(|model| model.identity.clone()).collect();
                let Some(measured) = self.measured(&job, identities, answer) else { return };
                let (record, seen) = measured;
                if record.status == Status::Interrupted && record.iterations == 0 {
                    return;
                }
                with_earlier((record, seen), earlier, &job)
            }
        };
        match (record.status, &record.reason) {
            (Status::Skipped, reason) => {
                answer.skips.extend(models.iter().map(|model| Skip {
                    test: test.name.clone(),
                    file: source.name.clone(),
                    model: model.name().to_owned(),
                    reason: reason.clone().unwrap_or_default(),
                }));
            }
            (Status::Failed, reason) => {
                let message = reason.clone().unwrap_or_default();
                answer.failures.push(Problem::of_file(&source.name, Code::BackendFailed, message));
            }
            (Status::Complete | Status::Interrupted, _) => {}
        }
        if seen.finished() > 0 {
            answer.logs.push(logs::block(test, &record.program_hash, &seen));
        }
        // What was seen before something broke counts too.
        match record.status {
            Status::Failed if seen.iterations() == 0 => {}
            Status::Skipped => {}
            _ => self.judge(test, source, (&record, &seen), models, answer),
        }
    }

    fn judge(
        &self,
        test: &Test,
        source: &Arc<Source>,
        (record, seen): (&TestRecord, &Observations),
        models: &[Arc<LoadedModel>],
        answer: &mut Answer,
    ) {
        let header = &self.plan.header;
        let libraries = (self.request.libraries(), header.libraries.as_slice());
        let program = Program::new((test, &source.text), libraries, &header.nodes);
        for judge in models.iter().map(|model| model.judge()) {
            match self.answers.judge(&program, &judge, seen) {
                Ok(by) => {
                    let result = RunResult::new(test, (record, self.plan.backend.name()), &by)
                        .with_libraries(&self.library_options);
                    answer.results.push(result.explained_by(test, source, &judge));
                }
                Err(NotJudged::Undefined(undefined)) => answer.skips.push(Skip {
                    test: test.name.clone(),
                    file: source.name.clone(),
                    model: judge.identity.name.clone(),
                    reason: NotJudged::reason(&undefined),
                }),
                Err(NotJudged::Wrong(errors)) => answer.problems.extend(problems(source, errors)),
            }
        }
    }

    /// What comes of a job within the limits; if one is reached, that is said, and what was seen before it
    /// counts. What was seen is written in parts, as it comes; the last line is left to whoever has the
    /// answer.
    fn measured(
        &self,
        job: &Job<'_>,
        identities: Vec<ModelIdentity>,
        answer: &mut Answer,
    ) -> Option<(TestRecord, Observations)> {
        let limits = self.request.limits();
        let backend: &dyn Backend = &*self.plan.backend;
        // Records that are to be the same each time say nothing of time.
        let seconds = |took: Duration| (!is_reproducible()).then(|| rounded(took));
        let began = Instant::now();
        let write = |seen: &Observations, took| {
            let mut writer = lock(self.writer);
            let Some(writer) = &mut *writer else { return false };
            let part = line(job, identities.clone(), (Status::Interrupted, None), seen);
            writer.append(&TestRecord { part: true, seconds: seconds(took), ..part }).is_ok()
        };
        let parts = Parts::new(parts::EVERY, &write);
        let runs = AtomicU64::new(job.done);
        let progress = |more| {
            let runs = runs.fetch_add(more, Ordering::Relaxed) + more;
            self.heartbeat.tell(&job.test.name, runs, job.iterations);
            (self.progress)();
        };
        let keep = |more: &Observations| parts.take(more);
        let control = Control { stop: self.stop, progress: &progress, keep: &keep };
        let work = || measure(backend, job, identities.clone(), control);
        let measured = self.pool.install(|| limits.within(work));
        let done = measured.as_ref().map_or(0, |(record, _)| record.iterations);
        let is_cut =
            measured.as_ref().is_ok_and(|(record, _)| record.status == Status::Interrupted);
        let reached = measured.as_ref().err().copied();
        if let Some(reached) = reached.or_else(|| limits.reached().filter(|_| is_cut)) {
            let problem = Problem::of_broken(job.file, &Broken::Limit(reached));
            let help = format!("{done} of {} runs were done", job.iterations);
            answer.problems.push(problem.help(help));
        }
        let (mut record, seen) = measured.ok()?;
        record.seconds = seconds(began.elapsed());
        let mut last = record.clone();
        let rest = parts.rest();
        if rest.is_after_parts {
            last = line(job, identities, (record.status, record.reason.clone()), &rest.seen);
            last.seconds = seconds(rest.since.elapsed());
        }
        if last.status != Status::Interrupted || last.iterations > 0 {
            answer.records.push(last);
        }
        Some((record, seen))
    }

    /// What real machines showed of a test before the interruption that this run goes on from.
    fn earlier(&self, test: &Test, source: &Source, machine: &str) -> Option<&TestRecord> {
        let key = (test.name.as_str(), source.name.as_str(), machine);
        self.plan.previous.as_ref()?.unfinished(key, &hash_text(&source.text))
    }

    /// What the record that this run continues has of a test.
    fn known(
        &self,
        test: &Test,
        source: &Arc<Source>,
        machine: &str,
    ) -> Result<Option<(TestRecord, Observations)>, Box<Problem>> {
        let differs = |message: String| {
            let problem = Problem::of_file(&source.name, Code::RecordDiffers, message);
            Box::new(problem.help("record anew, or bring the file back to what it was"))
        };
        let Some(record) = &self.plan.previous else { return Ok(None) };
        let key = (test.name.as_str(), source.name.as_str(), machine);
        let found = record.completed(key, &hash_text(&source.text)).map_err(differs)?;
        let Some(found) = found else { return Ok(None) };
        let seen = found.observations(test).map_err(|name| {
            differs(format!("the record has a state without a value of `{name}`"))
        })?;
        Ok(Some((found.clone(), seen)))
    }
}

/// What was measured, with what was seen before.
fn with_earlier(
    (mut record, seen): (TestRecord, Observations),
    earlier: Option<&TestRecord>,
    job: &Job<'_>,
) -> (TestRecord, Observations) {
    let Some((earlier, before)) =
        earlier.and_then(|one| Some((one, one.observations(job.test).ok()?)))
    else {
        return (record, seen);
    };
    record.add_earlier(earlier);
    (record, before.merge(seen))
}

/// In seconds, exact to a thousandth.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}
