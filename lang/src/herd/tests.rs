use super::*;
use crate::litmus::print;

fn converted(text: &str) -> String {
    let (file, diagnostics) = convert(&Source::new("T.litmus", text));
    let file = file.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let printed = print(&file);
    let again = Source::new("T.litmus", printed.as_str());
    let (test, diagnostics) = litmus::load(&again);
    assert!(test.is_some(), "{printed}\n{diagnostics:?}");
    printed
}

/// The program's rows, each without blanks at its ends.
fn rows(text: &str) -> Vec<String> {
    let printed = converted(text);
    let rule = printed.lines().position(|line| line.trim_start().starts_with("---"));
    let rows = printed.lines().skip(rule.unwrap_or(0) + 1);
    let rows = rows.take_while(|line| !line.trim().is_empty());
    rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn refused(text: &str) -> (String, (usize, usize)) {
    let source = Source::new("T.litmus", text);
    let (test, diagnostics) = load(&source);
    assert!(test.is_none(), "{text}");
    let first = diagnostics.first().unwrap();
    (first.message.clone(), source.line_column(first.span.start))
}

const SB: &str = "X86 SB
\"PodWR Fre PodWR Fre\"
Cycle=Fre PodWR Fre PodWR
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MFENCE      |             ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

#[test]
fn the_intel_format() {
    let printed = converted(SB);
    assert!(printed.starts_with("litmus SB\n\"PodWR Fre PodWR Fre\"\nmodel tso\n"), "{printed}");
    assert_eq!(rows(SB), ["x := 1 | y := 1", "Mfence |", "P0_EAX := y | P1_EAX := x"]);
    let (test, diagnostics) = load(&Source::new("other-name.litmus", SB));
    let test = test.unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let names: Vec<&str> = test.observables.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["0:EAX", "1:EAX"]);
    assert_eq!(test.expectations[0].text, "exists (0:EAX=0 /\\ 1:EAX=0)");
}

#[test]
fn what_stands_after_the_condition_is_passed_over() {
    let condition = "exists (0:EAX=0 /\\ 1:EAX=0)\n";
    for end in [
        "exists (0:EAX=0 /\\ 1:EAX=0);\n",
        "exists (0:EAX=0 /\\ 1:EAX=0)\n<<\nshow 3\n>>\n<<\nshow 0 of ess 0\n>>\n",
        "final (P0:EAX = 0 /\\ P1:EAX = 0);\nwith\ntso: ~exists;\ncc: exists;\n\n<<\nx\n>>\n",
    ] {
        let (test, diagnostics) = load(&Source::new("SB.litmus", SB.replace(condition, end)));
        let test = test.unwrap_or_else(|| panic!("{end}: {diagnostics:?}"));
        assert!(test.expectations[0].is_question, "{end}");
        assert_eq!(rows(&SB.replace(condition, end)), rows(SB));
    }
    let (message, _) = refused(&SB.replace(condition, "exists (0:EAX=0) final\n"));
    assert!(message.starts_with("expected"), "{message}");
}

#[test]
fn the_initial_state_may_end_with_a_semicolon() {
    assert_eq!(converted(&SB.replace("y=0; }", "y=0; };")), converted(SB));
    let empty = SB.replace("{ x=0; y=0; }", "{ };");
    assert!(load(&Source::new("SB.litmus", empty)).0.is_some());
}

#[test]
fn questions_stay_questions() {
    for (asked, printed) in [
        ("exists", "P0_EAX = 0 ∧ P1_EAX = 0 ?"),
        ("~exists", "~exists (P0_EAX = 0 ∧ P1_EAX = 0) ?"),
        ("forall", "forall (P0_EAX = 0 ∧ P1_EAX = 0) ?"),
    ] {
        let text = SB.replace("exists", asked);
        assert!(converted(&text).ends_with(&format!("  {printed}\n")), "{}", converted(&text));
        let (test, _) = load(&Source::new("SB.litmus", &*text));
        assert!(test.unwrap().expectations[0].is_question);
    }
}

#[test]
fn names_are_made_ours() {
    for (name, ours) in [("a b/c", "a_b_c"), ("x \"y\"", "x__y_"), ("", "file")] {
        let text = SB.replace("X86 SB", &format!("X86 {name}"));
        let source = Source::new("some/file.litmus", text);
        let (file, _) = convert(&source);
        let printed = print(&file.unwrap());
        assert!(printed.starts_with(&format!("litmus {ours}\n")), "{printed}");
        let (again, diagnostics) = litmus::parse(&Source::new("x", printed), Default::default());
        assert!(again.is_some(), "{diagnostics:?}");
        assert_eq!(load(&source).0.unwrap().name, name);
    }
}

