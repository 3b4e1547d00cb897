//! Names of models and libraries stand in their texts and nowhere else.

mod copies;
mod rust;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use lang::cat::model::{Base, CALLS, DefinitionKind, Model, Type};
use lang::cat::words::LOCATION;
use lang::litmus::methods::SIGNATURES;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in a workspace")
}

const BEGIN: &str = "<!-- relations -->\n";
const END: &str = "<!-- end of relations -->";

/// `UPDATE_EXPECT=1` writes the table.
#[test]
fn the_glossary_has_what_models_say_of_their_relations() {
    let path = root().join("docs/glossary.md");
    let glossary = std::fs::read_to_string(&path).expect("there is a glossary");
    let (before, rest) = glossary.split_once(BEGIN).expect("a place for the table");
    let (_, after) = rest.split_once(END).expect("its end");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", relations());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("the glossary can be written");
    } else {
        let help = "run `UPDATE_EXPECT=1 cargo test -p cli --test names`";
        assert!(glossary == wanted, "docs/glossary.md is stale: {help}");
    }
}

/// One row for each relation and what is said of it, with the models that say so.
fn relations() -> String {
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for (name, _) in model::models::SHIPPED {
        let model = loaded(name);
        for relation in named(&model) {
            let Some(says) = model.says(&relation) else { continue };
            let says = says.replace(LOCATION, "the location");
            match rows.iter_mut().find(|row| row.0 == relation && row.1 == says) {
                Some(row) => row.2.push(model.name.clone()),
                None => rows.push((relation, says, vec![model.name.clone()])),
            }
        }
    }
    let mut table =
        "| relation | why the second comes after the first | in |\n|---|---|---|\n".to_owned();
    for (relation, says, models) in rows {
        let all = models.len() == model::models::SHIPPED.len();
        let models = if all { "all".to_owned() } else { models.join(", ") };
        writeln!(table, "| {relation} | {says} | {models} |").expect("strings grow");
    }
    table
}

/// A shipped model.
fn loaded(name: &str) -> Model {
    let source = model::models::shipped(name).expect("it is shipped");
    let loader = |include: &str, _: &str| model::models::shipped(include);
    lang::cat::load(&source, &loader).expect("shipped models are right").model
}

/// The names of relations, those that every execution has first.
fn named(model: &Model) -> Vec<String> {
    let is_relation = |base: &&Base| base.ty() == Type::Relation && **base != Base::Identity;
    let mut names: Vec<String> =
        Base::ALL.iter().filter(is_relation).map(|base| base.name().to_owned()).collect();
    for definition in &model.definitions {
        match &definition.kind {
            DefinitionKind::Let { ty: Type::Set, .. } => {}
            DefinitionKind::Rec(bodies) => {
                names.extend(bodies.iter().map(|body| body.name.clone()))
            }
            _ => names.extend(definition.name().map(str::to_owned)),
        }
    }
    names
}

/// Names of the shipped libraries: of classes, of methods that are not words of the language too, marks, and
/// what else they are called.
fn of_libraries() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for library in &model::library::shipped().all {
        names.extend(library.classes.iter().chain(&library.mark).cloned());
        names.extend(library.class_spellings.iter().map(|(word, _)| word.clone()));
        for method in &library.methods {
            names.extend([&method.name].into_iter().chain(&method.also).cloned());
            names.extend(method.word().map(str::to_owned));
            // `x :=SV v`
            let mark = method.written.as_ref().and_then(|written| written.split_once(":="));
            let mark = mark.and_then(|(_, rest)| rest.split(|c: char| !c.is_alphanumeric()).next());
            names.extend(mark.filter(|mark| !mark.is_empty()).map(str::to_owned));
        }
    }
    names.retain(|name| ["Write", "Read"].contains(&name.as_str()) || !is_statement(name));
    names
}

/// Whether a word is a statement of the language, however it is written.
fn is_statement(word: &str) -> bool {
    let spelled = SIGNATURES.iter().flat_map(|row| row.spellings.iter());
    spelled.chain(&CALLS).any(|known| known.eq_ignore_ascii_case(word))
}

