//! What a reader sees of a report's colors: the rules of its style sheet, applied as browsers apply them.

use crate::scratch::Scratch;
use std::collections::BTreeMap;

use super::common::*;

/// An element: its name and classes.
type Element = (&'static str, &'static str);

/// A rule's selector as compound parts, each with how it follows the one before: `' '` below it, `'+'` right
/// after it.
fn parts(selector: &str) -> Vec<(char, String)> {
    let mut parts = Vec::new();
    for word in selector.split_whitespace() {
        for (index, part) in word.split('+').enumerate() {
            parts.push((if index == 0 { ' ' } else { '+' }, part.to_owned()));
        }
    }
    parts
}

/// Whether a compound part, such as `tr.sc`, is of an element, and how much it weighs: classes, names.
fn is_of(part: &str, (name, classes): Element) -> Option<(usize, usize)> {
    let mut words = part.split('.');
    let own = words.next().unwrap_or_default();
    let wanted: Vec<&str> = words.collect();
    let has = |class: &&str| classes.split(' ').any(|known| known == *class);
    // Anything else, as `:hover` or `[href]`, is of no element here.
    let fits = (own.is_empty() || own == "*" || own == name) && wanted.iter().all(has);
    fits.then(|| (wanted.len(), usize::from(own == name)))
}

/// How much a selector weighs for the last element of a path from the root; each step of the path has the
/// elements before it among its siblings.
fn weight(selector: &str, path: &[Vec<Element>]) -> Option<(usize, usize)> {
    fn back(parts: &[(char, String)], path: &[Vec<Element>]) -> Option<(usize, usize)> {
        let ((how, part), before) = parts.split_last()?;
        let (siblings, above) = path.split_last()?;
        let (own, elder) = siblings.split_last()?;
        let (classes, names) = is_of(part, *own)?;
        let rest = match (before.is_empty(), how) {
            (true, _) => Some((0, 0)),
            (false, '+') => {
                let path = [above, &[elder.to_vec()]].concat();
                back(before, &path)
            }
            (false, _) => (1..=above.len()).rev().find_map(|depth| back(before, &above[..depth])),
        };
        rest.map(|(more, words)| (classes + more, names + words))
    }
    back(&parts(selector), path)
}

/// Where a block ends, after its opening brace.
fn end_of_block(text: &str) -> usize {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    end.unwrap()
}

/// The rules for the screen, in order: selector and declarations.
fn rules(style: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut rules = Vec::new();
    let mut rest = style;
    while let Some((head, after)) = rest.split_once('{') {
        if head.trim_start().starts_with('@') {
            // A block in a block: of another medium.
            rest = &after[end_of_block(after) + 1..];
            continue;
        }
        let (body, after) = after.split_once('}').unwrap();
        let declarations: BTreeMap<String, String> = body
            .split(';')
            .filter_map(|one| one.split_once(':'))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect();
        for selector in head.split(',') {
            rules.push((selector.trim().to_owned(), declarations.clone()));
        }
        rest = after;
    }
    rules
}

/// What the cascade gives the last element of a path.
fn computed(style: &str, path: &[Vec<Element>], property: &str) -> Option<String> {
    let rules = rules(style);
    let found = rules.iter().enumerate().filter_map(|(order, (selector, declarations))| {
        Some(((weight(selector, path)?, order), declarations.get(property)?))
    });
    found.max_by_key(|(weight, _)| *weight).map(|(_, value)| value.clone())
}

/// The rules for paper.
fn print_rules(style: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let (_, print) = style.split_once("@media print{").unwrap();
    rules(&print[..end_of_block(print)])
}

fn style_of(html: &str) -> &str {
    let (_, style) = html.split_once("<style>").unwrap();
    style.split_once("</style>").unwrap().0
}

const KINDS: [&str; 5] = ["sc", "weak", "allowed", "forbidden", "unknown"];

/// Where the bar of an outcome is, and its letter.
fn bar(kind: &'static str) -> [Vec<Vec<Element>>; 2] {
    let row = vec![vec![("table", "h")], vec![("tbody", "")], vec![("tr", kind)]];
    let cells = |count: usize| vec![("td", ""); count];
    let bar = [row.clone(), vec![cells(4), vec![("i", "")]]].concat();
    [bar, [row, vec![cells(3)]].concat()]
}

