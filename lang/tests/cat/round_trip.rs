//! Parsing what was printed gives what was printed.

use lang::cat::model::DefinitionKind;
use lang::cat::syntax::{
    BinaryOp, Expr, ExprKind, File, Name, PostfixOp, Statement, StatementKind,
};
use lang::cat::{parse, print, print_expr};
use lang::source::Span;
use proptest::prelude::*;

use super::{cat_files, read};

#[test]
fn shipped_models() {
    for path in cat_files("model/models") {
        let (tree, diagnostics) = parse(&read(&path).text);
        assert_eq!(diagnostics, []);
        let printed = print(&tree);
        assert_eq!(parse(&printed), (tree, Vec::new()), "{printed}");
    }
}

#[test]
fn every_statement() {
    let text = "\"title\"\n\
        include \"other\"\n\
        let f(x, y) = x; y\n\
        let rec a = f(a, po)\nand b = a\n\
        exists mo total on W * W & loc extends IW * W\n\
        exists nfo total on po\n\
        table t on po \\ id where Q = loc, SN = int | ext\n\
        |     | R | aCW |\n\
        | R   | ✓ | ·   |\n\
        | aCW | Q | SN  |\n\
        end\n\
        table u on po\n\
        |   | R |\n\
        | W | ✓ |\n\
        end\n\
        acyclic po* | rf+ as name\n\
        irreflexive ~[W]\n\
        empty {}\n\
        calls Write Read\n\
        uncall Read\n\
        machine tso\n\
        drop name\n\
        drop \"~[W]\"\n\
        set t[R, aCW] = SN\n\
        replace let a = _ * _\n";
    let (tree, diagnostics) = parse(text);
    assert_eq!(diagnostics, []);
    assert_eq!(print(&tree), text);
}

#[test]
fn other_spellings_are_printed_in_one() {
    let text = "let a = po^+ | po^* and b = ((po))\ntable t on po // no\n| | R |\n| R | + | (* yes *)\n| W | - |\n| M | . |\nend";
    let (tree, diagnostics) = parse(text);
    assert_eq!(diagnostics, []);
    let expected = "let a = po+ | po*\nlet b = po\ntable t on po\n|   | R |\n| R | ✓ |\n| W | · |\n| M | · |\nend\n";
    assert_eq!(print(&tree), expected);
}

fn expr() -> impl Strategy<Value = Expr> {
    let at = Span::default();
    let new = move |kind| Expr::new(kind, at);
    let names = prop::sample::select(vec!["po", "W", "same-node", "_x", "a.b-1", "let-it"]);
    let leaf = prop_oneof![
        6 => names.prop_map(move |name| new(ExprKind::Name(name.to_owned()))),
        1 => Just(new(ExprKind::Zero)),
        1 => Just(new(ExprKind::Braces)),
        1 => Just(new(ExprKind::Universe)),
    ];
    leaf.prop_recursive(6, 60, 3, move |inner| {
        let binary = prop::sample::select(vec![
            BinaryOp::Union,
            BinaryOp::Sequence,
            BinaryOp::Difference,
            BinaryOp::Intersection,
            BinaryOp::Product,
        ]);
        let postfix = prop::sample::select(vec![
            PostfixOp::Inverse,
            PostfixOp::Plus,
            PostfixOp::Star,
            PostfixOp::Optional,
        ]);
        let one = || inner.clone().prop_map(Box::new);
        prop_oneof![
            4 => (binary, one(), one())
                .prop_map(move |(operator, left, right)| new(ExprKind::Binary(operator, left, right))),
            3 => (postfix, one()).prop_map(move |(operator, inner)| new(ExprKind::Postfix(operator, inner))),
            1 => one().prop_map(move |inner| new(ExprKind::Complement(inner))),
            1 => one().prop_map(move |inner| new(ExprKind::Identity(inner))),
            1 => one().prop_map(move |inner| new(ExprKind::Domain(inner))),
            1 => one().prop_map(move |inner| new(ExprKind::Range(inner))),
            1 => prop::collection::vec(inner.clone(), 1..3).prop_map(move |arguments| {
                new(ExprKind::Call(Name { text: "f".to_owned(), span: at }, arguments))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_expression(body in expr()) {
        let name = Name { text: "x".to_owned(), span: Span::default() };
        let axiom = lang::cat::syntax::Axiom { kind: lang::cat::model::AxiomKind::Acyclic, body, name: Some(name) };
        let text = print_expr(&axiom.body);
        let kind = StatementKind::Axiom(axiom);
        let file = File { title: None, statements: vec![Statement { kind, span: Span::default() }] };
        prop_assert_eq!(parse(&print(&file)), (file, Vec::new()), "{}", text);
    }
}

/// What is checked, printed and read again is the same expression.
#[test]
fn checked_expressions() {
    for path in cat_files("model/models") {
        let text = read(&path).text;
        let model = super::load_right(&text).model;
        let mut bodies: Vec<&lang::cat::model::Expr> =
            model.axioms.iter().map(|axiom| &axiom.body).collect();
        for definition in &model.definitions {
            match &definition.kind {
                DefinitionKind::Let { body, .. } => bodies.push(body),
                DefinitionKind::Choice { total_on, .. } => bodies.push(total_on),
                DefinitionKind::Table(table) => bodies.push(&table.on),
                DefinitionKind::Rec(group) => bodies.extend(group.iter().map(|one| &one.body)),
            }
        }
        for body in bodies {
            let printed = model.text_of(body);
            // What a definition replaces has a name in its own text only.
            if printed.contains('\'') {
                continue;
            }
            let again =
                super::load_right(&format!("{text}\nlet printed-again = {printed}\n")).model;
            let last =
                again.definitions.iter().rev().find_map(|definition| match &definition.kind {
                    DefinitionKind::Let { name, body, .. } if name == "printed-again" => Some(body),
                    _ => None,
                });
            assert_eq!(last, Some(body), "{}: {printed}", path.display());
        }
    }
}
