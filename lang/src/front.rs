//! What the languages of models and of libraries share in reading a text: comments, tokens, the way through
//! them, and what all languages do with the problems that they find.

mod comments;
mod cursor;
mod sink;
mod tokens;

pub(crate) use comments::{blank, end_of_comment};
pub(crate) use cursor::{Cursor, Parse};
pub use sink::MOST_DIAGNOSTICS;
pub(crate) use sink::Sink;
pub(crate) use tokens::{Flaw, Hint, Kind, Token, comment, is_name, tokens, unclosed_string};

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use crate::source::Source;
    use crate::{cat, library};

    const LIBRARY: &str = "library one\nclass One\ncall Do(One x) { aMF }\n";

    /// The codes and lines of what is wrong with a text, as a model and behind a library.
    fn wrong(text: &str) -> [Vec<(String, usize)>; 2] {
        let model = Source::new("m.cat", format!("let a = po\n\n\n{text}"));
        let library = Source::new("l.lib", format!("{LIBRARY}{text}"));
        let errors = [
            cat::load(&model, &|_, _| None).map(drop),
            library::load(&library, &|_, _| None).map(drop),
        ];
        errors.map(|found| {
            let found = found.err().unwrap_or_default().into_iter();
            let line = |source: &Source, at| source.line_column(at).0;
            found.map(|(source, e)| (e.code.to_string(), line(&source, e.span.start))).collect()
        })
    }

    #[test]
    fn flaws_are_the_same_in_both_languages() {
        for (text, code) in [
            ("(* open (* closed *)", "unclosed-comment"),
            ("\"open", "unclosed-string"),
            ("// \u{202e}", "bad-character"),
            ("let \u{200b}", "bad-character"),
        ] {
            let found = vec![(code.to_owned(), 4)];
            assert_eq!(wrong(text), [found.clone(), found], "{text:?}");
        }
        for text in ["(* (* *) *)", "// end", "(**)"] {
            assert_eq!(wrong(text)[1], [], "{text:?}");
        }
    }

    #[test]
    fn a_name_is_one_word() {
        let names = ["x", "po_x", "a1"];
        let none =
            ["", " x", "x ", "//", "#", "a,b", "a := 1 // ", "1a", "let\n", "(* *)a", "⊥", "\"a\""];
        for is_name in [cat::is_name, library::is_name, crate::litmus::is_name] {
            assert!(names.iter().all(|name| is_name(name)));
            none.iter().for_each(|text| assert!(!is_name(text), "{text:?}"));
        }
        assert!(cat::is_name("po-loc") && !cat::is_name("let") && !cat::is_name("a-"));
        assert!(crate::litmus::is_name("x'") && !crate::litmus::is_name("while"));
    }

    #[test]
    fn strings_are_named_as_such_in_both_languages() {
        let model = cat::load(&Source::new("m.cat", "let \"x\" = po"), &|_, _| None);
        let library = library::load(&Source::new("l.lib", "library \"x\""), &|_, _| None);
        for errors in [model.map(drop), library.map(drop)] {
            let errors = errors.expect_err("a string is not a name");
            assert!(errors[0].1.message.ends_with("found a string"), "{}", errors[0].1.message);
        }
    }
}
