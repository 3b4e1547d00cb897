//! Models by name and from files.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use crate::shell::quote;
use compiler::library::Libraries;
use evidence::judge::Judge;
use evidence::record::{ModelIdentity, fnv1a};
use lang::Test;
use lang::cat::model::Model;
use lang::cat::{self, LARGEST_FILE, Loaded};
use lang::diagnostic::{Code, Diagnostic, nearest};
use lang::litmus::models::is_model_file;
use lang::mutex::lock;
use lang::source::{Source, Span};
use model::models::{SHIPPED, shipped, unknown};

use crate::problem::Problem;

/// A model ready for use.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The model and its files.
    pub loaded: Loaded,
    /// Whether it came from a file of the user's: then verdicts that name no model are about it too.
    pub is_own: bool,
    /// Its name and the hash of its files.
    pub identity: ModelIdentity,
    /// What `--model` takes for it.
    pub argument: String,
    judge: OnceLock<Arc<Judge>>,
}

impl LoadedModel {
    fn new(loaded: Loaded, is_own: bool, argument: &str) -> Self {
        let texts: Vec<&str> = loaded.sources.iter().map(|source| source.text.as_str()).collect();
        let hash = format!("{:016x}", fnv1a(&texts));
        let identity = ModelIdentity { name: loaded.model.name.clone(), hash };
        let argument = argument.to_owned();
        Self { loaded, is_own, identity, argument, judge: OnceLock::new() }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.loaded.model
    }

    /// The model as a judge, of which all tests share one.
    pub fn judge(&self) -> Arc<Judge> {
        let made = self.judge.get_or_init(|| {
            Arc::new(Judge {
                identity: self.identity.clone(),
                model: self.model().clone(),
                argument: self.argument.clone(),
                is_own: self.is_own,
            })
        });
        Arc::clone(made)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.loaded.model.name
    }
}

