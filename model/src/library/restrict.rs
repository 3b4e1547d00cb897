//! Models over the events of one library only, and models put behind one another.

use lang::cat::model::{
    Base, Cell, Definition, DefinitionId, DefinitionKind, Expr, RecBody, Table, Type,
};

/// Restricts a model to the events of a library.
pub struct Restriction {
    /// The library's bit.
    pub library: u8,
}

impl Restriction {
    fn events(&self) -> Expr {
        Expr::Base(Base::Library(self.library))
    }

    fn pairs(&self) -> Expr {
        Expr::Product(Box::new(self.events()), Box::new(self.events()))
    }

    /// An expression of the library's own text.
    pub fn expr(&self, expr: &Expr) -> Expr {
        map(expr, &|expr| match expr {
            Expr::Base(Base::Method(_, number)) => {
                Some(Expr::Base(Base::Method(self.library, *number)))
            }
            Expr::Base(Base::Identity) => Some(Expr::Identity(Box::new(self.events()))),
            Expr::Base(base) => {
                let within = if base.ty() == Type::Set { self.events() } else { self.pairs() };
                Some(Expr::Intersection(Box::new(expr.clone()), Box::new(within)))
            }
            Expr::Universe => Some(self.events()),
            Expr::Complement(ty, inner) => {
                let all = if *ty == Type::Set { self.events() } else { self.pairs() };
                Some(Expr::Difference(Box::new(all), Box::new(self.expr(inner))))
            }
            _ => None,
        })
    }

    /// A definition of the library's own text.
    pub fn definition(&self, definition: &Definition) -> Definition {
        map_definition(definition, &|expr| self.expr(expr))
    }
}

/// Rebuilds an expression; what `change` gives takes the place of a part.
pub(crate) fn map(expr: &Expr, change: &impl Fn(&Expr) -> Option<Expr>) -> Expr {
    if let Some(changed) = change(expr) {
        return changed;
    }
    let sub = |inner: &Expr| Box::new(map(inner, change));
    match expr {
        Expr::Base(_) | Expr::Defined(_) | Expr::Empty | Expr::Universe => expr.clone(),
        Expr::Union(a, b) => Expr::Union(sub(a), sub(b)),
        Expr::Intersection(a, b) => Expr::Intersection(sub(a), sub(b)),
        Expr::Difference(a, b) => Expr::Difference(sub(a), sub(b)),
        Expr::Complement(ty, a) => Expr::Complement(*ty, sub(a)),
        Expr::Product(a, b) => Expr::Product(sub(a), sub(b)),
        Expr::Identity(a) => Expr::Identity(sub(a)),
        Expr::Sequence(a, b) => Expr::Sequence(sub(a), sub(b)),
        Expr::Inverse(a) => Expr::Inverse(sub(a)),
        Expr::Plus(a) => Expr::Plus(sub(a)),
        Expr::Star(a) => Expr::Star(sub(a)),
        Expr::Optional(a) => Expr::Optional(sub(a)),
        Expr::Domain(a) => Expr::Domain(sub(a)),
        Expr::Range(a) => Expr::Range(sub(a)),
    }
}

/// Rebuilds a definition, with each of its expressions changed.
pub(crate) fn map_definition(
    definition: &Definition,
    change: &impl Fn(&Expr) -> Expr,
) -> Definition {
    let kind = match &definition.kind {
        DefinitionKind::Let { name, ty, body } => {
            DefinitionKind::Let { name: name.clone(), ty: *ty, body: change(body) }
        }
        DefinitionKind::Rec(bodies) => DefinitionKind::Rec(
            bodies
                .iter()
                .map(|body| RecBody {
                    name: body.name.clone(),
                    ty: body.ty,
                    body: change(&body.body),
                })
                .collect(),
        ),
        DefinitionKind::Choice { name, total_on, extends } => DefinitionKind::Choice {
            name: name.clone(),
            total_on: change(total_on),
            extends: extends.as_ref().map(change),
        },
        DefinitionKind::Table(table) => {
            let named = |(name, expr): &(String, Expr)| (name.clone(), change(expr));
            DefinitionKind::Table(Table {
                name: table.name.clone(),
                on: change(&table.on),
                letters: table.letters.iter().map(named).collect(),
                columns: table.columns.iter().map(named).collect(),
                rows: table
                    .rows
                    .iter()
                    .map(|(name, set, cells): &(String, Expr, Vec<Cell>)| {
                        (name.clone(), change(set), cells.clone())
                    })
                    .collect(),
            })
        }
    };
    Definition { kind, span: definition.span }
}

fn with_numbers(expr: &Expr, number: &impl Fn(usize) -> usize) -> Expr {
    map(expr, &|expr| match expr {
        Expr::Defined(DefinitionId { definition, body }) => {
            Some(Expr::Defined(DefinitionId { definition: number(*definition), body: *body }))
        }
        _ => None,
    })
}

/// The expression where its definitions stand that much later.
pub fn shifted_expr(expr: &Expr, offset: usize) -> Expr {
    with_numbers(expr, &|number| number + offset)
}

/// The same of a definition.
pub fn shifted(definition: &Definition, offset: usize) -> Definition {
    map_definition(definition, &|expr| shifted_expr(expr, offset))
}

/// The expression with other numbers of definitions.
pub fn renumbered(expr: &Expr, numbers: &[usize]) -> Expr {
    with_numbers(expr, &|number| numbers[number])
}

/// The same of a definition.
pub fn renumbered_definition(definition: &Definition, numbers: &[usize]) -> Definition {
    map_definition(definition, &|expr| renumbered(expr, numbers))
}

/// Visits an expression and all its parts.
pub fn each(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Base(_) | Expr::Empty | Expr::Universe | Expr::Defined(_) => {}
        Expr::Union(a, b)
        | Expr::Intersection(a, b)
        | Expr::Difference(a, b)
        | Expr::Product(a, b)
        | Expr::Sequence(a, b) => {
            each(a, visit);
            each(b, visit);
        }
        Expr::Complement(_, a)
        | Expr::Identity(a)
        | Expr::Inverse(a)
        | Expr::Plus(a)
        | Expr::Star(a)
        | Expr::Optional(a)
        | Expr::Domain(a)
        | Expr::Range(a) => each(a, visit),
    }
}

/// Visits the expressions of a definition.
pub fn each_expr(definition: &Definition, visit: &dyn Fn(&Expr)) {
    match &definition.kind {
        DefinitionKind::Let { body, .. } => visit(body),
        DefinitionKind::Rec(bodies) => bodies.iter().for_each(|body| visit(&body.body)),
        DefinitionKind::Choice { total_on, extends, .. } => {
            visit(total_on);
            extends.iter().for_each(visit);
        }
        DefinitionKind::Table(table) => {
            visit(&table.on);
            let named = table.letters.iter().chain(&table.columns).map(|(_, expr)| expr);
            named.chain(table.rows.iter().map(|(_, set, _)| set)).for_each(visit);
        }
    }
}

/// Visits the definitions that an expression uses.
pub fn uses(expr: &Expr, visit: &mut dyn FnMut(usize)) {
    each(expr, &mut |part| {
        if let Expr::Defined(id) = part {
            visit(id.definition);
        }
    });
}

/// Visits the definitions that a definition uses.
pub fn definition_uses(definition: &Definition, visit: &mut dyn FnMut(usize)) {
    let visit = std::cell::RefCell::new(visit);
    each_expr(definition, &|expr| uses(expr, &mut |used| (visit.borrow_mut())(used)));
}
