//! Arbitrary syntax trees.

use lang::litmus::ast::*;
use lang::litmus::complete;
use lang::litmus::methods::Method;
use lang::program::BinaryOp;
use proptest::prelude::*;

/// A class that no library knows.
const UNKNOWN: &str = "Mailbox";

fn place() -> Place {
    Place::default()
}

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec![
        "x", "y", "a", "b1", "x_2", "c'", "Poll", "size", "notx", "order", "n",
    ])
    .prop_map(|text| Name { text: text.to_owned(), place: place() })
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![0u64..4, Just(u64::MAX)].prop_map(|value| Number { value, place: place() })
}

/// The number of a queue pair: of one thread, or shared.
fn pair_number() -> impl Strategy<Value = PairNumber> {
    (number(), any::<bool>()).prop_map(|(number, is_shared)| PairNumber {
        value: number.value,
        is_shared,
        place: place(),
    })
}

/// Values, some of them negative.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..9, 1 => (1u64..9).prop_map(u64::wrapping_neg), 1 => Just(1 << 63)]
}

fn access() -> impl Strategy<Value = Access> {
    let home = prop_oneof![Just(Home::Own), Just(Home::Inferred), number().prop_map(Home::Node)];
    let queue_pair = prop_oneof![3 => Just(None), 1 => pair_number().prop_map(Some)];
    (name(), index(), home, queue_pair).prop_map(|(name, index, home, queue_pair)| {
        // `x^2/0` is `x^2`.
        let queue_pair = queue_pair.filter(|number| home.is_own() || !number.is_first());
        Access { name, index: index.map(Box::new), home, queue_pair, atomic: None, place: place() }
    })
}

/// No index, mostly. A number would be a part of the name.
fn index() -> impl Strategy<Value = Option<Index>> {
    let named = name().prop_map(|name| {
        let access = build::access(&name.text, None, place());
        Some(Index::Value(Box::new(access.into())))
    });
    let part = (number(), number()).prop_map(|(first, last)| Some(Index::Part(first, last)));
    prop_oneof![8 => Just(None), 1 => named, 1 => part]
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    prop::sample::select(vec![
        Add,
        Subtract,
        Multiply,
        Equal,
        NotEqual,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
        And,
        Or,
    ])
}

fn wrap(kind: ExprKind) -> Expr {
    Expr { kind, place: place() }
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        value().prop_map(|value| wrap(ExprKind::Number(value))),
        any::<bool>().prop_map(|value| wrap(ExprKind::Truth(value))),
        Just(wrap(ExprKind::Bottom)),
        access().prop_map(|access| wrap(ExprKind::Access(access))),
    ];
    leaf.prop_recursive(5, 30, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| wrap(ExprKind::Not(Box::new(inner)))),
            (binary_op(), inner.clone(), inner.clone()).prop_map(|(op, left, right)| wrap(
                ExprKind::Binary(op, Box::new(left), Box::new(right))
            )),
            prop::collection::vec(inner, 2..4).prop_map(|all| wrap(ExprKind::Tuple(all))),
        ]
    })
}

/// What a put may take inline: `inline` stands before a name or a number, else it is a name itself.
fn inline_value() -> impl Strategy<Value = Value> {
    let access = access().prop_map(|access| Access { home: Home::Own, ..access });
    let first = prop_oneof![
        value().prop_map(|value| wrap(ExprKind::Number(value))),
        access.prop_map(|access| wrap(ExprKind::Access(access))),
    ];
    let sum = (first.clone(), first.clone()).prop_map(|(left, right)| {
        wrap(ExprKind::Binary(BinaryOp::Add, Box::new(left), Box::new(right)))
    });
    prop_oneof![first, sum].prop_map(Value::Inline)
}

