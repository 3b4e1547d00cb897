use expect_test::expect;
use lang::source::Source;

use super::*;

fn described(text: &str) -> String {
    let source = Source::new("T", text);
    let (test, diagnostics) = lang::litmus::load(&source);
    let test = test.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let plan = Plan::new(&test).expect("supported");
    plan.describe(&test, &source).to_string()
}

#[test]
fn puts_fences_and_polls() {
    let text = "\
litmus T
  y = 0, z = 3  ||  x = 0
  ------------------------
  x^2 := 1      ||  b := x
  Rfence(2)     ||
  y := x^2      ||
  Poll(2)       ||
  Poll(2)       ||
  a := y        ||
  x^2 := z      ||
  x^2 := a + 1  ||
";
    expect![[r#"
        plan of T

        node 1: 4 words of memory per instance
          word 0   = 0    y
          word 1   = 3    z
          word 2   = 1    source of `x^2 := 1`
          word 3   = 0    source of `x^2 := a + 1`

        node 2: 1 word of memory per instance
          word 0   = 0    x

        thread 1 on node 1
          queue pair 0: RC to node 2, own completion queue
            0  x^2 := 1                 post RDMA WRITE word 2 → node 2 word 0 on queue pair 0
            1  Rfence(2)                the next request on queue pair 0 carries the fence flag
            2  y := x^2                 post RDMA READ word 0 ← node 2 word 0 on queue pair 0
            3  Poll(2)                  poll one completion of queue pair 0
            4  Poll(2)                  poll one completion of queue pair 0
            5  a := y                   load word 0 into a
            6  x^2 := z                 post RDMA WRITE word 1 → node 2 word 0 on queue pair 0
            7  x^2 := a + 1             store the value, post RDMA WRITE word 3 → node 2 word 0 on queue pair 0

        thread 2 on node 2
            0  b := x                   load word 0 into b

        recorded at the end of an instance
          a        register of thread 1
          b        register of thread 2
          y        node 1, word 0
          z        node 1, word 1
          x        node 2, word 0
    "#]]
    .assert_eq(&described(text));
}

#[test]
fn values_computed_in_loops_have_several_words() {
    let text = "\
litmus T
model rdma-wait
  y = 0     ||  x = 0
  -------------------
  loop { a := y; x^2 :=^d a; if a = 1 { break } }  ||
";
    let source = Source::new("T", text);
    let test = lang::litmus::load(&source).0.expect("correct");
    let plan = Plan::new(&test).expect("supported");
    assert_eq!(plan.requests[0].copies, LOOP_COPIES);
    assert_eq!(plan.words(NodeId(1)).len(), 1 + LOOP_COPIES);
}

#[test]
fn a_global_fence_is_gets_and_a_wait() {
    let text = "\
litmus T
model rdma-wait
  y = 0           ||  x = 0  ||
  ------------------------------
  x^2 := 1        ||         ||
  GFence({2, 3})  ||         ||
";
    expect![[r#"
        plan of T

        node 1: 4 words of memory per instance
          word 0   = 0    y
          word 1   = 0    _fence-result-1-2
          word 2   = 0    _fence-result-1-4
          word 3   = 1    source of `x^2 := 1`

        node 2: 2 words of memory per instance
          word 0   = 0    x
          word 1   = 0    _fence-target-1-3

        node 3: 1 word of memory per instance
          word 0   = 0    _fence-target-1-5

        thread 1 on node 1
          queue pair 0: RC to node 2, own completion queue
          queue pair 1: RC to node 3, own completion queue
            0  x^2 := 1                 post RDMA WRITE word 3 → node 2 word 0 on queue pair 0
            1  GFence({2, 3})           post RDMA READ word 1 ← node 2 word 1 on queue pair 0, work id _fence0
            2  GFence({2, 3})           post RDMA READ word 2 ← node 3 word 0 on queue pair 1, work id _fence0
            3  GFence({2, 3})           poll until all requests with work id _fence0 have completed

        thread 2 on node 2

        thread 3 on node 3

        recorded at the end of an instance
          y        node 1, word 0
          x        node 2, word 0
    "#]]
    .assert_eq(&described(text));
}

#[test]
fn library_calls_have_no_plan() {
    let text = "\
litmus T
model rdma-wait
  SVar x = 0
  ----------
  x :=SV 1  ||  a :=SV x
";
    let source = Source::new("T", text);
    let test = lang::litmus::load(&source).0.expect("correct");
    assert!(matches!(Plan::new(&test), Err(CompileError::Unsupported { .. })));
}

#[test]
fn core_rma() {
    let text = "\
litmus T
dialect corerma
  X = 1, Y = 0, V = 0       ||  Z = 0
  -------------------------------------
  X = 2                     ||  a = Z
  put(Z^2, X)               ||
  Y = get(Z^2)              ||
  V = rga(Z^2, Y)           ||
  V = cas(Z^2, X, Y)        ||
  flush(2)                  ||
  b = V                     ||
";
    expect![[r#"
        plan of T

        node 1: 4 words of memory per instance
          word 0   = 1    X
          word 1   = 0    Y
          word 2   = 0    V
          word 3   = 0    _fence-result-1-4

        node 2: 2 words of memory per instance
          word 0   = 0    Z
          word 1   = 0    _fence-target-1-5

        thread 1 on node 1
          queue pair 0: RC to node 2, own completion queue
            0  X = 2                    store to word 0
            1  X = 2                    mfence
            2  put(Z^2, X)              post RDMA WRITE word 0 → node 2 word 0 on queue pair 0, work id _to2
            3  Y = get(Z^2)             post RDMA READ word 1 ← node 2 word 0 on queue pair 0, work id _to2
            4  V = rga(Z^2, Y)          load word 1 into register 2
            5  V = rga(Z^2, Y)          post ATOMIC FETCH_AND_ADD word 2 ← node 2 word 0 on queue pair 0, work id _to2
            6  V = cas(Z^2, X, Y)       load word 0 into register 3
            7  V = cas(Z^2, X, Y)       load word 1 into register 4
            8  V = cas(Z^2, X, Y)       post ATOMIC CMP_AND_SWP word 2 ← node 2 word 0 on queue pair 0, work id _to2
            9  flush(2)                 post RDMA READ word 3 ← node 2 word 1 on queue pair 0, work id _to2
           10  flush(2)                 poll until all requests with work id _to2 have completed
           11  b = V                    load word 2 into b

        thread 2 on node 2
            0  a = Z                    load word 0 into a

        recorded at the end of an instance
          b        register of thread 1
          a        register of thread 2
          X        node 1, word 0
          Y        node 1, word 1
          V        node 1, word 2
          Z        node 2, word 0
    "#]].assert_eq(&described(text));
}

#[test]
fn messages_and_receives() {
    let text = "\
litmus T
model rdma-verbs
  y = 0                    ||  x = 0, m = 0
  -------------------------------------------
  Send(2, y)               ||  Recv(1, m)
  unsignaled SendImm(2, 3, y) ||  Recv(1, _)
  PutImm(x^2, y, 7)        ||  a := PollRecv(1)
";
    expect![[r#"
        plan of T

        node 1: 2 words of memory per instance
          word 0   = 0    y
          word 1   = 3    source of `unsignaled SendImm(2, 3, y)`

        node 2: 5 words of memory per instance
          word 0   = 0    x
          word 1   = 0    m
          word 2   = 13897560711826902485 _1
          word 3   = 0    _2
          word 4   = 13897560711826902485 _3

        thread 1 on node 1
          queue pair 0: RC to node 2, own completion queue
            0  Send(2, y)               post SEND word 0 → node 2 on queue pair 0
            1  y                        load word 0 into register 1
            2  unsignaled SendImm(2, 3, y) post SEND WITH IMM word 1 → node 2 on queue pair 0, unsignaled
            3  PutImm(x^2, y, 7)        post RDMA WRITE WITH IMM word 0 → node 2 word 0 on queue pair 0

        thread 2 on node 2
            0  Recv(1, m)               post receive into word 1 on queue pair 0
            1  Recv(1, _)               post receive into word 3 on queue pair 0
            2  a := PollRecv(1)         poll one completion of a receive of queue pair 0

        recorded at the end of an instance
          a        register of thread 2
          y        node 1, word 0
          x        node 2, word 0
          m        node 2, word 1
    "#]].assert_eq(&described(text));
}

/// On hardware, `⊥` is a number, and what is computed from it another.
#[test]
fn what_would_compute_with_bottom_has_no_plan() {
    let plan = |statements: &str, immediate: &str| {
        let message = if immediate.is_empty() { "Send(2, x)" } else { "SendImm(2, x, 1)" };
        let text = format!(
            "litmus T\nmodel verbs\n  x = 0, z = 0 || m = 0, n = 0\n  ---\n  {message} || Recv(1, m)\n  || a := PollRecv(1)\n  || {statements}\n"
        );
        let (test, diagnostics) = lang::litmus::load(&Source::new("T", text));
        Plan::new(&test.unwrap_or_else(|| panic!("{diagnostics:?}")))
    };
    for refused in [
        "n := a\n  || b := FAA(n, 1)",
        "b := FAA(n, a)",
        "z^1 := a\n  || RFAA(_, z^1, 1)",
        "b := a + 1\n  || SendImm(1, 5, b)",
    ] {
        assert!(matches!(plan(refused, ""), Err(CompileError::Bottom(_))), "{refused}");
        assert!(plan(refused, "1").is_ok(), "all messages have immediates: {refused}");
    }
    for fine in ["n := a", "z^1 := a", "b := a + 1", "b := FAA(n, a = 1)"] {
        assert!(plan(fine, "").is_ok(), "{fine}");
    }
}
