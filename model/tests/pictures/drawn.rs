//! Whether a drawing can be read: nothing covers what it does not belong to.

use model::explain::{Area, Drawing};

/// What of a drawing cannot be read.
pub fn fits(drawing: &Drawing) -> Result<(), String> {
    let page = Area { left: 0.0, top: 0.0, width: drawing.width, height: drawing.height };
    let is_inside = |area: &Area| {
        area.left >= page.left
            && area.right() <= page.right()
            && area.top >= page.top
            && area.bottom() <= page.bottom()
    };
    let card = |index: usize| format!("`{}`", drawing.cards[index].lines.join(" / "));
    for (index, one) in drawing.cards.iter().enumerate() {
        if !is_inside(&one.area) {
            return Err(format!("{} is outside", card(index)));
        }
        for (other, two) in drawing.cards.iter().enumerate().skip(index + 1) {
            if one.area.overlaps(&two.area) {
                return Err(format!("{} covers {}", card(index), card(other)));
            }
        }
    }
    for (index, arrow) in drawing.arrows.iter().enumerate() {
        let name = format!("{} from {} to {}", arrow.name, card(arrow.from), card(arrow.to));
        if arrow.name.is_empty() || !is_inside(&arrow.label) {
            return Err(format!("the name of {name} is outside, or missing"));
        }
        for (other, card_area) in drawing.cards.iter().enumerate() {
            if card_area.area.overlaps(&arrow.label) {
                return Err(format!("the name of {name} is on {}", card(other)));
            }
            let mut points = arrow.path.iter().flat_map(|curve| curve.samples());
            if points.any(|point| card_area.area.grown(-0.5).has(point)) {
                return Err(format!("{name} goes through {}", card(other)));
            }
        }
        for other in &drawing.arrows[index + 1..] {
            if other.label.overlaps(&arrow.label) {
                return Err(format!("the names of {name} and of {} overlap", other.name));
            }
            if runs_along(arrow, other) {
                return Err(format!("{name} and {} coincide", other.name));
            }
        }
        let (first, last) = (arrow.path.first().expect("a way"), arrow.path.last().expect("a way"));
        let touches =
            |area: &Area, point| area.grown(0.5).has(point) && !area.grown(-0.5).has(point);
        if !touches(&drawing.cards[arrow.from].area, first.0[0])
            || !touches(&drawing.cards[arrow.to].area, last.0[3])
        {
            return Err(format!("{name} does not touch its events"));
        }
    }
    Ok(())
}

/// Whether most of the shorter one of two arrows is on the other.
fn runs_along(one: &model::explain::DrawnArrow, other: &model::explain::DrawnArrow) -> bool {
    let points = |arrow: &model::explain::DrawnArrow| -> Vec<model::explain::Point> {
        arrow.path.iter().flat_map(|curve| curve.samples().collect::<Vec<_>>()).collect()
    };
    let (one, other) = (points(one), points(other));
    let is_near = |point: &model::explain::Point| {
        other.iter().any(|near| (near.x - point.x).hypot(near.y - point.y) < 1.5)
    };
    let near = one.iter().filter(|point| is_near(point)).count();
    near * 2 > one.len().min(other.len())
}
