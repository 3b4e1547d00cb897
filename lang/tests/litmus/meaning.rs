//! What programs mean once their names are resolved.

use crate::load;
use expect_test::{Expect, expect};
use lang::Test;
use lang::outcome::Claim;
use lang::program::{Expr, Location, Program, PutSource, Stmt, StmtKind};
use lang::source::Source;

fn test(body: &str) -> Test {
    let source = Source::new("smoke", format!("litmus smoke\n{body}"));
    let (test, _) = load(&source);
    test.unwrap_or_else(|| panic!("{}", crate::rendered(&source)))
}

/// Paste a program here to see what it means.
#[test]
fn smoke() {
    check(
        "  y = 0 || x = 0
           ---
           x^2 :=^d 1 || y^1 :=^e 1
           Wait(d)    || Wait(e)
           a := y     || b := x

           (a, b) = (0, 0) ✓",
        expect![[r#"
            y@1 = 0 Declared
            x@2 = 0 Declared
            thread 1 @ 1
              put x value 1 Some(WorkId(0))
              Wait(WorkId(0))
              a := read y
            thread 2 @ 2
              put y value 1 Some(WorkId(1))
              Wait(WorkId(1))
              b := read x
            shows ["a", "b"], then []
            Allowed(And([Compare(Equal, Observable(0), Value(Int(0))), Compare(Equal, Observable(1), Value(Int(0)))])) (a, b) = (0, 0)
        "#]],
    );
}

/// Shows a program in a short form: locations, then the statements of each thread.
fn check(body: &str, expected: Expect) {
    let test = test(body);
    let program = &test.program;
    let mut out = String::new();
    for location in &program.locations {
        let Location { name, node, initial, origin, .. } = location;
        out.push_str(&format!("{name}@{} = {initial} {origin:?}\n", node.0));
    }
    for (index, thread) in program.threads.iter().enumerate() {
        out.push_str(&format!("thread {} @ {}\n", index + 1, thread.node.0));
        show(program, &thread.body, 1, &mut out);
    }
    let names: Vec<&str> = test.observables.iter().map(|it| it.name.as_str()).collect();
    out.push_str(&format!("shows {:?}, then {:?}\n", &names[..test.shown], &names[test.shown..]));
    for expectation in &test.expectations {
        out.push_str(&format!("{:?} {}\n", expectation.claim, expectation.text));
    }
    expected.assert_eq(&out);
}

fn show(program: &Program, body: &[Stmt], depth: usize, out: &mut String) {
    let location = |id: &lang::program::LocationId| program.locations[id.0].name.clone();
    let register = |id: &lang::program::RegisterId| {
        program.registers[id.0].name.clone().unwrap_or_else(|| format!("r{}", id.0))
    };
    for stmt in body {
        let indent = "  ".repeat(depth);
        let text = match &stmt.kind {
            StmtKind::Assign { register: r, value } => {
                format!("{} := {}", register(r), expr(program, value))
            }
            StmtKind::Read { register: r, location: l } => {
                format!("{} := read {}", register(r), location(l))
            }
            StmtKind::Write { location: l, value } => {
                format!("write {} {}", location(l), expr(program, value))
            }
            StmtKind::Put { target, source: PutSource::Location(source), id, .. } => {
                format!("put {} from {} {id:?}", location(target), location(source))
            }
            StmtKind::Put { target, source: PutSource::Value(value), id, inline, .. } => {
                let inline = if *inline { " inline" } else { "" };
                format!("put {} value {} {id:?}{inline}", location(target), expr(program, value))
            }
            StmtKind::Get { target, source, id, .. } => {
                format!("get {} from {} {id:?}", location(target), location(source))
            }
            StmtKind::Rcas { result, target, id, .. } => {
                format!("rcas {} into {} {id:?}", location(target), location(result))
            }
            StmtKind::Rfaa { result, target, id, .. } => {
                format!("rfaa {} into {} {id:?}", location(target), location(result))
            }
            StmtKind::If { condition, then, otherwise } => {
                out.push_str(&format!("{indent}if {}\n", expr(program, condition)));
                show(program, then, depth + 1, out);
                out.push_str(&format!("{indent}else\n"));
                show(program, otherwise, depth + 1, out);
                continue;
            }
            StmtKind::Loop(body) => {
                out.push_str(&format!("{indent}loop\n"));
                show(program, body, depth + 1, out);
                continue;
            }
            StmtKind::Rma(rma) => format!(
                "{:?} {:?} {:?}",
                rma.kind,
                rma.accesses.iter().map(|(l, atomic)| (location(l), atomic)).collect::<Vec<_>>(),
                rma.register.as_ref().map(register),
            ),
            other => format!("{other:?}"),
        };
        out.push_str(&format!("{indent}{text}\n"));
    }
}

fn expr(program: &Program, value: &Expr) -> String {
    match value {
        Expr::Constant(value) => value.to_string(),
        Expr::Bottom => "⊥".to_owned(),
        Expr::Register(id) => {
            program.registers[id.0].name.clone().unwrap_or_else(|| format!("r{}", id.0))
        }
        Expr::Not(inner) => format!("not({})", expr(program, inner)),
        Expr::Binary(op, left, right) => {
            format!("{op:?}({}, {})", expr(program, left), expr(program, right))
        }
    }
}

#[test]
fn gets_and_results_make_fresh_locations() {
    check(
        "  y = 0 || x = 0
           ---
           a := x^2           || c := FAA(x, 1)
           b :=^d RCAS(x^2, 0, y) ||
           RFAA(_, ~x, 1, e)  ||
           _ := x^2           ||
           a := y             ||
           c1 := a            ||",
        expect![[r#"
            y@1 = 0 Declared
            x@2 = 0 Declared
            a@1 = 0 Fresh
            b@1 = 0 Fresh
            _1@1 = 0 Unnamed
            _2@1 = 0 Unnamed
            thread 1 @ 1
              get a from x None
              r2 := read y
              rcas x into b Some(WorkId(0))
              rfaa x into _1 Some(WorkId(1))
              get _2 from x None
              r3 := read y
              write a r3
              c1 := read a
            thread 2 @ 2
              Faa { register: Some(RegisterId(1)), location: LocationId(1), addend: Constant(1) }
            shows ["c1", "c", "y", "x", "a", "b"], then []
        "#]],
    );
}

#[test]
fn locations_in_expressions_are_read_first() {
    check(
        "  x, y = 0, 1 || z = 0
           ---
           x := y              || a := z
           x := y + y * 2      || b := a
           z^2 := y + 1        || b := b + 1
           z^2 := y            || i := 1 + b
           while x < 3 { x := x + 1 } || if z = 1 ∨ a = 2 { z := a } else if z = 3 { skip }
           assume(x = 1)       || z := CAS(z, 0, b)",
        expect![[r#"
            x@1 = 0 Declared
            y@1 = 1 Declared
            z@2 = 0 Declared
            thread 1 @ 1
              r3 := read y
              write x r3
              r4 := read y
              r5 := read y
              write x Add(r4, Multiply(r5, 2))
              r6 := read y
              put z value Add(r6, 1) None
              put z from y None
              loop
                r7 := read x
                if not(Less(r7, 3))
                  Break
                else
                r8 := read x
                write x Add(r8, 1)
              r9 := read x
              Assume(Binary(Equal, Register(RegisterId(9)), Constant(1)))
            thread 2 @ 2
              a := read z
              b := a
              b := Add(b, 1)
              i := Add(1, b)
              r10 := read z
              if Or(Equal(r10, 1), Equal(a, 2))
                write z a
              else
                r11 := read z
                if Equal(r11, 3)
                else
              Cas { register: Some(RegisterId(12)), location: LocationId(2), expected: Constant(0), desired: Register(RegisterId(1)) }
              write z r12
            shows ["a", "b", "i", "x", "y", "z"], then []
        "#]],
    );
}

#[test]
fn observables_come_in_order() {
    let body = |results: &str| {
        let test = test(&format!(
            "SVar s = 0\n x = 0 || y = 0\n---\n a := x^1 || b := y\n s :=SV 1 || c :=SV s\n\n{results}"
        ));
        let names: Vec<String> = test.observables.iter().map(|it| it.name.clone()).collect();
        (names.join(" "), test.shown)
    };
    assert_eq!(body(""), ("b c x y a".to_owned(), 5));
    assert_eq!(body("c = 1 ✓, a = 1 ✓\nx ≠ c ✗"), ("c a x".to_owned(), 3));
    assert_eq!(body("x = 1 ✓\nobserve b, s@2\nexactly {1} for s@1"), ("b s@2 x s@1".to_owned(), 2));
    assert_eq!(body("observe x@1"), ("x".to_owned(), 1));
    assert_eq!(body("true ✓"), ("b c x y a".to_owned(), 5));
}

#[test]
fn registers_may_be_named_with_their_threads() {
    let texts = |results: &str| {
        let test = test(&format!("x = 0 || y = 0\n---\na := x || b := y\n\n{results}"));
        test.expectations.into_iter().map(|it| it.text).collect::<Vec<_>>()
    };
    let plain = texts("(a, b) = (0, 1) ✓\nexactly {0} for b");
    assert_eq!(texts("(1:a, 2:b) = (0, 1) ✓\nexactly {0} for 2:b"), plain);
    // As herd counts them, and names them.
    assert_eq!(texts("(0:a, 1:b) = (0, 1) ✓\nexactly {0} for P1:b"), plain);
}

#[test]
fn questions_are_no_claims() {
    let test = test(
        "x = 0\n---\na := x\n\na = 1 ?, a = 0 ✓\n~exists (a = 1) ?\nforall (a = 0) ?\nexists a=0",
    );
    let all: Vec<(bool, &str)> =
        test.expectations.iter().map(|it| (it.is_question, it.text.as_str())).collect();
    assert_eq!(
        all,
        [
            (true, "a = 1"),
            (false, "a = 0"),
            (true, "~exists (a = 1)"),
            (true, "forall (a = 0)"),
            (false, "a = 0"),
        ]
    );
}

#[test]
fn conditions_bind_as_documented() {
    let test = test(
        "model m\nx = 0\n---\na := x\nb := x\n\na = 1 or b = 1 and not a = 2 ✓\n(a, b) ≠ (0, 1) ✗\n\
         m: exactly {(1, 0), (0, 0), (1, 0)} for (a, b)\nforall true",
    );
    let texts: Vec<String> = test.expectations.iter().map(|it| it.text.clone()).collect();
    expect![[r#"
        a = 1 ∨ b = 1 ∧ ¬(a = 2)
        (a, b) ≠ (0, 1)
        exactly {(1, 0), (0, 0), (1, 0)} for (a, b)
        forall (true)"#]]
    .assert_eq(&texts.join("\n"));
    let claims: Vec<String> =
        test.expectations.iter().map(|it| format!("{:?} {:?}", it.model, it.claim)).collect();
    expect![[r#"
        None Allowed(Or([Compare(Equal, Observable(0), Value(Int(1))), And([Compare(Equal, Observable(1), Value(Int(1))), Not(Compare(Equal, Observable(0), Value(Int(2))))])]))
        None Forbidden(Or([Compare(NotEqual, Observable(0), Value(Int(0))), Compare(NotEqual, Observable(1), Value(Int(1)))]))
        Some("m") Exactly { observables: [0, 1], outcomes: [[Int(0), Int(0)], [Int(1), Int(0)]] }
        None Always(Constant(true))"#]].assert_eq(&claims.join("\n"));
    assert!(matches!(&test.expectations[3].claim, Claim::Always(_)));
}

#[test]
fn libraries_take_their_objects() {
    check(
        "  SVar s = 1; Barrier z; Ring r 1 -> {2} size 3
           NLock l || u[2] = 0
           v[2] = 0 ||
           ---
           s :=SV s           || a := Receive(r)
           Bcast(s, d, {2, 1}) || Bar(z)
           WaitSV(d)          || u := (a, 2)
           ok := Submit(r, 7) || b := TryRead(u)
           Bar(z)             || v^1 :=^e u
           Acq(l^1)           || GFence({2, 1, 2})",
        expect![[r#"
            thread 1 @ 1
              Call(Call { method: "r:=SV o", object: Some("s"), source: None, register: Some(RegisterId(3)), arguments: [], nodes: None, id: None, at: None })
              Call(Call { method: "o:=SV v", object: Some("s"), source: None, register: None, arguments: [Register(RegisterId(3))], nodes: None, id: None, at: None })
              Call(Call { method: "Bcast", object: Some("s"), source: None, register: None, arguments: [], nodes: Some([NodeId(1), NodeId(2)]), id: Some(WorkId(0)), at: None })
              Call(Call { method: "WaitSV", object: None, source: None, register: None, arguments: [], nodes: None, id: Some(WorkId(0)), at: None })
              Call(Call { method: "Submit", object: Some("r"), source: None, register: Some(RegisterId(0)), arguments: [Constant(7)], nodes: None, id: None, at: None })
              Call(Call { method: "Bar", object: Some("z"), source: None, register: None, arguments: [], nodes: None, id: None, at: None })
              Call(Call { method: "Acq", object: Some("l"), source: None, register: None, arguments: [], nodes: None, id: None, at: Some(NodeId(1)) })
            thread 2 @ 2
              Call(Call { method: "Receive", object: Some("r"), source: None, register: Some(RegisterId(1)), arguments: [], nodes: None, id: None, at: None })
              Call(Call { method: "Bar", object: Some("z"), source: None, register: None, arguments: [], nodes: None, id: None, at: None })
              Call(Call { method: "o:=v", object: Some("u"), source: None, register: None, arguments: [Register(RegisterId(1)), Constant(2)], nodes: None, id: None, at: None })
              Call(Call { method: "TryRead", object: Some("u"), source: None, register: Some(RegisterId(2)), arguments: [], nodes: None, id: None, at: None })
              Call(Call { method: "~o:=^d p", object: Some("v"), source: Some("u"), register: None, arguments: [], nodes: None, id: Some(WorkId(1)), at: Some(NodeId(1)) })
              GlobalFence([NodeId(1), NodeId(2)])
            shows ["ok", "a", "b"], then []
        "#]],
    );
}

#[test]
fn corerma_statements_keep_the_order_of_names() {
    check(
        "dialect corerma
           X, Y = 0, 1 || Z = 0
           ---
           X = cas(Z.n^2, Y, X.n) || u = Z
           X.a = rga(Z^2, Y) || Z = u + 1
           put(Z^2, Y.n)     || Z.n = 2
           X = get(Z^2)      ||
           X = Y + 1         ||
           if X = 1 { flush(2) } ||",
        expect![[r#"
            X@1 = 0 Declared
            Y@1 = 1 Declared
            Z@2 = 0 Declared
            thread 1 @ 1
              Cas [("X", true), ("Z", false), ("Y", true), ("X", false)] None
              Rga [("X", true), ("Z", true), ("Y", true)] None
              Put [("Z", true), ("Y", false)] None
              Get [("X", true), ("Z", true)] None
              LocalRead [("Y", true)] Some("r1")
              LocalWrite [("X", true)] None
              LocalRead [("X", true)] Some("r2")
              if Equal(r2, 1)
                Flush [] None
              else
            thread 2 @ 2
              LocalRead [("Z", true)] Some("u")
              LocalWrite [("Z", true)] None
              LocalWrite [("Z", false)] None
            shows ["u", "X", "Y", "Z"], then []
        "#]],
    );
}

#[test]
fn empty_columns_are_nodes() {
    let test = test(" || || x = 0\n---\nRCAS(a, x^3, 0, 2) || x^3 := 1 ||\n\nx = 2 ✓");
    assert_eq!(test.program.nodes, 3);
    assert_eq!(test.program.threads.len(), 3);
    assert!(test.program.threads[2].body.is_empty());
    assert_eq!(test.models, ["rdma-tso-rmw"]);
}

#[test]
fn spans_are_those_of_the_file() {
    let text = "litmus t\n  x = 0 || y = 0\n---\n loop { (* c *) || a := y\n  x := 1; break  || b := y\n } || é\n";
    let text = text.replace(" || é", " ||");
    let source = Source::new("t", text.clone());
    let (test, _) = load(&source);
    let program = test.unwrap().program;
    let StmtKind::Loop(body) = &program.threads[0].body[0].kind else { panic!("no loop") };
    assert_eq!(&text[body[0].span.range()], "x := 1");
    assert_eq!(&text[body[1].span.range()], "break");
    assert_eq!(&text[program.threads[1].body[1].span.range()], "b := y");
    assert!(text[program.threads[0].body[0].span.range()].starts_with("loop {"));
}

#[test]
fn queue_pairs_are_named_in_many_ways() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n         || x = 0, y = 0\n  ---\n\
        x^2/1 := 1 ||\n x²/1 := 1 ||\n ~x/1 := 1 ||\n \\bar{x}/1 := 1 ||\n x^{2}/01 := 1 ||\n\
        a := y^2/3 ||\n RFAA(b, ~y/3, 1) ||\n Put(x/1, 1) ||\n x^2/0 := 1 ||\n\
        Poll(2/1) ||\n poll n_2/1 ||\n Rfence(P2/1) ||\n Poll(2/0) ||\n\
        Poll({2/1}) ||\n poll {2/3, n2/0, 2/3} ||\n x^2 := 1 ||\n Poll({2, 2/0}) ||\n";
    let (test, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let program = test.expect("it is right").program;
    let named: Vec<String> = program.threads[0]
        .body
        .iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::Poll(_) | StmtKind::RemoteFence(_) => {
                let pairs = stmt.kind.parts().queue_pairs.iter();
                pairs.map(ToString::to_string).collect::<Vec<_>>().join(" or ")
            }
            kind => program.towards(kind).expect("an operation").to_string(),
        })
        .collect();
    let expected = [
        "2/1", "2/1", "2/1", "2/1", "2/1", "2/3", "2/3", "2/1", "2", "2/1", "2/1", "2/1", "2",
        "2/1", "2 or 2/3", "2", "2",
    ];
    assert_eq!(named, expected);
}

#[test]
fn an_inline_put_is_a_read_and_a_put_of_its_value() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n  x = 0 || y = 0\n  ---\n\
        y^2 := inline x ||\n inline := x ||\n y^2/1 :=^d inline x + 1 ||\n y^2 := inline ||\n";
    let (test, _) = load(&Source::new("t.litmus", text));
    let program = test.expect("it is right").program;
    let body = &program.threads[0].body;
    let read = |at: usize| match &body[at].kind {
        StmtKind::Read { register, .. } => *register,
        other => panic!("expected a read, found {other:?}"),
    };
    let put = |at: usize| match &body[at].kind {
        StmtKind::Put { source: PutSource::Value(value), inline, .. } => (value.clone(), *inline),
        other => panic!("expected a put of a value, found {other:?}"),
    };
    assert_eq!(put(1), (Expr::Register(read(0)), true));
    assert!(put(4).1 && put(4).0.registers().contains(&read(3)));
    // Alone, the word is a name.
    assert_eq!(put(5), (Expr::Register(read(2)), false));
}
