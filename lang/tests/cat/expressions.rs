//! What expressions mean: precedence, types, functions.

use expect_test::{Expect, expect};
use lang::cat::model::{DefinitionId, DefinitionKind, Expr, Model, Type};

use super::{load_right, load_text, rendered};

/// The value of the last definition as text with all parentheses, and its type.
fn check(text: &str, expected: Expect) {
    let loaded = load_right(text);
    let model = &loaded.model;
    let last = model.definitions.last();
    let Some(DefinitionKind::Let { ty, body, .. }) = last.map(|definition| &definition.kind) else {
        panic!("the last definition of {text} is no plain one");
    };
    expected.assert_eq(&format!("{ty:?}: {}", full(model, body)));
}

fn name(model: &Model, id: DefinitionId) -> &str {
    match &model.definitions[id.definition].kind {
        DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => name,
        DefinitionKind::Rec(bodies) => &bodies[id.body].name,
        DefinitionKind::Table(table) => &table.name,
    }
}

/// An expression with parentheses around every operation.
pub(super) fn full(model: &Model, expr: &Expr) -> String {
    let both = |left: &Expr, operator: &str, right: &Expr| {
        format!("({} {operator} {})", full(model, left), full(model, right))
    };
    match expr {
        Expr::Base(base) => base.name().to_owned(),
        Expr::Defined(id) => name(model, *id).to_owned(),
        Expr::Empty => "0".to_owned(),
        Expr::Universe => "_".to_owned(),
        Expr::Union(left, right) => both(left, "|", right),
        Expr::Intersection(left, right) => both(left, "&", right),
        Expr::Difference(left, right) => both(left, "\\", right),
        Expr::Product(left, right) => both(left, "*", right),
        Expr::Sequence(left, right) => both(left, ";", right),
        Expr::Complement(Type::Set, inner) => format!("(~set {})", full(model, inner)),
        Expr::Complement(Type::Relation, inner) => format!("(~rel {})", full(model, inner)),
        Expr::Identity(inner) => format!("[{}]", full(model, inner)),
        Expr::Inverse(inner) => format!("({}^-1)", full(model, inner)),
        Expr::Plus(inner) => format!("({}+)", full(model, inner)),
        Expr::Star(inner) => format!("({}*)", full(model, inner)),
        Expr::Optional(inner) => format!("({}?)", full(model, inner)),
        Expr::Domain(inner) => format!("domain({})", full(model, inner)),
        Expr::Range(inner) => format!("range({})", full(model, inner)),
    }
}

#[test]
fn bind_as_in_herd() {
    check(
        "let x = po | rf; loc \\ int & R * W",
        expect!["Relation: (po | (rf ; (loc \\ (int & (R * W)))))"],
    );
    check(
        "let x = R * W & loc; po \\ id | rf",
        expect!["Relation: ((((R * W) & loc) ; (po \\ id)) | rf)"],
    );
    check("let x = po \\ rf \\ loc", expect!["Relation: ((po \\ rf) \\ loc)"]);
    check("let x = po \\ (rf \\ loc)", expect!["Relation: (po \\ (rf \\ loc))"]);
    check("let x = ~po+ & ~rf^-1", expect!["Relation: ((~rel (po+)) & (~rel (rf^-1)))"]);
    check("let x = (rf^-1)+?*", expect!["Relation: ((((rf^-1)+)?)*)"]);
    check("let x = po^+ | po^* | po^?", expect!["Relation: (((po+) | (po*)) | (po?))"]);
}

#[test]
fn tell_a_product_from_a_closure() {
    check("let x = po*", expect!["Relation: (po*)"]);
    check("let x = po*; rf*", expect!["Relation: ((po*) ; (rf*))"]);
    check("let x = R*W", expect!["Relation: (R * W)"]);
    check("let x = R * ~W", expect!["Relation: (R * (~set W))"]);
    check("let x = domain(po)*range(rf)", expect!["Relation: (domain(po) * range(rf))"]);
    check("let x = po* \\ id", expect!["Relation: ((po*) \\ id)"]);
    check("let x = po**", expect!["Relation: ((po*)*)"]);
    check("let y = po*\nlet x = (po*)", expect!["Relation: (po*)"]);
}

#[test]
fn give_nothing_the_type_that_is_needed() {
    check("let x = 0", expect!["Relation: 0"]);
    check("let x = {}", expect!["Set: 0"]);
    check("let x = R | 0", expect!["Set: (R | 0)"]);
    check("let x = {}; po", expect!["Relation: (0 ; po)"]);
    check("let x = [0]", expect!["Relation: [0]"]);
    check("let x = ~0 & W", expect!["Set: ((~set 0) & W)"]);
    check(
        "let x = (~(0 | ~{}) \\ {}) & po",
        expect!["Relation: (((~rel (0 | (~rel 0))) \\ 0) & po)"],
    );
    check("let x = ~{}", expect!["Set: (~set 0)"]);
}

#[test]
fn put_a_functions_body_in_the_place_of_its_call() {
    check("let f(x, y) = x; [y]\nlet z = f(po | rf, W)", expect!["Relation: ((po | rf) ; [W])"]);
    check("let f(x) = x | 0\nlet g(x) = f(f(x))\nlet z = g(W)", expect!["Set: ((W | 0) | 0)"]);
    check("let f(po) = po; po\nlet z = f(rf)", expect!["Relation: (rf ; rf)"]);
    check("let f(x) = x\nlet z = f(0) & W", expect!["Set: (0 & W)"]);
}

#[test]
fn find_the_types_of_a_recursion() {
    let loaded =
        load_right("let rec a = b | 0 and b = c and c = W | a and d = d\nacyclic [c] | d as x");
    let DefinitionKind::Rec(bodies) = &loaded.model.definitions[0].kind else {
        panic!("no recursion")
    };
    let types: Vec<_> = bodies.iter().map(|body| body.ty).collect();
    assert_eq!(types, [Type::Set, Type::Set, Type::Set, Type::Relation]);
    assert_eq!(full(&loaded.model, &bodies[0].body), "(b | 0)");
}

#[test]
fn may_use_recursion_in_a_function_and_functions_in_recursion() {
    let loaded =
        load_right("let seq(x, y) = x; y\nlet rec a = po | seq(a, rf \\ po)\nacyclic a as x");
    let DefinitionKind::Rec(bodies) = &loaded.model.definitions[0].kind else {
        panic!("no recursion")
    };
    assert_eq!(full(&loaded.model, &bodies[0].body), "(po | (a ; (rf \\ po)))");
}

#[test]
fn name_axioms_without_a_name() {
    let loaded = load_right("exists mo total on loc\nacyclic ((po | (rf))); mo");
    assert_eq!(loaded.model.axioms[0].name, "(po | rf); mo");
}

#[test]
fn show_at_most_so_many_errors() {
    let text: String = (0..1000).map(|number| format!("let x{number} = nowhere\n")).collect();
    assert_eq!(load_text(&text).unwrap_err().len(), lang::cat::MOST_DIAGNOSTICS);
    let warnings = load_right(&text.replace("nowhere", "po")).warnings;
    assert_eq!(warnings.len(), lang::cat::MOST_DIAGNOSTICS, "{}", rendered(&warnings[..1]));
}