#[test]
fn the_format_of_att() {
    let text = "X86_64 T
(* a (* nested *) comment *)
{ int x; uint64_t y=2; 0:rax=x; 1:rbx=3 }
  P0              |  P1                     ;
 movl $1,(%rax)   | movl (x),%ecx           ;
 lock xaddq %rdx,(y) | lock cmpxchgq %rbx,(y) ;
 xchgq %rdx,(y)   | lock incq (y)           ;
 xorq %rsi,%rsi   | incq %rbx               ;
locations [x; 1:rdx;]
~exists (0:rdx=0 \\/ not [y]=5)
";
    assert_eq!(
        rows(text),
        [
            "| P1_rbx := P1_rbx + 3",
            "| P1_rdx := P1_rdx",
            "x := 1 | P1_rcx := x",
            "P0_rdx := FAA(y, P0_rdx) | t1_1 := P1_rax",
            "| P1_rax := CAS(y, P1_rax, P1_rbx)",
            "P0_rdx := XCHG(y, P0_rdx) | FAA(y, 1)",
            "P0_rsi := P0_rsi - P0_rsi | P1_rbx := P1_rbx + 1",
        ]
    );
    let (test, _) = load(&Source::new("T.litmus", text));
    let names: Vec<String> = test.unwrap().observables.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["x", "1:rdx", "0:rdx", "y"]);
}

#[test]
fn jumps_forward() {
    let text = "X86 T
{ }
 P0          ;
 MOV EAX,[x] ;
 CMP EAX,$1  ;
 JNE L1      ;
 MOV [y],$1  ;
 JMP L2      ;
 L1:         ;
 MOV [y],$2  ;
 L2:         ;
 MOV [z],$3  ;
forall (y=2)
";
    assert_eq!(
        rows(text),
        ["P0_EAX := x", "if P0_EAX = 1 {", "y := 1", "} else {", "y := 2", "}", "z := 3"]
    );
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let with = |line: &str, end: &str| format!("X86_64 T\n{{ }}\n P0 ;\n {line} ;\n{end}\n");
    for (line, end, message, place) in [
        ("movl $1,%eaz", "", "expected a register of x86, found `%eaz`", (4, 10)),
        ("movl $1,(%rax)", "", "expected a location, or a register that the initial", (4, 11)),
        ("shll $1,%eax", "", "the instruction `shll` is not supported", (4, 2)),
        ("movb $1,(x)", "", "accesses of one or two bytes are not supported", (4, 2)),
        ("movl $1,4(x)", "", "an offset is not supported", (4, 10)),
        ("movl $4294967295,(x)", "", "expected a number of at most 31 bits", (4, 8)),
        ("lock movl $1,(x)", "", "`lock mov` is not supported", (4, 2)),
        ("xaddl %eax,(x)", "", "`xadd` with such operands is not supported", (4, 2)),
        ("jne L", "", "expected a label of this thread, found `L`", (4, 2)),
        ("L: ; jmp L", "", "a jump backwards is not supported", (4, 7)),
        ("nop", "exists (1:rax=0)", "expected a thread below 1, found 1", (5, 11)),
        ("nop", "exists (rax=0)", "expected `THREAD:rax`, found `rax`", (5, 9)),
        ("nop", "exists (0:rax=x)", "an address in a condition is not supported", (5, 9)),
        ("nop", "exists 0:rax", "expected `=`, found the end of the file", (6, 1)),
        ("nop | nop", "", "expected a cell for each of 1 threads, found 2", (4, 2)),
        ("nop", "filter (0:rax=1)", "`filter` is not supported", (5, 1)),
        ("movl $1,(x) ; movq $1,(x)", "", "accesses of `x` of different sizes", (4, 25)),
    ] {
        let (found, at) = refused(&with(line, end));
        assert!(found.starts_with(message), "{line} {end}: {found}");
        assert_eq!(at, place, "{line} {end}");
    }
    assert_eq!(refused("X86 T\n").0, "expected `{` and the initial state, found none");
    let deep = format!("X86 T\n{{}}\n P0 ;\n NOP ;\nexists {}true", "(".repeat(100_000));
    assert!(refused(&deep).0.contains("nested at most"));
}

#[test]
fn only_herds_first_words_are_herds() {
    assert_eq!(architecture("(* c *) X86 SB\n{}"), Some(Architecture::X86));
    assert_eq!(architecture("litmus X86"), None);
    assert_eq!(architecture("AArch64 SB"), None);
    let (test, diagnostics) = litmus::load(&Source::new("t.litmus", "AArch64 SB\n{}\n P0 ;\n"));
    assert!(test.is_none());
    let [error] = &diagnostics[..] else { panic!("{diagnostics:?}") };
    assert_eq!(error.message, "expected a program for X86 or X86_64, found one for AArch64");
    assert_eq!(architecture(""), None);
}