#[test]
fn the_cascade_is_that_of_browsers() {
    let style = ".a i{color:one}.b .a i,p{color:two}i{color:three}td+td{color:four}td{color:five}";
    let at = |path: &[Vec<Element>]| computed(style, path, "color").unwrap_or_default();
    assert_eq!(at(&[vec![("p", "a")], vec![("i", "")]]), "one");
    assert_eq!(at(&[vec![("p", "b")], vec![("p", "a c")], vec![("i", "")]]), "two");
    assert_eq!(at(&[vec![("i", "x")]]), "three");
    assert_eq!(at(&[vec![("td", ""), ("td", "")]]), "four");
    assert_eq!(at(&[vec![("td", "")]]), "five");
    assert_eq!(at(&[vec![("b", "")]]), "");
}

/// The bars of a histogram have the colors of the legend, which are different.
#[test]
fn bars_have_the_colors_of_the_legend() {
    let scratch = Scratch::new();
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[mp(WRONG)]));
    let output = scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let html = scratch.read("out/report.html");
    let style = style_of(&html);
    let mut colors = Vec::new();
    for kind in KINDS {
        // As the page has them.
        assert!(html.contains(&format!("<i class=\"legend {kind}\"></i>")), "{kind}");
        let class: &'static str = Box::leak(format!("legend {kind}").into_boxed_str());
        let legend = vec![vec![("p", "soft")], vec![("i", class)]];
        let color = computed(style, &legend, "background").unwrap();
        let [bar, letter] = bar(kind);
        assert_eq!(computed(style, &bar, "background").as_ref(), Some(&color), "{kind}");
        assert_eq!(computed(style, &letter, "color").as_ref(), Some(&color), "{kind}");
        assert!(color.starts_with("var(--") && !colors.contains(&color), "{kind}: {color}");
        colors.push(color);
    }
    // A bar is a block that has a height, and the rows are of these kinds.
    assert_eq!(computed(style, &bar("sc")[0], "display").as_deref(), Some("block"));
    assert_eq!(computed(style, &bar("sc")[0], "height").as_deref(), Some(".8em"));
    let rows = html.split("<table class=\"h\"><tbody>").skip(1);
    let rows: Vec<&str> = rows.flat_map(|one| one.split("</tbody>").next()).collect();
    assert!(rows.len() > 1, "{html}");
    for row in rows.iter().flat_map(|rows| rows.trim().lines()) {
        let kind = row.strip_prefix("<tr class=\"").and_then(|rest| rest.split('"').next());
        assert!(kind.is_some_and(|kind| KINDS.contains(&kind)), "{row}");
        assert_eq!(row.matches("<td>").count(), 4, "{row}");
    }
    assert!(rows.concat().contains("<i style=\"width:"));
    // Letters are there for those who see no colors.
    let letters: Vec<bool> =
        ["<td>S</td>", "<td>F</td>"].map(|cell| rows.concat().contains(cell)).into();
    assert!(letters.contains(&true), "{rows:?}");
}

/// On paper, cards are open, without script too, and what only a screen can use is not there. On a narrow
/// screen, tables scroll, and not the page.
#[test]
fn paper_has_the_violations_and_narrow_screens_have_no_wide_page() {
    let scratch = Scratch::new();
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[mp(WRONG)]));
    scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    let html = scratch.read("out/report.html");
    let style = style_of(&html);
    let hidden = print_rules(style).into_iter().filter(|(_, declarations)| {
        declarations.get("display").is_some_and(|value| value == "none")
    });
    let hidden: Vec<String> = hidden.map(|(selector, _)| selector).collect();
    assert!(hidden.iter().any(|one| one == ".screen") && hidden.iter().all(|one| one != ".card"));
    let open =
        print_rules(style).into_iter().find(|(selector, _)| selector == ".card::details-content");
    assert_eq!(open.unwrap().1.get("content-visibility").map(String::as_str), Some("visible"));
    // The columns of a program stay side by side.
    let program = print_rules(style).into_iter().find(|(selector, _)| selector == "pre.program");
    assert_eq!(program.unwrap().1.get("white-space").map(String::as_str), Some("pre"));
    assert!(html.contains("addEventListener(\"beforeprint\""));
    let (_, card) = html.split_once("<details class=\"card bad\"").unwrap();
    assert!(card.split("</details>").next().unwrap().contains("<svg"), "{card}");
    // A flex item is as wide as what it has in it, unless it may be narrower.
    let tables = vec![vec![("div", "tables")], vec![("div", "")]];
    assert_eq!(computed(style, &tables, "min-width").as_deref(), Some("0"));
    assert_eq!(computed(style, &tables, "max-width").as_deref(), Some("100%"));
    let (_, body) = html.split_once("<body>").unwrap();
    for (at, _) in body.match_indices("<table") {
        let before = &body[..at];
        let is_bars = body[at..].starts_with("<table class=\"h\"");
        assert!(is_bars || before.ends_with("<div class=\"scroll\">"), "{}", &body[at..at + 60]);
    }
}
