use super::*;
use crate::herd;
use crate::litmus;
use crate::source::Source;

fn test(text: &str) -> Test {
    let source = Source::new("T.litmus", text);
    let (test, diagnostics) = litmus::load(&source);
    test.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

/// What is written, which our reader takes again.
fn written(text: &str) -> String {
    let written = write(&test(text)).unwrap_or_else(|error| panic!("{error:?}"));
    let (again, diagnostics) = herd::load(&Source::new("T.litmus", written.text.as_str()));
    assert!(again.is_some(), "{}\n{diagnostics:?}", written.text);
    written.text
}

/// The instructions of a one-threaded program.
fn instructions(text: &str) -> Vec<String> {
    let text = written(&format!("litmus T\n\n  x = 0, y = 0\n  ---\n{text}"));
    let rows = text.lines().skip_while(|line| !line.trim().starts_with("P0"));
    let rows = rows.skip(1).take_while(|line| line.ends_with(';') && line.starts_with(' '));
    rows.map(|row| row.trim_end_matches(';').trim().to_owned()).collect()
}

#[test]
fn a_whole_file() {
    let text = "litmus T
\"a \\\"quoted\\\" {title}\"
source \"a paper\"
model sc tso

  x = 0, exists = 2   |
  -----------------------------------
  x := 1              | exists := 1
  Mfence              | c := CAS(x, 0, 5)
  a := exists         | d := XCHG(x, c)

  sc: a = 0 ✗
  a = 0 ∧ (c = 0 ∨ x ≠ 1) ✗
  exactly {(0), (1)} for d
";
    let expected = "X86_64 T
\"a 'quoted' (title)\"
Generator=litmus compile
(* a paper *)
(* 0:rax is a, 1:rcx is c, 1:rdx is d, v_exists is exists *)
{
uint64_t x; uint64_t v_exists=2;
uint64_t 0:rax; uint64_t 1:rcx; uint64_t 1:rdx;
}
 P0                   | P1                     ;
 movq $1,(x)          | movq $1,(v_exists)     ;
 mfence               | movq $0,%rax           ;
 movq (v_exists),%rax | movq $5,%rbx           ;
                      | lock cmpxchgq (x),%rbx ;
                      | movq %rax,%rcx         ;
                      | movq %rcx,%rdx         ;
                      | xchgq (x),%rdx         ;
locations [0:rax; 1:rcx; x; 1:rdx;]
~exists (0:rax=0 /\\ (1:rcx=0 \\/ x<>1))
(* not asked: under sc, forbidden: a = 0 *)
(* not asked: exactly {0, 1} for d *)
";
    assert_eq!(written(text), expected);
}

#[test]
fn values() {
    assert_eq!(
        instructions(
            "  a := x\n  a := a + a + 1\n  b := 1 + a + y\n  x := b\n  y := 2 + 3\n  FAA(x, b)\n  FAA(x, a + b)\n\n  a = 1 ✓\n"
        ),
        [
            "movq (x),%rax",
            "movq %rax,%rbx",
            "addq %rax,%rbx",
            "addq $1,%rbx",
            "movq %rbx,%rax",
            "movq (y),%rcx",
            "movq %rax,%rdx",
            "addq %rcx,%rdx",
            "addq $1,%rdx",
            "movq %rdx,(x)",
            "movq $5,(y)",
            "lock addq %rdx,(x)",
            "movq %rax,%rbx",
            "addq %rdx,%rbx",
            "lock addq %rbx,(x)",
        ]
    );
}

#[test]
fn branches() {
    assert_eq!(
        instructions(
            "  a := x\n  if a = 1 {\n  b := a\n  } else {\n  if not a {\n  y := b\n  }\n  }\n  if a ≠ 0 ∧ 3 = b {\n  y := 1\n  }\n\n  a = 1 ✓\n"
        ),
        [
            "movq (x),%rax",
            "cmpq $1,%rax",
            "jne L0_1",
            "movq %rax,%rbx",
            "jmp L0_2",
            "L0_1:",
            "cmpq $0,%rax",
            "jne L0_3",
            "movq %rbx,(y)",
            "L0_3:",
            "L0_2:",
            "cmpq $0,%rax",
            "je L0_5",
            "cmpq $3,%rbx",
            "jne L0_5",
            "movq $1,(y)",
            "L0_5:",
        ]
    );
}

#[test]
fn what_herd_has_no_form_for() {
    let refused = |text: &str| {
        let source = Source::new("T.litmus", text);
        let error = write(&test(text)).err().unwrap_or_else(|| panic!("{text}"));
        let found = error.message.rsplit("found ").next().unwrap_or_default().to_owned();
        (found, source.line_column(error.span.start).0)
    };
    let one = |body: &str| format!("litmus T\n\n  x = 0\n  ---\n{body}\n\n  x = 1 ✓\n");
    for (text, found, line) in [
        (
            "litmus T\n\n  x = 0 || y = 0\n  ---\n  x := 1 || \n  y^2 := x ||\n\n  x = 1 ✓\n"
                .to_owned(),
            "more than one node",
            6,
        ),
        (one("  a := x\n  x := a * 2"), "arithmetic other than sums", 6),
        (one("  x := 2147483648"), "a number of more than 31 bits", 5),
        (one("  a := FAA(x, 1)\n  x := a"), "a fetch-and-add whose result is used", 5),
        (one("  a := x\n  assume(a = 1)"), "an assumption", 6),
        (one("  loop {\n  break\n  }"), "a loop", 5),
        (one("  x^1 := 1"), "a remote operation", 5),
        (
            one("  a := x\n  if a < 2 {\n  x := 1\n  }"),
            "a condition that one comparison does not answer",
            6,
        ),
    ] {
        assert_eq!(refused(&text), (found.to_owned(), line), "{text}");
    }
}