fn call(value: bool) -> impl Strategy<Value = Call> {
    let e = || expr().prop_map(Argument::Expr);
    let nodes =
        || prop::collection::vec(number(), 0..3).prop_map(|nodes| Argument::Nodes(nodes, place()));
    let nobody = || Just(Argument::Nobody(place()));
    let of = |method: Method, arguments: BoxedStrategy<Vec<Argument>>| {
        arguments
            .prop_map(move |arguments| Call { method, word: None, arguments, place: place() })
            .boxed()
    };
    let of_library = |word: &'static str, arguments: BoxedStrategy<Vec<Argument>>| {
        let word = Some(word.to_owned());
        let method = Method::Library;
        arguments
            .prop_map(move |arguments| Call {
                method,
                word: word.clone(),
                arguments,
                place: place(),
            })
            .boxed()
    };
    let one = e().prop_map(|e| vec![e]).boxed();
    let two = (e(), e()).prop_map(|(a, b)| vec![a, b]).boxed();
    let three = (e(), e(), e()).prop_map(|(a, b, c)| vec![a, b, c]).boxed();
    let result = prop_oneof![e(), nobody(), nodes()];
    let four = (result, e(), e(), e()).prop_map(|(a, b, c, d)| vec![a, b, c, d]).boxed();
    let mut all = vec![
        of(Method::Cas, three.clone()),
        of(Method::Faa, two.clone()),
        of_library("Submit", two.clone()),
        of_library("Receive", one.clone()),
    ];
    if value {
        all.push(of(Method::Rcas, three));
        all.push(of(Method::Rfaa, two));
    } else {
        all.push(of(Method::Rcas, four));
        all.push(of(Method::Mfence, Just(Vec::new()).boxed()));
        let pair =
            || pair_number().prop_filter("is written without it", |number| !number.is_first());
        let towards = (number(), pair()).prop_map(|(node, pair)| Argument::Towards(node, pair));
        all.push(of(Method::Rfence, towards.prop_map(|towards| vec![towards]).boxed()));
        all.push(of(Method::Poll, one));
        let pairs = prop::collection::vec((number(), pair_number()), 2..4);
        let pairs = pairs.prop_filter("else they are nodes", |pairs| {
            pairs.iter().any(|(_, number)| !number.is_first())
        });
        let pairs = pairs.prop_map(|pairs| vec![Argument::QueuePairs(pairs, place())]);
        all.push(of(Method::Poll, pairs.boxed()));
        all.push(of(Method::Gfence, nodes().prop_map(|nodes| vec![nodes]).boxed()));
        all.push(of_library(
            "Bcast",
            (e(), nobody(), nodes()).prop_map(|(a, b, c)| vec![a, b, c]).boxed(),
        ));
    }
    prop::strategy::Union::new(all)
}

fn statement() -> impl Strategy<Value = Statement> {
    let target = prop_oneof![
        9 => access().prop_map(Target::Access),
        1 => Just(Target::Nobody(place())),
    ];
    let via = prop_oneof![
        Just(Via::Plain),
        name().prop_map(|name| Via::Id(Some(name))),
        Just(Via::Id(None)),
        Just(Via::Library("SV".to_owned())),
        Just(Via::Library("SC".to_owned())),
        Just(Via::Library("MINE2".to_owned())),
    ];
    let value =
        prop_oneof![expr().prop_map(Value::Expr), inline_value(), call(true).prop_map(Value::Call)];
    let leaf = prop_oneof![
        (target, via, value).prop_map(|(target, via, value)| StatementKind::Assign {
            target,
            via,
            value
        }),
        call(false).prop_map(StatementKind::Call),
        Just(StatementKind::Break),
        Just(StatementKind::Skip),
        expr().prop_map(StatementKind::Assume),
    ];
    let statement = (leaf, prop::bool::weighted(0.1)).prop_map(|(kind, unsignaled)| {
        let may_be = matches!(kind, StatementKind::Assign { .. } | StatementKind::Call(_));
        Statement { kind, unsignaled: unsignaled && may_be, place: place() }
    });
    statement.prop_recursive(3, 12, 3, |inner| {
        let block = prop::collection::vec(inner, 0..3)
            .prop_map(|statements| Block { statements, end: place() });
        let kind = prop_oneof![
            (prop::collection::vec((expr(), block.clone()), 1..3), prop::option::of(block.clone()))
                .prop_map(|(branches, otherwise)| StatementKind::If { branches, otherwise }),
            (expr(), block.clone()).prop_map(|(e, block)| StatementKind::While(e, block)),
            block.prop_map(StatementKind::Loop),
        ];
        kind.prop_map(|kind| Statement { kind, unsignaled: false, place: place() })
    })
}

fn declaration() -> impl Strategy<Value = Declaration> {
    let kind = prop_oneof![
        number().prop_map(DeclarationKind::Location),
        (1u64..4, number()).prop_map(|(size, value)| DeclarationKind::Mixed {
            size: Number { value: size, place: place() },
            initial: vec![value],
        }),
        (
            prop::sample::select(vec!["SVar", "WLock", "Ring", UNKNOWN]),
            prop::option::of(number()),
            prop::option::of(prop::collection::vec(number(), 0..3)),
            prop::option::of(number()),
            prop::option::of(number()),
        )
            .prop_map(|(class, writer, threads, size, initial)| DeclarationKind::Object {
                class: Name { text: class.to_owned(), place: place() },
                writer: writer.filter(|_| threads.is_some()),
                threads,
                size,
                initial,
            }),
    ];
    let home = prop::option::of(number());
    (name(), kind, home).prop_map(|(mut name, kind, home)| {
        // What is called on an object of an unknown class is a call of its library, also `FAA`: no program
        // says a statement of the base language about one.
        if matches!(&kind, DeclarationKind::Object { class, .. } if class.text == UNKNOWN) {
            name.text = "mailbox".to_owned();
        }
        Declaration { name, kind, home }
    })
}

