//! New names: each is one name, and changes no meaning.

use serde_json::json;

use super::PROGRAM;
use super::client::{Client, applied};

/// Texts that are not a name in any of the languages.
const NO_NAMES: [&str; 7] = ["", "//", "#", "x ", "a,b", "a := 1 // ", "1a"];

#[test]
fn a_new_name_is_one_name() {
    let mut client = Client::new(json!({}));
    let program = client.open("session.litmus", PROGRAM);
    let model = client.open("mine.cat", "\"mine\"\nlet r = po\nacyclic r as fine\n");
    let library = client.open("one.lib", "library one\nclass One\ncall Do(One x) { aMF }\n");
    for (uri, place, keyword) in
        [(&program, (6, 7), "while"), (&model, (1, 4), "let"), (&library, (2, 5), "call")]
    {
        for name in NO_NAMES.into_iter().chain([keyword]) {
            let why = client.rename(uri, place, name).expect_err(name);
            assert_eq!(why, format!("expected one name, found `{name}`"));
        }
        assert!(client.rename(uri, place, "other").is_ok());
    }
    client.end();
}

#[test]
fn no_name_takes_the_place_of_another() {
    let mut client = Client::new(json!({}));
    let text =
        "\"mine\"\ninclude \"rdma-tso.cat\"\nlet f(r) = r; po\nlet g = mo\nacyclic f(g) as fine\n";
    let uri = client.open("mine.cat", text);
    // A parameter would be what the body means by program order.
    assert!(client.rename(&uri, (2, 6), "po").expect_err("hides").contains("po"));
    assert!(client.rename(&uri, (2, 6), "q").is_ok());
    // What is built in, and what included files define.
    for taken in ["rf", "ippo"] {
        let why = client.rename(&uri, (3, 4), taken).expect_err(taken);
        assert_eq!(why, format!("`{taken}` is the name of something else"));
    }
    // What other texts define is not this file's to rename.
    let wlock = model::library::SHIPPED.iter().find(|(name, _)| *name == "wlock").unwrap().1;
    let library = client.open("wlock.lib", wlock);
    let (line, column) = place_of(wlock, "po & same-object");
    let why = client.rename(&library, (line, column), "mine").expect_err("built in");
    assert_eq!(why, "`po` is not defined in this file");
    let (line, column) = place_of(wlock, "held = ");
    let edits = client.rename(&library, (line, column), "owned").unwrap();
    assert_eq!(edits["changes"][&library].as_array().unwrap().len(), 2);
    client.end();
}

fn place_of(text: &str, part: &str) -> (usize, usize) {
    let at = text.find(part).unwrap();
    let line = text[..at].matches('\n').count();
    (line, at - text[..at].rfind('\n').map_or(0, |end| end + 1))
}

#[test]
fn models_that_include_this_one_are_renamed_too() {
    let mut client = Client::new(json!({}));
    let (base, user) = (
        "let mine = rf & ext\nlet other = mine\n",
        "include \"base.cat\"\nlet own = mine; mine\nacyclic own as fine\n",
    );
    let base_uri = client.open("base.cat", base);
    let user_uri = client.open("user.cat", user);
    let edits = client.rename(&base_uri, (0, 4), "better").unwrap();
    assert_eq!(applied(base, &edits["changes"][&base_uri]), base.replace("mine", "better"));
    assert_eq!(applied(user, &edits["changes"][&user_uri]), user.replace("mine", "better"));
    let why = client.rename(&base_uri, (0, 4), "own").expect_err("taken there");
    assert!(why.ends_with("in /no/such/folder/user.cat"), "{why}");
    client.end();
}

#[test]
fn models_that_are_not_open_are_renamed_too() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp-renames");
    let uri = |path: &str| format!("file://{}", folder.join(path).display());
    std::fs::create_dir_all(folder.join("models/deep")).unwrap();
    std::fs::create_dir_all(folder.join("models/target")).unwrap();
    let base = "let mine = rf & ext\nacyclic mine as fine\n";
    let user = "include \"../base.cat\"\nlet own = mine; mine\nacyclic own as finer\n";
    let beside = user.replace("../", "");
    for (path, text) in [
        ("models/base.cat", base),
        ("models/beside.cat", &beside),
        ("models/deep/user.cat", user),
        ("models/deep/other.cat", "include \"no.cat\"\nlet mine = rf\n"),
        ("models/target/user.cat", user),
    ] {
        std::fs::write(folder.join(path), text).unwrap();
    }
    // Without a folder of the editor, models beside this one are looked at.
    for (root, expected) in [
        (None, vec!["models/base.cat", "models/beside.cat"]),
        (Some(uri("")), vec!["models/base.cat", "models/beside.cat", "models/deep/user.cat"]),
    ] {
        let mut client = Client::with(json!({}), root.as_deref(), 60);
        let at = client.open_at(&uri("models/base.cat"), base);
        let edits = client.rename(&at, (0, 4), "better").unwrap();
        let edits = edits["changes"].as_object().unwrap();
        let mut changed: Vec<String> = edits.keys().cloned().collect();
        changed.sort();
        assert_eq!(changed, expected.iter().map(|path| uri(path)).collect::<Vec<_>>());
        for path in expected {
            let text = std::fs::read_to_string(folder.join(path)).unwrap();
            assert_eq!(applied(&text, &edits[&uri(path)]), text.replace("mine", "better"));
        }
        let why = client.rename(&at, (0, 4), "own").expect_err("taken there");
        assert!(why.contains("in /") && why.ends_with(".cat"), "{why}");
        client.end();
    }
}
