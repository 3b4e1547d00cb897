//! Mixed-size locations: writes of several words, and their puts and gets (MSW).

use rustc_hash::FxHashMap;

use crate::diagnostic::Code;
use crate::library::notation::{GET_WORDS, PUT_WORDS, WORDS, WRITE_WORDS};
use crate::program::{Call, Expr, LARGEST_WORD, Program, RegisterId, StmtKind};

use super::super::ast::{self, Access, ExprKind, Home, Name, Target};
use super::Meaning;
use super::libraries::{empty, object};
use super::lower::Lowerer;

/// The registers that hold nothing but values of several words, and how many: what TryRead gives, and copies
/// of it.
pub fn of_registers(program: &Program) -> FxHashMap<RegisterId, u32> {
    let mut words: FxHashMap<RegisterId, Option<u32>> = FxHashMap::default();
    let size = |call: &Call| {
        let object = program.objects.iter().find(|one| Some(&one.name) == call.object.as_ref())?;
        (object.class == WORDS).then(|| u32::try_from(object.initial.len()).ok())?
    };
    // A copy may stand above what it copies, in a loop.
    for _ in 0..2 {
        for thread in &program.threads {
            crate::program::each(&thread.body, &mut |stmt| {
                let (register, found) = match &stmt.kind {
                    StmtKind::Call(call) => (call.register, size(call)),
                    StmtKind::Assign { register, value: Expr::Register(from) } => {
                        (Some(*register), words.get(from).copied().flatten())
                    }
                    kind => (kind.parts().assigned, None),
                };
                let Some(register) = register else { return };
                let known = words.entry(register).or_insert(found);
                if *known != found {
                    *known = None;
                }
            });
        }
    }
    words.into_iter().filter_map(|(register, words)| Some((register, words?))).collect()
}

/// `x := e` for an object: a mixed-size write.
pub fn plain_write(
    lowerer: &mut Lowerer<'_, '_>,
    index: usize,
    target: &Access,
    expr: &ast::Expr,
) -> Option<()> {
    let object = &lowerer.checker.program.objects[index];
    let (class, home) = (object.class.clone(), object.node);
    let words = object.initial.len();
    let name = target.name.text.clone();
    if class != WORDS {
        let message = format!("expected a location or a register, found `{name}` of class {class}");
        let help = "calls of its library write it, some as `:=` with the library's mark";
        return lowerer.fail(Code::WrongObjectClass, target.place, message, help);
    }
    if let Some(home) = home.filter(|home| *home != lowerer.node) {
        return lowerer.remote_cpu_access(target, home, true);
    }
    let arguments = self::words(lowerer, expr, words)?;
    lowerer.push(StmtKind::Call(Call { object: Some(name), arguments, ..empty(WRITE_WORDS) }));
    Some(())
}

/// The words of a value: one for each, or one for all.
fn words(lowerer: &mut Lowerer<'_, '_>, expr: &ast::Expr, count: usize) -> Option<Vec<Expr>> {
    let ExprKind::Tuple(all) = &expr.kind else {
        let value = word(lowerer, expr)?;
        return Some(vec![value; count]);
    };
    if all.len() != count {
        let message = format!("expected {count} words, found {}", all.len());
        return lowerer.fail(Code::WrongWords, expr.place, message, "");
    }
    all.iter().map(|word| self::word(lowerer, word)).collect()
}

/// A word; those that are known must fit, and of others the program's executions say.
fn word(lowerer: &mut Lowerer<'_, '_>, expr: &ast::Expr) -> Option<Expr> {
    let value = lowerer.expression(expr)?;
    if let Expr::Constant(large) = value
        && large >= LARGEST_WORD
    {
        let message = format!("expected a word below {LARGEST_WORD}, found {large}");
        let help = "several words are one value, as its digits";
        return lowerer.fail(Code::WordTooLarge, expr.place, message, help);
    }
    Some(value)
}