fn observed() -> impl Strategy<Value = Observed> {
    (name(), prop::option::of(number())).prop_map(|(name, copy)| Observed { name, copy })
}

fn constant() -> impl Strategy<Value = Constant> {
    prop_oneof![
        value().prop_map(Constant::Number),
        any::<bool>().prop_map(Constant::Truth),
        Just(Constant::Bottom),
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    let leaf =
        prop_oneof![constant().prop_map(Atom::Constant), observed().prop_map(Atom::Observed)];
    let arithmetic =
        vec![BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Remainder];
    let atom = leaf.prop_recursive(2, 6, 2, move |inner| {
        (prop::sample::select(arithmetic.clone()), inner.clone(), inner)
            .prop_map(|(op, left, right)| Atom::Binary(op, Box::new(left), Box::new(right)))
    });
    let atom = || atom.clone();
    let comparison = prop::sample::select(vec![BinaryOp::Equal, BinaryOp::NotEqual]);
    let compare =
        (comparison, prop::collection::vec((atom(), atom()), 1..4)).prop_map(|(op, atoms)| {
            let (left, right) = atoms.into_iter().unzip();
            Claim::Compare { op, left, right, place: place() }
        });
    let leaf = prop_oneof![any::<bool>().prop_map(Claim::Truth), compare];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Claim::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Claim::Or),
            inner.prop_map(|inner| Claim::Not(Box::new(inner))),
        ]
    })
}

fn result_line() -> impl Strategy<Value = ResultLine> {
    let exactly = prop::collection::vec(observed(), 1..4).prop_flat_map(|observed| {
        let words = prop::collection::vec(0u64..4, 2..4).prop_map(|words| {
            let number = |value| Number { value, place: place() };
            Constant::Words(words.into_iter().map(number).collect())
        });
        let part = prop_oneof![4 => constant(), 1 => words];
        let outcome = prop::collection::vec(part, observed.len());
        let outcomes = prop::collection::vec(outcome.prop_map(|values| (values, place())), 0..20);
        outcomes
            .prop_map(move |outcomes| VerdictKind::Exactly { outcomes, observed: observed.clone() })
    });
    let marked = prop_oneof![
        claim().prop_map(VerdictKind::Allowed),
        claim().prop_map(VerdictKind::Forbidden),
        claim().prop_map(VerdictKind::Always),
    ];
    let verdict = prop_oneof![
        3 => (marked, any::<bool>()),
        1 => exactly.prop_map(|kind| (kind, false)),
    ]
    .prop_map(|(kind, is_question)| Verdict { kind, is_question, place: place() });
    let model = prop::option::of(
        Just("rdma-wait").prop_map(|text| Name { text: text.to_owned(), place: place() }),
    );
    let kind = prop_oneof![
        prop::collection::vec(observed(), 1..4).prop_map(ResultKind::Observe),
        (model, prop::collection::vec(verdict, 1..3))
            .prop_map(|(model, verdicts)| ResultKind::Verdicts(model, verdicts)),
    ];
    kind.prop_map(|kind| ResultLine { kind, place: place(), end: place() })
}

/// Trees that the parser could have made, in columns and in blocks.
pub fn tree() -> impl Strategy<Value = File> {
    let bodies =
        prop::collection::vec((any::<bool>(), prop::collection::vec(statement(), 0..4)), 1..4);
    let rows = prop::collection::vec(
        (any::<bool>(), prop::collection::vec(prop::collection::vec(declaration(), 0..3), 3)),
        0..3,
    );
    let results = prop::collection::vec(result_line(), 0..3);
    (bodies, rows, results, any::<bool>()).prop_map(|(bodies, rows, results, blocks)| {
        let mut node = 1;
        let mut file =
            File { name: Name { text: "t".to_owned(), place: place() }, ..File::default() };
        for (index, (next, statements)) in bodies.into_iter().enumerate() {
            node += u32::from(next && index > 0);
            let body = Block { statements, end: place() };
            file.threads.push(Thread { node, body, place: place() });
        }
        if blocks {
            file.form = Form::Blocks;
        }
        let columns = file.threads.len();
        for (shared, mut cells) in rows {
            cells.truncate(columns);
            let all: Vec<Declaration> = cells.concat();
            let blank = all.is_empty();
            let cells = match shared && columns > 1 && !blocks {
                true => Cells::Shared(all),
                false => Cells::Columns(cells),
            };
            // A row that says nothing is not written.
            let unwritten = blank && (columns == 1 || matches!(cells, Cells::Shared(_)));
            if !unwritten {
                file.declarations.push(DeclarationRow { cells, place: place() });
            }
        }
        file.results = results;
        complete(&mut file, crate::words());
        file
    })
}