/// A text with each of these words given a letter in front, except on the line with a test's name.
fn renamed(text: &str, is_part: impl Fn(char) -> bool, names: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let (false, Some(first)) = (line.starts_with("litmus "), rest.chars().next()) {
            let end = match is_part(first) {
                true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (word, after) = rest.split_at(end);
            if names.contains(word) {
                out.push(if first.is_ascii_uppercase() { 'Z' } else { 'z' });
            }
            out.push_str(word);
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// What a command prints, with the names that were changed as they were, and the folder of the copies gone.
fn printed(arguments: &[&str], folder: &Path) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_litmus"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("it runs");
    let mut text = format!("{:?}\n", output.status.code());
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    text = text.replace(&format!("{}/", folder.display()), "");
    text = text.replace("litmus-suite/libraries/", "").replace("model/tests/broken/", "");
    for name in of_libraries() {
        text = text.replace(&format!("Z{name}"), &name).replace(&format!("z{name}"), &name);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every way in which papers write what libraries define.
const SPELLED: &str = "litmus spelled
  SVar x = 0, y = 0; WLock l || RingBuffer q 1 -> {2} size 2 ||  z = 0
  ---
  x :=_{SV} 1 || a := Read_SV(y) || b := CAS_SC(z, 0, 1)
  Bcast_{SV}(x, d, {2, 3}) || c := Receive^RBL(q) || Acq_NL(m^2)
  WaitSV(d) || Acquire(l) || Rel^NL(m)
  Submit(q, 1) || Release_WL(l) ||
  Write_SV(x, 2) || Bar_BAL(w) || Broadcast(x)
  Bar(w) || ||
  c = 1 ✓
";

/// A user's copy of a shipped library under other names is as good as the shipped one.
#[test]
fn renamed_copies_of_libraries_do_the_same() {
    let folder = std::env::temp_dir().join(format!("litmus-{}-names", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let names = of_libraries();
    let renamed = |text: &str| renamed(text, |c| c.is_ascii_alphanumeric(), &names);
    let mut options: Vec<String> = Vec::new();
    for (name, text) in model::library::SHIPPED.iter().filter(|(_, text)| text.contains("\nclass "))
    {
        let path = folder.join(format!("{name}.lib"));
        std::fs::write(&path, renamed(text)).expect("it can be written");
        options.extend(["--library".to_owned(), path.display().to_string()]);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut compared = 0;
    for entry in
        std::fs::read_dir(root().join("litmus-suite/libraries")).expect("the suite").flatten()
    {
        let name = entry.file_name().into_string().expect("it is text");
        if !name.ends_with(".litmus") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("the suite is readable");
        let copy = folder.join(&name);
        std::fs::write(&copy, renamed(&text)).expect("it can be written");
        let (own, copy) = (format!("litmus-suite/libraries/{name}"), copy.display().to_string());
        for command in [
            &["allowed", "--format", "json", "--model", "rdma-wait-rmw"][..],
            &["allowed", "--inline", "--model", "rdma-wait-rmw", "--loops", "2"],
            &["run", "-n", "20", "--seed", "7", "-j", "1"],
        ] {
            let shipped = printed(&[command, &[&own]].concat(), &folder);
            let other = printed(&[command, &[&copy], &options].concat(), &folder);
            // What a run shows depends on the test's text too; that it shows a violation does not.
            let told = |text: &str| match command[0] {
                "run" => text.split(' ').next().unwrap_or_default().to_owned(),
                _ => text.to_owned(),
            };
            assert_eq!(told(&shipped), told(&other), "{command:?} {name}");
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
    // As papers spell calls, and with what they leave out: what is read is the same.
    let copy = folder.join("spelled.litmus");
    std::fs::write(&copy, SPELLED).expect("it can be written");
    let shipped = printed(&["fmt", &copy.display().to_string()], &folder);
    assert!(shipped.contains("Bcast(x, d, {2, 3})"), "{shipped}");
    std::fs::write(&copy, renamed(SPELLED)).expect("it can be written");
    let other = printed(&[&["fmt", &copy.display().to_string()], &options[..]].concat(), &folder);
    // The rule is as long as the rows are.
    assert_eq!(shipped.replace('-', ""), other.replace('-', ""));
    let bounds = ["--threads", "2", "--calls", "1", "--plain", "0", "--size", "2"];
    for name in ["sv", "bal", "wlock", "sc", "msw"] {
        let copy = folder.join(format!("{name}.lib")).display().to_string();
        let shipped = printed(&[&["refine", name], &bounds[..]].concat(), &folder);
        let other = printed(&[&["refine", &copy], &bounds[..], &options].concat(), &folder);
        // How fast it was comes next.
        let told = |text: &str| text.split(" clients up to symmetry").next().map(str::to_owned);
        assert_eq!(told(&shipped), told(&other.replace(".lib:", ":")), "refine {name}");
    }
    let explain = ["explain", "--model", "rdma-wait-rmw", "--outcome", "a = 1, b = 0"];
    let own = "litmus-suite/libraries/SC+MP.litmus";
    let copy = folder.join("SC+MP.litmus").display().to_string();
    let shipped = printed(&[&explain[..], &[own]].concat(), &folder);
    assert!(shipped.starts_with("Some(0) forbidden"), "{shipped}");
    assert_eq!(shipped, printed(&[&explain[..], &[&copy], &options].concat(), &folder));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
