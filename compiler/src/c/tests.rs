use expect_test::expect;
use lang::outcome::Value;
use lang::program::{BinaryOp, Expr};
use lang::source::Source;

use super::expression::Term;
use super::*;

fn generated(text: &str, verdicts: Option<&Verdicts>) -> String {
    let source = Source::new("T", text);
    let (test, diagnostics) = lang::litmus::load(&source);
    let test = test.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let plan = Plan::new(&test).expect("supported");
    generate(&plan, &test, &source, verdicts)
}

/// The text between two markers.
fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).expect("it begins");
    let length = text[start..].find(to).expect("it ends");
    &text[start..start + length]
}

#[test]
fn a_thread_reads_as_its_column() {
    let text = "\
litmus T
  y = 0, z = 3           ||  x = 0
  --------------------------------
  x^2 := 1               ||
  Rfence(2)              ||
  y := x^2               ||
  Poll(2)                ||
  a := y + 1             ||
  x^2 := z               ||
  RCAS(w, x^2, a, 2 * a) ||
  loop {                 ||
    x^2 := a             ||
    a := FAA(y, 1)       ||
    if a > 2 or a = 0 { break } ||
  }                      ||
";
    expect![[r#"
        static enum status thread_1(struct thread *t)
        {
        	uint64_t r_a = 0, r_1 = 0;
        	struct turn turn_5 = { 0 };
        	int copy;

        	/* x^2 := 1 */
        	rdma_write(t, QP_1_TO_2, N1_source_1, N2_x);
        	/* Rfence(2) */
        	remote_fence(t, QP_1_TO_2);
        	/* y := x^2 */
        	rdma_read(t, QP_1_TO_2, N1_y, N2_x);
        	/* Poll(2) */
        	if (!poll_one(t, QP_1_TO_2))
        		return BLOCKED;
        	/* a := y + 1 */
        	r_1 = cpu_read(t, N1_y);
        	r_a = r_1 + 1;
        	/* x^2 := z */
        	rdma_write(t, QP_1_TO_2, N1_z, N2_x);
        	/* RCAS(w, x^2, a, 2 * a) */
        	rdma_cas(t, QP_1_TO_2, N1_w, N2_x, r_a, 2 * r_a);
        	/* loop */
        	for (;;) {
        		/* x^2 := a */
        		copy = N1_source_5 + next_copy(t, QP_1_TO_2, &turn_5);
        		set_source(t, copy, r_a);
        		rdma_write(t, QP_1_TO_2, copy, N2_x);
        		/* a := FAA(y, 1) */
        		r_a = cpu_faa(t, N1_y, 1);
        		/* if a > 2 or a = 0 */
        		if ((r_a > 2) || (r_a == 0)) {
        			break;
        		}
        		if (!goes_on(t))
        			return GIVEN_UP;
        	}

        	t->row[0] = r_a;
        	return FINISHED;
        }

    "#]]
    .assert_eq(part(&generated(text, None), "static enum status thread_1", "/* Thread 2"));
}

#[test]
fn names_do_not_clash() {
    let text = "\
litmus T
  x' = 0, x_prime = 0, x_prime_2 = 0, source_1 = 0  ||  int = 0
  -------------------------------------------------------------
  int^2 := 1                                        ||  t := int
  a := x'                                           ||  r_t := t
";
    let text = generated(text, None);
    for line in [
        "\tN1_x_prime = 0,\t/* x' */",
        "\tN1_x_prime_2 = 8,\t/* x_prime */",
        "\tN1_x_prime_2_2 = 16,\t/* x_prime_2 */",
        "\tN1_source_1 = 24,\t/* source_1 */",
        "\tN1_source_1_2 = 32,\t/* the value of `int^2 := 1` */",
        "\tr_t = cpu_read(t, N2_int);",
        "\tr_a = cpu_read(t, N1_x_prime);",
        "\tr_r_t = r_t;",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn messages_words_and_flushes_are_calls() {
    let text = "\
litmus T
model verbs
  y = 0, z[2] = 1      ||  x = 0, v[2] = 0
  ------------------------------------
  Send(2, y)           ||  Recv(1, x)
  SendImm(2, 7, 1)     ||  Recv(1, x)
  PutImm(x^2, y, 2)    ||  Recv(1, x)
  v^2 := z             ||  PollRecv(1)
  z := v^2             ||  a := PollRecv(1)
  z[0] := 2            ||  a := v[1]
  Flush(2)             ||
  Persist(2)           ||
  AtomicWrite(x^2, 5)  ||
";
    let text = generated(text, None);
    expect![[r#"
        static enum status thread_1(struct thread *t)
        {
        	/* Send(2, y) */
        	rdma_send(t, QP_1_TO_2, N1_y);
        	/* SendImm(2, 7, 1) */
        	rdma_send_imm(t, QP_1_TO_2, N1_source_2, 1);
        	/* PutImm(x^2, y, 2) */
        	rdma_write_imm(t, QP_1_TO_2, N1_y, N2_x, 2);
        	/* v^2 := z */
        	rdma_write_words(t, QP_1_TO_2, N1_z_0, N2_v_0, 2);
        	/* z := v^2 */
        	rdma_read_words(t, QP_1_TO_2, N1_z_0, N2_v_0, 2);
        	/* z[0] := 2 */
        	cpu_write(t, N1_z_0, 2);
        	/* Flush(2) */
        	rdma_flush(t, QP_1_TO_2);
        	/* Persist(2) */
        	rdma_persist(t, QP_1_TO_2);
        	/* AtomicWrite(x^2, 5) */
        	rdma_atomic_write(t, QP_1_TO_2, N1_source_8, N2_x);
        	return FINISHED;
        }

    "#]]
    .assert_eq(part(&text, "static enum status thread_1", "/* Thread 2"));
    expect![[r#"
        static enum status thread_2(struct thread *t)
        {
        	uint64_t r_a = 0;

        	/* Recv(1, x) */
        	post_receive(t, QP_1_TO_2);
        	/* Recv(1, x) */
        	post_receive(t, QP_1_TO_2);
        	/* Recv(1, x) */
        	post_receive(t, QP_1_TO_2);
        	/* PollRecv(1) */
        	poll_receive(t, QP_1_TO_2);
        	/* a := PollRecv(1) */
        	r_a = poll_receive(t, QP_1_TO_2);
        	/* a := v[1] */
        	r_a = cpu_read(t, N2_v_1);

        	t->row[0] = r_a;
        	return FINISHED;
        }

    "#]]
    .assert_eq(part(&text, "static enum status thread_2", "static const struct {"));
    expect![[r#"
        static const struct queue_pair queue_pairs[QUEUE_PAIRS + 1] = {
        	[QP_1_TO_2] = { .thread = 0, .node = 1, .receiver = 1, .receives = 3, .buffers = { N2_x, N2_x, N2_x } },
        	[QUEUE_PAIRS] = { 0 },
    "#]].assert_eq(part(
        &text,
        "static const struct queue_pair queue_pairs[QUEUE_PAIRS + 1] = {\n",
        "};",
    ));
    expect![[r#"
        /* Node 2: the words of an instance. */
        enum {
        	N2_x = 0,	/* x */
        	N2_v_0 = 8,	/* v[0] */
        	N2_v_1 = 9,	/* v[1] */
        	N2__1 = 16,	/* _1 */
        	N2__2 = 24,	/* _2 */
        	N2__3 = 32,	/* _3 */
    "#]]
    .assert_eq(part(&text, "/* Node 2", "};"));
    assert!(text.contains("#define PLACEMENTS     7 "), "{text}");
}

#[test]
fn comments_and_strings_hold_any_text() {
    let hostile = "a */ b /* c ??/ \u{202e}d \u{7} **/";
    assert_eq!(comment(hostile), "a * / b / * c ? ?/ ?d ? ** /");
    assert_eq!(string("a\"b\\c??/\n"), "\"a\\\"b\\\\c\\?\\?/_\"");
    let text = generated("litmus T\n\"*/ #error\"\n  x = 0\n  -----\n  x := 1\n", None);
    assert!(text.contains(" * \"* / #error\"\n"), "{text}");
}

#[test]
fn what_is_not_known_in_full_judges_nothing() {
    let program = "litmus T\n  x = 0\n  -----\n  x := 1\n";
    let mut verdicts = Verdicts {
        model: "m".to_owned(),
        allowed: [Outcome(vec![Value::Int(1)])].into(),
        incomplete: None,
    };
    assert!(generated(program, Some(&verdicts)).contains("#define JUDGED 1\n"));
    assert!(generated(program, None).contains("#define NOT_JUDGED \"no model was asked\"\n"));
    verdicts.incomplete = Some("a loop".to_owned());
    let text = generated(program, Some(&verdicts));
    assert!(!text.contains("#define JUDGED 1\n"));
    assert!(text.contains("#define NOT_JUDGED \"what m allows is not known in full: a loop\"\n"));
}

#[test]
fn expressions_have_no_part_that_compilers_warn_of() {
    let a = || Box::new(Expr::Register(lang::program::RegisterId(0)));
    let number = |value| Box::new(Expr::Constant(value));
    let binary = |op, left, right| Box::new(Expr::Binary(op, left, right));
    let same = binary(BinaryOp::Equal, a(), number(2));
    let rows = [
        (binary(BinaryOp::Equal, a(), a()), "1"),
        (binary(BinaryOp::Less, a(), number(0)), "0"),
        (binary(BinaryOp::LessEqual, a(), number(u64::MAX)), "1"),
        (binary(BinaryOp::Subtract, number(3), number(4)), "UINT64_C(18446744073709551615)"),
        (binary(BinaryOp::Equal, same.clone(), number(2)), "(uint64_t)(r_a == 2) == 2"),
        (binary(BinaryOp::Add, same.clone(), a()), "(uint64_t)(r_a == 2) + r_a"),
        (binary(BinaryOp::And, same.clone(), a()), "(r_a == 2) && (r_a != 0)"),
        (binary(BinaryOp::And, same.clone(), number(5)), "r_a == 2"),
        (binary(BinaryOp::Or, a(), number(5)), "1"),
        (Box::new(Expr::Not(same)), "!(r_a == 2)"),
        (Box::new(Expr::Not(binary(BinaryOp::Multiply, a(), a()))), "(r_a * r_a) == 0"),
    ];
    for (expression, expected) in rows {
        assert_eq!(Term::new(&expression, &["r_a".to_owned()], false).text(), expected);
    }
}

#[test]
fn what_is_computed_from_bottom_is_bottom() {
    let a = || Box::new(Expr::Register(lang::program::RegisterId(0)));
    let binary = |op, left, right| Expr::Binary(op, left, right);
    let number = |value| Box::new(Expr::Constant(value));
    let rows = [
        (binary(BinaryOp::Add, a(), number(1)), "r_a == BOTTOM ? BOTTOM : r_a + 1"),
        (binary(BinaryOp::Less, number(7), a()), "!(r_a == BOTTOM) && (7 < r_a)"),
        (
            binary(BinaryOp::LessEqual, a(), a()),
            "!(r_a == BOTTOM || r_a == BOTTOM) && (r_a <= r_a)",
        ),
        (binary(BinaryOp::Equal, a(), a()), "1"),
        (Expr::Not(a()), "r_a == 0"),
    ];
    for (expression, expected) in rows {
        assert_eq!(Term::new(&expression, &["r_a".to_owned()], true).text(), expected);
    }
}

#[test]
fn a_message_without_a_receive_blocks() {
    let text =
        generated("litmus T\nmodel verbs\n  x = 0 || y = 0\n  ---\n  Send(2, x) || a := y\n", None);
    assert!(text.contains("static void rdma_send("), "{text}");
    assert!(
        text.contains("#define MESSAGES       1 ") && text.contains("#define RECEIVES       0 ")
    );
}

#[test]
fn the_fixed_parts_are_short() {
    let verbs = [
        include_str!("statements.c"),
        include_str!("setup.c"),
        include_str!("rounds.c"),
        include_str!("messages.c"),
        include_str!("placement.c"),
    ];
    let nodes = [include_str!("histogram.c"), include_str!("nodes.c")];
    let shared = [include_str!("types.c"), include_str!("common.c")];
    for part in verbs.into_iter().chain(nodes).chain(shared) {
        assert!(part.lines().count() <= 500);
    }
}