/// `x^2 := y` for an object x: a mixed-size put.
pub fn put(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Access,
    id: Option<&Name>,
    expr: &ast::Expr,
) -> Option<()> {
    let far = remote_mixed(lowerer, target)?;
    let ExprKind::Access(source) = &expr.kind else {
        let message = "expected a mixed-size location of the thread's own node, found a value";
        let help = "write the value to one first; a mixed-size put copies it";
        return lowerer.fail(Code::PutSourceRemote, expr.place, message, help);
    };
    let near = own_mixed(lowerer, source, Code::PutSourceRemote)?;
    copy(lowerer, PUT_WORDS, (target, far), (source, near), id)
}

/// `y := x^2` for an object x: a mixed-size get.
pub fn get(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Target,
    id: Option<&Name>,
    source: &Access,
) -> Option<()> {
    let far = remote_mixed(lowerer, source)?;
    let Target::Access(target) = target else {
        let message = "expected a mixed-size location for the words, found `_`";
        return lowerer.fail(Code::NotALocation, source.place, message, "");
    };
    let near = own_mixed(lowerer, target, Code::GetTargetRemote)?;
    copy(lowerer, GET_WORDS, (target, near), (source, far), id)
}

fn copy(
    lowerer: &mut Lowerer<'_, '_>,
    method: &str,
    target: (&Access, usize),
    source: (&Access, usize),
    id: Option<&Name>,
) -> Option<()> {
    let words = |index: usize| lowerer.checker.program.objects[index].initial.len();
    let (wanted, found) = (words(target.1), words(source.1));
    if wanted != found {
        let message =
            format!("expected {wanted} words, found the {found} of `{}`", source.0.name.text);
        return lowerer.fail(Code::WrongWords, source.0.place, message, "");
    }
    let far = if method == PUT_WORDS { target.1 } else { source.1 };
    let at = lowerer.checker.program.objects[far].node;
    let id = lowerer.id(id);
    let (target, source) = (target.0.name.text.clone(), source.0.name.text.clone());
    let call = Call { object: Some(target), source: Some(source), id, at, ..empty(method) };
    lowerer.push(StmtKind::Call(call));
    Some(())
}

/// The mixed-size location of `x^2`.
fn remote_mixed(lowerer: &mut Lowerer<'_, '_>, access: &Access) -> Option<usize> {
    let name = &access.name.text;
    let index = match lowerer.checker.meaning(&access.name)? {
        Meaning::Object(index) if lowerer.checker.program.objects[index].class == WORDS => index,
        _ => {
            let message = format!("expected a location, found the object `{name}`");
            let help = "library objects are reached by their own calls";
            return lowerer.fail(Code::NotALocation, access.place, message, help);
        }
    };
    let object = &lowerer.checker.program.objects[index];
    let (home, declared) = (object.node?, object.span);
    match access.home {
        Home::Node(number) if lowerer.checker.node(number)? != home => {
            lowerer.wrong_home(access, home, declared)
        }
        _ => Some(index),
    }
}

/// A mixed-size location of the thread's own node.
fn own_mixed(lowerer: &mut Lowerer<'_, '_>, access: &Access, code: Code) -> Option<usize> {
    let index = object(lowerer, access)?;
    let home = lowerer.checker.program.objects[index].node;
    let class = &lowerer.checker.program.objects[index].class;
    if class != WORDS {
        let message = format!("expected a location of several words, found one of class {class}");
        let help = format!("declare it above the rule as `{}[2] = 0`", access.name.text);
        return lowerer.fail(Code::WrongObjectClass, access.place, message, help);
    }
    if access.home.is_own() && home == Some(lowerer.node) {
        return Some(index);
    }
    let name = &access.name.text;
    let message =
        format!("expected a location of node {}, found `{name}` of another", lowerer.node.0);
    lowerer.fail(code, access.place, message, "the NIC's other end is the thread's own node")
}
