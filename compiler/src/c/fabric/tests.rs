use expect_test::expect;
use lang::source::Source;

use super::*;

fn loaded(text: &str) -> (Test, Source) {
    let source = Source::new("T", text);
    let (test, diagnostics) = lang::litmus::load(&source);
    (test.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

fn generated(fabric: Fabric, text: &str) -> String {
    let (test, source) = loaded(text);
    let plan = plan(fabric, &test).unwrap_or_else(|found| panic!("{found:?}"));
    generate(fabric, &plan, &test, &source, None)
}

/// The function of the first thread, without the comments that quote it.
fn first_thread(text: &str) -> String {
    let start = text.find("static enum status thread_1").expect("it begins");
    let length = text[start..].find("\n}").expect("it ends");
    let lines = text[start..start + length].lines();
    lines.filter(|line| !line.contains("/*")).collect::<Vec<_>>().join("\n")
}

const ALL: &str = "\
litmus T
  y = 0, z = 3          ||  x = 0, w = 0
  --------------------------------------
  x^2 := 1              ||
  Rfence(2)             ||
  x^2 :=^d z            ||
  Wait(d)               ||
  GFence({2})           ||
  y := x^2              ||
  Poll(2)               ||
  Mfence                ||
  a := y                ||
  RFAA(z, w^2, a)       ||
  loop {                ||
    x^2 := a            ||
    if a > 2 { break }  ||
  }                     ||
";

#[test]
fn a_thread_calls_what_statements_are() {
    expect![[r#"
        static enum status thread_1(struct thread *t)
        {
        	uint64_t r_a = 0;
        	struct turn turn_5 = { 0 };
        	int copy;

        	put(t, NODE_2, N1_source_1, N2_x);
        	flush(t, NODE_2);
        	put(t, NODE_2, N1_z, N2_x);
        	has_id(t, NODE_2, ID_d);
        	wait_for_id(t, ID_d);
        	flush(t, NODE_2);
        	get(t, NODE_2, N1_y, N2_x);
        	if (!poll_one(t, NODE_2))
        		return BLOCKED;
        	cpu_fence(t);
        	r_a = cpu_read(t, N1_y);
        	fetch_and_add(t, NODE_2, N1_z, N2_w, r_a);
        	for (;;) {
        		copy = N1_source_5 + next_copy(t, NODE_2, &turn_5);
        		set_source(t, copy, r_a);
        		put(t, NODE_2, copy, N2_x);
        		if (r_a > 2) {
        			break;
        		}
        		if (!goes_on(t))
        			return GIVEN_UP;
        	}

        	t->row[0] = r_a;
        	return FINISHED;"#]]
    .assert_eq(&first_thread(&generated(Fabric::Mpi, ALL)));
}

#[test]
fn shmem_fences_where_no_get_needs_more() {
    let fenced = |second: &str| {
        let text = format!(
            "litmus T\n  y = 0 || x = 0\n  ---\n  x^2 := 1 ||\n  Rfence(2) ||\n  {second} ||\n"
        );
        let text = generated(Fabric::Shmem, &text);
        first_thread(&text).contains("remote_fence(t, NODE_2);")
    };
    assert!(fenced("x^2 := 2"));
    assert!(!fenced("y := x^2"));
}

#[test]
fn nodes_without_threads_have_a_process() {
    let text = generated(Fabric::Mpi, "litmus T\n  || x = 0\n  ---\n  x^2 := 1 ||\n");
    assert!(text.contains("#define NODES          2"));
    assert!(text.contains("{ 1, thread_2 },"));
}

/// What each refusal says, and of which statement.
#[test]
fn what_does_not_map_is_refused_with_the_reason() {
    let refused = |fabric: Fabric, text: &str| {
        let (test, source) = loaded(text);
        let found = *plan(fabric, &test).expect_err("it does not map");
        let help = found.help.clone().unwrap_or_default();
        format!("`{}`: {}\n  {help}\n", &source.text[found.span.range()], found.message)
    };
    let programs = [
        "litmus T\n  x = 0 | z = 0 || y = 0\n  ---\n  y^2 := 1 | a := x ||\n",
        "litmus T\n  x = 0 || y = 0\n  ---\n  unsignaled y^2 := x ||\n",
        "litmus T\n  x = 0 || y = 0\n  ---\n  y^2/1 := x ||\n",
        "litmus T\n  x = 0 || y = 0\n  ---\n  a := FAA(x, 1) ||\n",
        "litmus T\n  x[2] = 0 || y[2] = 0\n  ---\n  y^2 := x || a := y[0]\n",
        "litmus T\n  x = 0 || y = 0\n  ---\n  RFAA(x, y^2, 1) ||\n  RCAS(x, y^2, 1, 2) ||\n",
        "litmus T\nmodel rdma-verbs\n  x = 0 || y = 0\n  ---\n  Send(2, x) || Recv(1, y)\n",
        "litmus T\n  x = 0 ||\n  ---\n  x := x^1 ||\n",
        "litmus T\n  x = 0 ||\n  ---\n  x^1 := x ||\n",
        "litmus T\n  x = 0 ||\n  ---\n  RFAA(x, x^1, 1) ||\n",
        "litmus T\ndialect corerma\n  X = 0 || Y = 0\n  ---\n  put(Y^2, X) ||\n",
    ];
    let all: String = programs.iter().map(|text| refused(Fabric::Mpi, text)).collect();
    expect![[r#"
        `a := x`: a node is one process of MPI, and this one has two threads
          a flush completes what all threads of a process have under way, so that threads would wait for each other's operations
        `unsignaled y^2 := x`: `unsignaled` has no counterpart in MPI
          operations have no completions of their own there: a flush is about all of them; write it without `unsignaled`
        `y^2/1 := x`: a second queue pair has no counterpart in MPI
          nothing is between a process and its target but the target; use queue pair 0
        `a := FAA(x, 1)`: a read-modify-write of the CPU has no counterpart in MPI
          its atomics are not atomic with instructions of the CPU; `RCAS` and `RFAA` on a location of the thread's own node are the atomics of the process's own memory
        `y^2 := x`: a request of several words has no counterpart in MPI
          only operations of one word are generated; write a put or get for each word
        `RFAA(x, y^2, 1)`: `y` is the target of an RCAS and of an RFAA
          MPI promises nothing of concurrent accumulates of different operations on one location (accumulate_ops is same_op_no_op); use one of the two
        `Send(2, x)`: a message or a receive has no counterpart in MPI
          one-sided operations complete no receives; send a put, and wait for its value in a loop
        `x := x^1`: a request with one word as source and target has no counterpart in MPI
          it writes the word that it reads, so the outcome is undefined there; use a second word
        `x^1 := x`: a request with one word as source and target has no counterpart in MPI
          it writes the word that it reads, so the outcome is undefined there; use a second word
        `RFAA(x, x^1, 1)`: a request with one word as source and target has no counterpart in MPI
          it writes the word that it reads, so the outcome is undefined there; use a second word
        `put(Y^2, X)`: a statement of coreRMA has no counterpart in MPI
          only the dialect of RDMA is generated: write `put` as `x^2 := y`, and `flush(2)` as `Rfence(2)`
    "#]]
    .assert_eq(&all);
    // OpenSHMEM's atomics are of one kind.
    let (test, _) = loaded(programs[5]);
    assert!(plan(Fabric::Shmem, &test).is_ok());
}

#[test]
fn the_fixed_parts_are_short() {
    let parts = [
        include_str!("types.c"),
        include_str!("statements.c"),
        include_str!("mpi.c"),
        include_str!("shmem.c"),
        include_str!("rounds.c"),
        include_str!("main.c"),
    ];
    for part in parts {
        assert!(part.lines().count() <= 300);
    }
}
