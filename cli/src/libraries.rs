//! Libraries by name and from files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use crate::shell::quote;
use clap::Args;
use compiler::library::{Depth, Libraries, each_call, inline};
use evidence::record::{LibraryText, hash_text};
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::Code;
use lang::library::{LARGEST_FILE, Library};
use lang::mutex::{self, lock};
use lang::source::Source;
use model::allowed::{MISUSES, Options, Question, limit_reached};
use model::engine::Request;
use model::library::{load, shipped, texts};
use model::models::UNDER_LIBRARIES;
use model::refine;

use crate::input;
use crate::models::Models;
use crate::problem::{Problem, problems};
use crate::sink::Sink;
use crate::terminal::Terminal;

/// Which libraries.
#[derive(Args)]
pub struct LibraryOption {
    /// Use a library too, from a file or a shipped one by its name; of two that define one class, the later
    /// counts. Can be repeated
    #[arg(long = "library", value_name = "NAME|FILE.lib")]
    libraries: Vec<String>,
    /// The libraries, once they are loaded.
    #[arg(skip)]
    loaded: OnceLock<Libraries>,
}

impl LibraryOption {
    /// The texts of the files, for records. Those that cannot be read are left out: [`LibraryOption::choose`]
    /// says so.
    pub fn texts(&self) -> Vec<LibraryText> {
        let text = |path: &String| {
            let text = match shipped_text(path) {
                Some(text) => text.to_owned(),
                None => {
                    String::from_utf8(input::small(Path::new(path), LARGEST_FILE).ok()?).ok()?
                }
            };
            Some(LibraryText { path: path.clone(), hash: hash_text(&text), text })
        };
        self.libraries.iter().filter_map(text).collect()
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.libraries.iter().map(String::as_str)
    }

    /// The options once more, for commands that are proposed.
    pub fn options(&self) -> String {
        self.libraries.iter().map(|path| format!(" --library {}", quote(path))).collect()
    }

    /// The shipped libraries and those of the files.
    ///
    /// # Errors
    /// All that is wrong with the files.
    fn load(&self) -> Result<&Libraries, Vec<Problem>> {
        if self.libraries.is_empty() {
            return Ok(shipped());
        }
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let mut all = shipped().clone();
        let mut wrong = Vec::new();
        for path in &self.libraries {
            match by_name(path) {
                Ok(library) => all.all.push(Arc::new(library)),
                Err(problems) => wrong.extend(problems),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(self.loaded.get_or_init(|| all))
    }

    /// The same to look up words. What is wrong with files, [`LibraryOption::choose`] says.
    pub fn known(&self) -> &Libraries {
        self.load().unwrap_or_else(|_| shipped())
    }

    /// The same. If that fails, the sink has the reason, and the command ends.
    pub fn choose(&self, sink: &mut Sink<'_>) -> Option<&Libraries> {
        self.load().map_err(|wrong| sink.problems(wrong)).ok()
    }
}

/// What tests make use of, of what `--library` and `--inline` offer: where none does, the command line is not
/// what was meant.
pub struct Uses<'a> {
    libraries: &'a Libraries,
    options: &'a LibraryOption,
    inline: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    tests: usize,
    has_calls: bool,
    libraries: BTreeSet<usize>,
}

impl<'a> Uses<'a> {
    /// Nothing yet, of libraries that the options have.
    pub fn new(libraries: &'a Libraries, options: &'a LibraryOption, inline: bool) -> Self {
        Self { libraries, options, inline, seen: Mutex::default() }
    }

    /// Takes note of a test as it is written.
    pub fn take(&self, test: &Test) {
        let mut seen = lock(&self.seen);
        seen.tests += 1;
        each_call(&test.program, &mut |_, _, _| seen.has_calls = true);
        // Objects have memory by their libraries, whether or not they are called.
        match test.program.objects.is_empty() {
            true => seen.libraries.extend(self.libraries.used(&test.program)),
            false => seen.libraries.extend(0..self.libraries.all.len()),
        }
    }

