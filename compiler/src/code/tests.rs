use lang::program::{
    BinaryOp, Expr, Location, LocationId, NodeId, Origin, Program, PutSource, Register, RegisterId,
    Stmt, StmtKind, Thread, ThreadId, Towards,
};
use lang::source::Span;

use super::{CompileError, Instruction, Operand, Operation, QueuePairId, compile};

fn statement(kind: StmtKind) -> Stmt {
    Stmt { kind, unsignaled: false, span: Span::new(3, 7) }
}

fn program(body: Vec<StmtKind>) -> Program {
    let location = |name: &str, node| Location {
        name: name.to_owned(),
        node: NodeId(node),
        initial: 0,
        origin: Origin::Declared,
        span: Span::default(),
    };
    Program {
        nodes: 2,
        threads: vec![Thread { node: NodeId(1), body: body.into_iter().map(statement).collect() }],
        locations: vec![location("y", 1), location("x", 2)],
        registers: vec![Register { name: Some("a".to_owned()), thread: ThreadId(0) }],
        work_ids: vec!["d".to_owned()],
        crash: None,
        services: 0,
        objects: Vec::new(),
    }
}

fn code(body: Vec<StmtKind>) -> Vec<Instruction> {
    compile(&program(body)).expect("supported").threads.remove(0).instructions
}

const A: RegisterId = RegisterId(0);

fn assign(value: u64) -> StmtKind {
    StmtKind::Assign { register: A, value: Expr::Constant(value) }
}

#[test]
fn loops_and_branches_become_jumps() {
    let body = vec![
        StmtKind::Loop(vec![statement(StmtKind::If {
            condition: Expr::Register(A),
            then: vec![statement(StmtKind::Break)],
            otherwise: vec![statement(assign(1))],
        })]),
        assign(2),
    ];
    let expected = vec![
        Instruction::JumpIfZero { condition: Operand::Register(A), target: 3 },
        Instruction::Jump(5),
        Instruction::Jump(4),
        Instruction::Assign { register: A, value: Operand::Constant(1) },
        Instruction::Jump(0),
        Instruction::Assign { register: A, value: Operand::Constant(2) },
    ];
    assert_eq!(code(body), expected);
}

#[test]
fn operations_name_their_queue_pair() {
    let body = vec![
        StmtKind::RemoteFence(Towards { node: NodeId(1), queue_pair: 0 }),
        StmtKind::Put {
            target: LocationId(1),
            source: PutSource::Location(LocationId(0)),
            id: None,
            queue_pair: 1,
            inline: false,
        },
    ];
    let expected = vec![
        Instruction::Issue {
            queue_pair: QueuePairId(0),
            operation: Operation::Fence,
            id: None,
            unsignaled: false,
        },
        Instruction::Issue {
            queue_pair: QueuePairId(1),
            operation: Operation::Put { target: LocationId(1), source: LocationId(0) },
            id: None,
            unsignaled: false,
        },
    ];
    assert_eq!(code(body), expected);
}

#[test]
fn expressions_evaluate_as_the_language_says() {
    let register = |_| 6;
    let mut expression = Expr::Register(A);
    for depth in 0..40 {
        let op = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Less][depth % 4];
        expression = Expr::Binary(op, Box::new(Expr::Constant(3)), Box::new(expression));
        assert_eq!(Operand::new(&expression).evaluate(&[6]), expression.evaluate(&register));
    }
    let constant = Expr::Not(Box::new(Expr::Constant(0)));
    assert_eq!(Operand::new(&constant), Operand::Constant(1));
}

#[test]
fn statements_without_instructions_are_named() {
    let error = compile(&program(vec![StmtKind::GlobalFence(vec![NodeId(2)])])).unwrap_err();
    let statement = "GFence".to_owned();
    assert_eq!(error, CompileError::Unsupported { span: Span::new(3, 7), statement });
}

#[test]
fn nonsense_is_an_error_not_a_panic() {
    let nonsense = [
        StmtKind::Break,
        StmtKind::Wait(lang::program::WorkId(9)),
        StmtKind::Read { register: RegisterId(9), location: LocationId(0) },
        StmtKind::Write { location: LocationId(9), value: Expr::Constant(0) },
        StmtKind::Get { target: LocationId(0), source: LocationId(9), id: None, queue_pair: 0 },
    ];
    for kind in nonsense {
        assert!(matches!(compile(&program(vec![kind])), Err(CompileError::Malformed { .. })));
    }
    let mut deep = assign(0);
    for _ in 0..300 {
        deep = StmtKind::Loop(vec![statement(deep)]);
    }
    assert!(matches!(compile(&program(vec![deep])), Err(CompileError::TooDeep(_))));
}