impl Models {
    /// Names and hashes of the models that the command line names.
    pub fn identities(&self) -> String {
        let one = |model: &Arc<LoadedModel>| format!("{} {}", model.name(), model.identity.hash);
        self.chosen.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// The shipped model of MPI, which judges programs over it.
pub const MPI: &str = "mpi-rma";

/// The names of the shipped models.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// Models, each loaded once.
#[derive(Default)]
pub struct Models {
    shipped: Mutex<HashMap<String, Option<Arc<LoadedModel>>>>,
    /// Those of files that headers name, by path; or what is wrong with the file.
    files: Mutex<BTreeMap<String, Result<Arc<LoadedModel>, String>>>,
    /// Those that the command line names, in its order; empty if every test's header is to be followed.
    pub chosen: Vec<Arc<LoadedModel>>,
    /// The libraries whose words tests use, if not the shipped ones.
    pub libraries: Option<Libraries>,
}

/// Why the models of the command line are not usable.
pub enum ChoiceError {
    /// A name that no shipped model has.
    Unknown(String),
    /// A file that is wrong.
    Bad(Vec<Problem>),
}

impl Models {
    /// No models but those that headers name, of tests that use the words of these libraries.
    pub fn with(libraries: &Libraries) -> Self {
        Self { libraries: Some(libraries.clone()), ..Self::default() }
    }

    /// The libraries whose words tests use.
    pub fn libraries(&self) -> &Libraries {
        self.libraries.as_ref().unwrap_or_else(|| model::library::shipped())
    }

    /// The models that `--model` names: shipped ones by name, files by a path that ends in `.cat`. What a
    /// file's text is warned of is given back too.
    ///
    /// # Errors
    /// See [`ChoiceError`].
    pub fn choose(arguments: &[String]) -> Result<(Self, Vec<Problem>), ChoiceError> {
        let mut models = Self::default();
        let mut warnings = Vec::new();
        for argument in arguments {
            let model = if argument.ends_with(".cat") {
                let (model, more) = load_file(argument).map_err(ChoiceError::Bad)?;
                warnings.extend(more);
                Arc::new(model)
            } else {
                let unknown = || ChoiceError::Unknown(unknown_model(argument));
                models.shipped(argument).ok_or_else(unknown)?
            };
            if !models.chosen.iter().any(|known| known.identity == model.identity) {
                models.chosen.push(model);
            }
        }
        Ok((models, warnings))
    }

    /// The shipped models of networks: `verbs`, and those that include it, be it by others.
    pub fn networks(&self) -> Vec<Arc<LoadedModel>> {
        let is_network = |model: &Arc<LoadedModel>| model.loaded.includes("verbs");
        names().filter_map(|name| self.shipped(name)).filter(is_network).collect()
    }

    /// A shipped model; `None` if there is none of that name.
    pub fn shipped(&self, name: &str) -> Option<Arc<LoadedModel>> {
        let mut known = lock(&self.shipped);
        let load = || {
            let mut loaded = model::models::loaded(name)?.clone();
            loaded.sources.iter_mut().for_each(in_shipped_folder);
            Some(Arc::new(LoadedModel::new(loaded, false, name)))
        };
        known.entry(name.to_owned()).or_insert_with(load).clone()
    }

    /// The models that a test is asked about: those of the command line, or else of its header, whose files
    /// are looked for from the test's folder.
    ///
    /// # Errors
    /// A diagnostic for each name in the header that no model has, and each file that is not a model.
    pub fn of_test(
        &self,
        test: &Test,
        source: &Source,
    ) -> Result<Vec<Arc<LoadedModel>>, Vec<Diagnostic>> {
        if !self.chosen.is_empty() {
            return Ok(self.chosen.clone());
        }
        let mut models: Vec<Arc<LoadedModel>> = Vec::new();
        let mut errors = Vec::new();
        for name in &test.models {
            let found = if is_model_file(name) {
                self.file(name, source)
            } else {
                self.shipped(name).ok_or_else(|| Box::new(unknown_in_header(name, source)))
            };
            match found {
                Ok(model) if models.iter().any(|known| known.identity == model.identity) => {}
                Ok(model) => models.push(model),
                Err(error) => errors.push(*error),
            }
        }
        if errors.is_empty() { Ok(models) } else { Err(errors) }
    }
}

impl Models {
    /// A shipped model, or one of a file that the header of a test names that was loaded.
    pub fn named(&self, name: &str) -> Option<Arc<LoadedModel>> {
        self.shipped(name).or_else(|| {
            let files = lock(&self.files);
            let mut loaded = files.values().filter_map(|model| model.as_ref().ok());
            loaded.find(|model| model.name() == name).cloned()
        })
    }

    /// The machine of the shipped model that a user's model changes.
    pub fn machine_changed_by(&self, model: &LoadedModel) -> Option<String> {
        let included = model.loaded.sources.iter();
        let mut names = included.filter_map(|source| source.name.strip_prefix(SHIPPED_FOLDER));
        names.find_map(|name| self.shipped(name.strip_suffix(".cat")?)?.model().machine.clone())
    }

    /// The model in a file that a test's header names.
    fn file(&self, name: &str, source: &Source) -> Result<Arc<LoadedModel>, Box<Diagnostic>> {
        let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
        let path = folder.join(name).to_string_lossy().into_owned();
        let mut known = lock(&self.files);
        // What it is warned of is for `litmus check`.
        let load = || match load_file(&path) {
            Ok((model, _)) => Ok(Arc::new(model)),
            Err(problems) => Err(problems.first().map(Problem::in_a_line).unwrap_or_default()),
        };
        known.entry(path.clone()).or_insert_with(load).clone().map_err(|why| {
            let message = format!("the model `{name}` of the header cannot be used: {why}");
            let error =
                Diagnostic::error(Code::UnusableModelFile, in_header(name, source), message);
            Box::new(
                error.help(format!("`litmus check {}` says what is wrong with it", quote(&path))),
            )
        })
    }
}

/// A model as headers of tests in a folder name it, by its name or by what `--model` took for it: a file is
/// named by its path from there.
pub fn in_headers(model: &str, folder: &Path) -> String {
    if !is_model_file(model) {
        return model.to_owned();
    }
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (file, folder) = (absolute(Path::new(model)), absolute(folder));
    let common = file.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| "..".to_owned());
    let down = file.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// What to say of a name that no shipped model has.
pub fn unknown_model(name: &str) -> String {
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`litmus models` lists them, and FILE.cat reads one from a file".to_owned(),
    };
    format!("there is no model `{name}`; {hint}")
}

/// Points at the name in the `model` line of the header.
fn unknown_in_header(name: &str, source: &Source) -> Diagnostic {
    unknown(name, in_header(name, source))
}

/// Where a name stands in the `model` line of the header.
fn in_header(name: &str, source: &Source) -> Span {
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let mut offset = 0;
    for line in source.text.split_inclusive('\n') {
        if line.trim_start().starts_with("model") {
            let start = line.match_indices(name).map(|(start, _)| start).find(|start| {
                let before = line[..*start].chars().next_back();
                let after = line[start + name.len()..].chars().next();
                !before.is_some_and(is_name) && !after.is_some_and(is_name)
            });
            if let Some(start) = start {
                return Span::new(offset + start, offset + start + name.len());
            }
        }
        offset += line.len();
    }
    Span::default()
}

/// The folder that shipped models seem to be in. Their includes are looked for there only.
const SHIPPED_FOLDER: &str = "<shipped>/";

fn shipped_source(name: &str) -> Option<Source> {
    let mut source = shipped(name.strip_suffix(".cat").unwrap_or(name))?;
    in_shipped_folder(&mut source);
    Some(source)
}

fn in_shipped_folder(source: &mut Source) {
    source.name.insert_str(0, SHIPPED_FOLDER);
}

/// A file beside the one that includes it, or else a shipped model. A file does not include itself so: it can
/// be a changed copy of the shipped model of its own name.
fn load_include(include: &str, includer: &str) -> Option<Source> {
    if includer.starts_with(SHIPPED_FOLDER) {
        return shipped_source(include);
    }
    let folder = Path::new(includer).parent().unwrap_or(Path::new(""));
    let path = folder.join(include);
    if path != Path::new(includer) && path.is_file() {
        return read_model(&path.to_string_lossy()).ok();
    }
    shipped_source(include)
}

fn read_model(path: &str) -> Result<Source, Box<Problem>> {
    use std::io::Read;
    let problem = |code, message: String| Box::new(Problem::of_file(path, code, message));
    let mut bytes = Vec::new();
    let take = LARGEST_FILE as u64 + 1;
    let read = std::fs::File::open(path).and_then(|file| file.take(take).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(problem(Code::UnreadableFile, format!("cannot be read: {error}")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(path, text)),
        Err(_) => Err(problem(Code::NotUtf8, "expected UTF-8 text, found other bytes".to_owned())),
    }
}

/// A model from a file, and what its text is warned of.
///
/// # Errors
/// All that is wrong with it.
pub fn load_file(path: &str) -> Result<(LoadedModel, Vec<Problem>), Vec<Problem>> {
    let source = read_model(path).map_err(|problem| vec![*problem])?;
    let with_sources = |pairs: Vec<(Source, Diagnostic)>| {
        pairs.into_iter().map(|(source, diagnostic)| Problem::at(&Arc::new(source), diagnostic))
    };
    match cat::load(&source, &load_include) {
        Ok(mut loaded) => {
            let warnings = with_sources(std::mem::take(&mut loaded.warnings)).collect();
            Ok((LoadedModel::new(loaded, true, path), warnings))
        }
        Err(errors) => Err(with_sources(errors).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_model_loads() {
        let models = Models::default();
        for name in names() {
            assert!(models.shipped(name).is_some(), "{name}");
        }
        assert!(models.shipped("no-such-model").is_none());
    }

    #[test]
    fn a_near_name_is_suggested() {
        assert!(unknown_model("rdma-tsos").contains("did you mean `rdma-tso`?"));
        let source = Source::new("x", "litmus x\nmodel sc scc\n");
        let error = unknown_in_header("scc", &source);
        assert_eq!(source.line_column(error.span.start), (2, 10));
    }
}
