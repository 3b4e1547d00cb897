//! What is asked about a test on the command line.

use expect_test::expect;
use lang::Test;
use lang::outcome::{Asked, Outcome, Value};
use lang::source::Source;

fn test() -> Test {
    loaded(
        "litmus T\n  x = 0 || y = 0\n ---\n a := x || b := y\n || y := 1\n\n (a, b) = (0, 0) ✓\n",
    )
}

fn loaded(text: &str) -> Test {
    let (test, diagnostics) = crate::load(&Source::new("T", text));
    test.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn ask(text: &str, test: &mut Test) -> Result<Asked, String> {
    let source = Source::new("--outcome", text);
    lang::litmus::ask(&source, test)
        .map_err(|errors| errors.iter().map(|error| error.render(&source, false)).collect())
}

/// Which of the outcomes with a and b up to 2 are meant.
fn meant(text: &str) -> Vec<(u64, u64)> {
    let mut test = test();
    let asked = ask(text, &mut test).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(test.observables.len(), 2, "{text}");
    let all = (0..3).flat_map(|a| (0..3).map(move |b| (a, b)));
    let holds =
        |(a, b): &(u64, u64)| asked.condition.holds(&Outcome(vec![Value::Int(*a), Value::Int(*b)]));
    all.filter(holds).collect()
}

#[test]
fn spellings() {
    for text in [
        "a=1,b=0",
        "a = 1, b = 0,",
        "(a, b) = (1, 0)",
        "a = 1 /\\ b = 0",
        "a=1;b=0",
        "a = 1 and b = 0",
        "a == true, b = 0x0",
        "a=1,a=1,b=0",
        "a = 1 ∧ b = 0 ✗",
        "exists (a = 1 && b = 0)",
        "~exists (1:a=1 /\\ 2:b=0)",
        "forall (a != 1 or b ≠ 0)",
        "(a, b) ∈ {(1, 0)}",
        " ( a = 1 ) , ( b = 0 ) ?",
    ] {
        assert_eq!(meant(text), [(1, 0)], "{text}");
    }
    assert_eq!(meant("a = b"), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(meant("a != b, a + b = 2"), [(0, 2), (2, 0)]);
    assert_eq!(meant("a % 2 = 1 or b > 1; not a = 0"), [(1, 0), (1, 1), (1, 2), (2, 2)]);
    assert_eq!(meant("false"), []);
}

#[test]
fn what_outcomes_do_not_show_is_added() {
    let mut test = test();
    let shown = test.shown;
    let asked = ask("y = 1, a = 0, x = 0", &mut test).unwrap();
    let names: Vec<&str> = test.observables.iter().map(|shown| shown.name.as_str()).collect();
    assert_eq!((names.as_slice(), test.shown), (["a", "b", "y", "x"].as_slice(), shown));
    assert_eq!(asked.text, "y = 1, a = 0, x = 0");
    assert!(asked.condition.holds(&Outcome([0, 9, 1, 0].map(Value::Int).to_vec())));
}

#[test]
fn names_of_herds_files() {
    let text = "X86_64 SB\n{ x=0; y=0; }\n P0 | P1 ;\n movl $1,(x) | movl $1,(y) ;\n movl (y),%eax | movl (x),%ebx ;\nexists (0:rax=0)\n";
    let mut test = loaded(text);
    ask("0:rax <> 1:rbx /\\ x = 1", &mut test).unwrap();
    let names: Vec<&str> = test.observables.iter().map(|shown| shown.name.as_str()).collect();
    assert_eq!(names, ["0:rax", "1:rbx", "x"]);
    let error = ask("1:rax = 0", &mut test).unwrap_err();
    assert!(error.contains("the test has 0:rax"), "{error}");
}

#[test]
fn errors() {
    let mut all = String::new();
    for text in [
        "",
        "a",
        "aa=1",
        "c = 1",
        "a=18446744073709551616",
        "(a, b) = (1)",
        "a=1)",
        "2:a=1",
        "a < 1 <",
        "a = _ + 1",
        "a@1 = 0",
        "a=(1,2)",
    ] {
        all.push_str(&ask(text, &mut test()).unwrap_err());
    }
    expect![[r#"
        [syntax] Error: expected an outcome such as `a = 1, b = 0`, found nothing
           ,-[ --outcome:1:1 ]
           |
         1 | 
           | | 
           | `- here
        ---'
        [syntax] Error: expected an operator, found the end
           ,-[ --outcome:1:2 ]
           |
         1 | a
           |  | 
           |  `- here
        ---'
        [undeclared-name] Error: expected a register or a location of the test, found `aa`
           ,-[ --outcome:1:1 ]
           |
         1 | aa=1
           | ^|  
           |  `-- here
           | 
           | Help: the test has a, b, x, y
        ---'
        [undeclared-name] Error: expected a register or a location of the test, found `c`
           ,-[ --outcome:1:1 ]
           |
         1 | c = 1
           | |  
           | `-- here
           | 
           | Help: the test has a, b, x, y
        ---'
        [value-too-large] Error: expected a number below 2^64, found 18446744073709551616
           ,-[ --outcome:1:3 ]
           |
         1 | a=18446744073709551616
           |   ^^^^^^^^^^|^^^^^^^^^  
           |             `----------- here
           | 
           | Help: values are unsigned, 64 bits
        ---'
        [tuple-length] Error: expected as many values on the right as on the left, found 2 opposite to one
           ,-[ --outcome:1:1 ]
           |
         1 | (a, b) = (1)
           | ^^^^^^|^^^^^  
           |       `------- here
        ---'
        [syntax] Error: expected the end, `,`, an operator or `✓` or `✗`, found `)`
           ,-[ --outcome:1:4 ]
           |
         1 | a=1)
           |    |  
           |    `-- here
        ---'
        [wrong-thread] Error: `a` is a register of thread 1
           ,-[ --outcome:1:1 ]
           |
         1 | 2:a=1
           | |  
           | `-- here
           | 
           | Help: write `a` or `1:a`; threads count from 1
        ---'
        [syntax] Error: expected a condition, found the end
           ,-[ --outcome:1:8 ]
           |
         1 | a < 1 <
           |        | 
           |        `- here
        ---'
        [syntax] Error: expected a value to compute with, found `_`
           ,-[ --outcome:1:5 ]
           |
         1 | a = _ + 1
           |     |  
           |     `-- here
        ---'
        [not-observable] Error: expected a shared variable, found the register `a`
           ,-[ --outcome:1:1 ]
           |
         1 | a@1 = 0
           | |  
           | `-- here
        ---'
        [tuple-length] Error: expected one value of `a`, found 2
           ,-[ --outcome:1:1 ]
           |
         1 | a=(1,2)
           | ^^^|^^^  
           |    `----- here
        ---'
    "#]].assert_eq(&all);
}