    /// Says what no test made use of.
    pub fn tell(self, terminal: &mut Terminal) {
        let seen = mutex::into_inner(self.seen);
        if seen.tests == 0 {
            return;
        }
        if self.inline && !seen.has_calls {
            terminal.note("--inline changes nothing: no test calls a library");
        }
        if self.options.libraries.is_empty() {
            return;
        }
        let own = self.libraries.all.len() - self.options.libraries.len()..;
        for (path, _) in self.options.libraries.iter().zip(own).filter(|(_, number)| {
            // Implementations may call other libraries.
            !(seen.libraries.contains(number) || self.inline && seen.has_calls)
        }) {
            terminal.note(&format!("--library {path} changes nothing: no test calls it"));
        }
    }
}

/// The libraries that a record was made with, and what is odd about them.
///
/// # Errors
/// All that is wrong with their texts.
pub fn recorded(texts: &[LibraryText]) -> Result<(Libraries, Vec<String>), Vec<Problem>> {
    if texts.is_empty() {
        return Ok((shipped().clone(), Vec::new()));
    }
    let mut all = shipped().clone();
    let mut remarks = Vec::new();
    let mut wrong = Vec::new();
    for LibraryText { path, hash, text } in texts {
        if *hash != hash_text(text) {
            remarks.push(format!("the text of the library {path} is not the one that was hashed"));
        }
        match loaded(&Source::new(path.as_str(), text.as_str())) {
            Ok(library) => {
                let name = &library.name;
                if shipped_text(name).is_some_and(|shipped| shipped != text) {
                    remarks.push(format!(
                        "the library `{name}` is that of {path}, another text than the shipped one"
                    ));
                }
                all.all.push(Arc::new(library));
            }
            Err(problems) => wrong.extend(problems),
        }
    }
    if wrong.is_empty() { Ok((all, remarks)) } else { Err(wrong) }
}

/// Whether calls are replaced by their implementations.
#[derive(Args)]
pub struct InlineOption {
    /// Replace library calls by their implementations, and ask about those
    #[arg(long)]
    pub inline: bool,
}

/// The test with all calls replaced by their implementations.
///
/// # Errors
/// Problems at the calls that cannot be replaced.
pub fn inlined(
    test: &Test,
    source: &Arc<Source>,
    libraries: &Libraries,
) -> Result<Test, Vec<Problem>> {
    inline(test, libraries, Depth::Full).map_err(|errors| problems(source, errors))
}

/// A test with its calls replaced, unless it misuses libraries; and what is wrong with it. Misuse that hangs
/// on values is looked for under the first of the test's models.
pub fn inlined_if_sound(
    test: &Test,
    source: &Arc<Source>,
    libraries: &Libraries,
    models: &Models,
    request: &Request<'_>,
) -> (Option<Test>, Vec<Problem>) {
    let inlined = request.limits().within(|| inlined_now(test, source, libraries, models, request));
    inlined.unwrap_or_else(|reached| (None, vec![Problem::at(source, limit_reached(reached))]))
}

fn inlined_now(
    test: &Test,
    source: &Arc<Source>,
    libraries: &Libraries,
    models: &Models,
    request: &Request<'_>,
) -> (Option<Test>, Vec<Problem>) {
    let first = models.of_test(test, source).ok().and_then(|all| all.into_iter().next());
    let mut wrong = first.map_or_else(Vec::new, |model| {
        let how = (&request.options(), request.loops);
        misuses(test, source, libraries, model.model(), how)
    });
    if wrong.iter().any(|problem| problem.diagnostic.is_error()) {
        return (None, wrong);
    }
    match inlined(test, source, libraries) {
        Ok(inlined) => (Some(inlined), wrong),
        Err(errors) => {
            wrong.extend(errors);
            (None, wrong)
        }
    }
}

/// How a test misuses libraries, before its calls are replaced: errors, or warnings if values decide.
///
/// Whether the test fits the model, those say who ask about it.
fn misuses(
    test: &Test,
    source: &Arc<Source>,
    libraries: &Libraries,
    model: &Model,
    (options, loops): (&Options, Option<u32>),
) -> Vec<Problem> {
    if libraries.used(&test.program).is_empty() {
        return Vec::new();
    }
    let found = match Question::of(test, model).libraries(libraries).loops(loops).question() {
        Ok(question) => question.misuses(options).unwrap_or_default(),
        Err(refused) => {
            let mut errors = refused.diagnostics();
            errors.retain(|error| MISUSES.contains(&error.code));
            errors
        }
    };
    problems(source, found)
}

/// The text of a shipped library.
fn shipped_text(name: &str) -> Option<&'static str> {
    texts().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A shipped library by name, or one of a file.
///
/// # Errors
/// All that is wrong with the file, or that there is none.
pub fn by_name(name: &str) -> Result<Library, Vec<Problem>> {
    if let Some(text) = shipped_text(name) {
        return loaded(&Source::new(format!("{name}.lib"), text));
    }
    if !name.contains(['.', '/']) && !Path::new(name).exists() {
        let known: Vec<&str> = texts().map(|(known, _)| *known).collect();
        let message = "expected a shipped library or a file, found neither".to_owned();
        let help = match lang::diagnostic::nearest(name, known.iter().copied()) {
            Some(near) => {
                format!("did you mean `{near}`? the shipped ones are {}", known.join(", "))
            }
            None => format!("the shipped ones are {}", known.join(", ")),
        };
        return Err(vec![Problem::of_file(name, Code::UnknownLibrary, message).help(help)]);
    }
    load_file(name)
}

/// What is wrong with a library that only calls of its methods show, beside these libraries.
pub fn wrong_at_calls(library: &Library, libraries: &Libraries, models: &Models) -> Vec<Problem> {
    let Some(model) = models.shipped(UNDER_LIBRARIES) else { return Vec::new() };
    let source = Arc::new(library.source.clone());
    problems(&source, refine::wrong_at_calls(libraries, library, model.model()))
}

/// The same; nothing for shipped libraries, of which a test says that nothing is wrong.
pub fn wrong_in_bodies(library: &Library, libraries: &Libraries) -> Vec<Problem> {
    match texts().any(|(_, text)| *text == library.source.text) {
        true => Vec::new(),
        false => wrong_at_calls(library, libraries, &Models::default()),
    }
}

/// A library from a file.
///
/// # Errors
/// All that is wrong with it.
pub fn load_file(path: &str) -> Result<Library, Vec<Problem>> {
    use std::io::Read;
    let problem = |code, message: String| vec![Problem::of_file(path, code, message)];
    let mut bytes = Vec::new();
    let take = LARGEST_FILE as u64 + 1;
    let read = std::fs::File::open(path).and_then(|file| file.take(take).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(problem(Code::UnreadableFile, format!("cannot be read: {error}")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => loaded(&Source::new(path, text)),
        Err(_) => Err(problem(Code::NotUtf8, "expected UTF-8 text, found other bytes".to_owned())),
    }
}

fn loaded(source: &Source) -> Result<Library, Vec<Problem>> {
    load(source).map_err(|errors| {
        let all = errors.into_iter();
        all.map(|(source, error)| Problem::at(&Arc::new(source), error)).collect()
    })
}
