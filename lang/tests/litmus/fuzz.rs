//! No text makes the language panic, and every tree survives printing.

use crate::{check, load, parse};
use lang::litmus::ast::{File, without_places};
use lang::litmus::print;
use lang::source::Source;
use proptest::prelude::*;

/// Everything that is done with a text; what can be printed must be read again as the same.
fn exercise(text: &str) {
    let source = Source::new("t.litmus", text);
    let (file, diagnostics) = parse(&source);
    for diagnostic in diagnostics.iter().chain(&load(&source).1) {
        assert!(diagnostic.span.start <= diagnostic.span.end, "{diagnostic:?}");
        assert!(text.get(diagnostic.span.range()).is_some(), "{diagnostic:?}\n{text}");
        for (span, _) in &diagnostic.related {
            assert!(text.get(span.range()).is_some(), "{diagnostic:?}\n{text}");
        }
    }
    let known = lang::litmus::survey(&source, crate::words());
    assert_eq!(known.test.is_some(), load(&source).0.is_some(), "{text}");
    let fixes = known.diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref());
    let edited = fixes.flat_map(|fix| fix.edits.iter().map(|(span, _)| *span));
    for span in known.names.iter().map(|name| name.span).chain(edited) {
        assert!(text.get(span.range()).is_some(), "{span:?}\n{text}");
    }
    if let Some(file) = file {
        survives(&file);
    } else {
        assert!(!diagnostics.is_empty());
    }
}

fn survives(file: &File) {
    let printed = print(file);
    let source = Source::new("t.litmus", printed.clone());
    let (again, diagnostics) = parse(&source);
    let again = again.unwrap_or_else(|| panic!("{printed}\n{diagnostics:?}"));
    assert_eq!(without_places(file), without_places(&again), "{printed}");
    assert_eq!(printed, print(&again));
    let _ = check(file, &source);
}

/// Pieces of litmus files, whole and broken.
fn fragment() -> impl Strategy<Value = String> {
    let words = "litmus t|x|y^2|y^2/1|/1|~x/2|x̄|ā|:=|:=^d|:=SV|=|0|1|18446744073709551616|Poll(2)|Poll(2/1)|Wait(d)|Mfence|CAS(x, 0, 1)|\
        RCAS(a, x^2, 0, 1)|_|(|)|{|}|,|;|--- |if|else|while|loop|break|assume|not|~|¬|+|-|*|/\\|\\/|≠|✓|✗|exists|\
        exactly|for|observe|thread 1 @ 1 {|SVar|Barrier z|Ring r 1 -> {2}|x[2] = 0|\"|source \"a\"|model m|\
        bound loops = 3|dialect corerma|model corerma|// c|# c|(*|*)|/*|*/|\
        P0:|P1: ‖ P2:|2:a|0:r|?|×|∈ {0, 1}|_|-1|% 2|Write(x, 1)|Read(x)|Put(x, y, d)|Get(a, x, d)|Acq_WL(l)|Rel_NL(l^2)|\
        Submit^RBL(x, 1)|Receive_RBL(x)|BAR_{BAL}(z)|GF_sv({n_2})|Bcast_SV(x)|\\bar{x}|x^{2}|:=^{d}|:=_sv|:=sv |b₁|Ring Buffer r|\
        WLOCK l|NLOCK l|SVar x, y = 0|SC x = 0|Read_SC(x)|Expected outputs:|thread 0 @ 0 {|⊥|true|.n|²|ᵈ|a:|\u{200b}|\t|\r|é|\0";
    let words: Vec<String> = words
        .split('|')
        .chain(["|", "||", "‖", "\n", "\n---\n", "\n\n", " "])
        .map(str::to_owned)
        .collect();
    prop::sample::select(words)
}

fn valid() -> impl Strategy<Value = String> {
    let texts: Vec<String> = crate::files("ok")
        .into_iter()
        .chain(crate::files("err"))
        .chain(crate::files("printed"))
        .map(|(_, source)| source.text)
        .collect();
    prop::sample::select(texts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text(text in "\\PC*") {
        exercise(&text);
    }

    #[test]
    fn fragments(parts in prop::collection::vec(fragment(), 0..60)) {
        exercise(&parts.join(" "));
        exercise(&format!("litmus t\n x = 0 || y = 0\n---\n{}", parts.concat()));
    }

    #[test]
    fn mutations(text in valid(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, fragment()), 1..5)) {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, kind, inserted) in edits {
            let at = at.index(characters.len() + 1);
            let end = (at + kind * kind).min(characters.len());
            let removed: Vec<char> = characters.drain(at..end).collect();
            let inserted: Vec<char> = match kind {
                0 | 1 => inserted.chars().collect(),
                2 => Vec::new(),
                _ => removed.iter().chain(&removed).copied().collect(),
            };
            characters.splice(at..at, inserted);
        }
        exercise(&characters.into_iter().collect::<String>());
    }

    #[test]
    fn generated_trees(file in crate::trees::tree()) {
        survives(&file);
    }
}

#[test]
fn deep_nesting_needs_no_stack() {
    let plain = [("(", ")"), ("{", "}"), ("~", ""), ("not ", ""), ("!(", ")"), ("[", "]")];
    // What closes nothing does not hide what opens.
    let blocks = [("if 1 {", "}"), ("if 1 { ) ;", "}"), ("if 1 { ];", "}"), ("loop {\n)\n", "}\n")];
    for (open, close) in plain.into_iter().chain(blocks) {
        for depth in [60, 64, 65, 1000, 100_000] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            exercise(&format!("litmus t\n x = 0\n---\nx := {nested}\n{nested}\nassume {nested}\n"));
            exercise(&format!(
                "litmus t\n x = {nested}\n---\nx := 1\n\n{nested} ✓\nexists {nested}\n"
            ));
        }
    }
    let branches = format!("if 1 {{ }} {}", "else if 1 { }".repeat(10_000));
    exercise(&format!("litmus t\n x = 0\n---\n{branches}\n"));
    exercise(&format!("litmus t\n x = 0\n---\n{}\n", "loop { break }\n".repeat(10_000)));
    exercise(&format!("litmus t\n x = 0\n---\n{}\n", "nonsense nonsense\n".repeat(10_000)));
    exercise(&format!("litmus t\n x = 0\n---\n{}\n", "if x { ( } y\n".repeat(10_000)));
    exercise(&format!("litmus t\n x = 0\n---\nx := {}\n", vec!["1"; 100_000].join(" + ")));
    exercise(&format!("litmus t\n {}\n---\n", "||".repeat(100_000)));
    let many = |line: &dyn Fn(usize) -> String| (0..20_000).map(line).collect::<String>();
    let ids = many(&|at| format!("_ :=^d{at} x^1; Wait(d{at}); Bar(z{at})\n"));
    let names = many(&|at| format!(" x{at} = 0; Barrier z{at}\n"));
    exercise(&format!("litmus t\n x = 0\n{names}---\n{ids}\nobserve x1\nx = 0 ✓\n"));
    let unknown = many(&|at| format!("y{at}q := r{at}w; fro{at}\n"));
    exercise(&format!("litmus t\n{names}---\n{unknown}\n"));
    exercise(&format!("litmus t\n x = 0\n---\n{0}(1)\n{0} := 1\n", "Pol".repeat(100_000)));
    exercise(&"(*".repeat(100_000));
    exercise(&"\"".repeat(100_000));
}
