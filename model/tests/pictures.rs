//! Pictures of the whole suite can be read: names stand on nothing, arrows cross no event, and what is not
//! kept in order is there.

mod drawn;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use compiler::library::{Depth, inline};
use lang::Test;
use lang::cat::model::Model;
use lang::limits::Limits;
use lang::outcome::{Asked, Value};
use lang::source::Source;
use model::allowed::{Options, Question};
use model::explain::{Explanation, Kind, Reason, explain};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::Tree;

/// How many outcomes of a list of all are drawn.
const OUTCOMES: usize = 3;

/// Of programs with more events than this, one execution is drawn, and no outcome asked for: that can take
/// long.
const LARGE: usize = 66;

#[test]
fn pictures_of_the_suite_fit() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let files = crate::files::below(&suite);
    let (mut drawn, mut wrong) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the suite is readable");
        let source = Source::new(file.to_string_lossy(), text);
        let test = lang::litmus::load_with(&source, model::library::shipped().words())
            .0
            .expect("the suite is right");
        let model =
            model::models::load_shipped(&test.models[0]).expect("shipped").expect("right").model;
        for test in [Some(test.clone()), inlined(&test)].into_iter().flatten() {
            each_explanation(&test, &model, &mut |explanation| {
                drawn += 1;
                if let Err(error) = one(explanation, &source) {
                    wrong.push(format!("{}: {error}", file.display()));
                }
            });
        }
    }
    println!("{drawn} pictures");
    assert!(drawn > 800, "{drawn} pictures only");
    assert!(wrong.is_empty(), "{} of {drawn} pictures:\n{}", wrong.len(), wrong.join("\n"));
}

/// The test with its calls of libraries replaced, if it has some.
fn inlined(test: &Test) -> Option<Test> {
    let libraries = model::library::shipped();
    if libraries.used(&test.program).is_empty() {
        return None;
    }
    inline(test, libraries, Depth::Full).ok()
}

/// Explains some outcome, and those that the claims of the test speak of.
fn each_explanation(test: &Test, model: &Model, take: &mut dyn FnMut(&Explanation<'_>)) {
    let Ok(question) = Question::of(test, model).question() else { return };
    let mut all = vec![Asked::values(&test.observables, [])];
    for expectation in &test.expectations {
        all.extend(
            model::verdict::asked(expectation, &test.observables)
                .into_iter()
                .map(|(asked, _)| asked)
                .take(OUTCOMES + 1),
        );
    }
    if question.skeleton.events.len() > LARGE {
        all.truncate(1);
    }
    for asked in all {
        // What takes longer is left out; the count of pictures says that this is little.
        let limits = Limits::of_time(Duration::from_secs(10));
        let options = Options { limits, ..Options::default() };
        take(&explain(&question, &options, &asked).expect("asked"));
    }
}

fn one(explanation: &Explanation<'_>, source: &Source) -> Result<(), String> {
    let Some(drawing) = explanation.drawing(source) else { return Ok(()) };
    drawn::fits(&drawing)?;
    let shown = |kind: Kind| drawing.arrows.iter().filter(|arrow| arrow.kind == kind).count();
    match &explanation.reason {
        Reason::Broken(broken) if shown(Kind::Bad) < usize::from(broken.steps.len() > 1) => {
            Err("the steps are not drawn".to_owned())
        }
        Reason::Witness(_) => {
            let weakness = explanation.weakness().expect("of a witness");
            let lost = weakness.not_kept.len();
            let related = weakness.cycle.iter().filter(|step| step.relation != "po").count();
            let is_drawn = shown(Kind::NotKept) == lost
                && drawing.arrows.len() - shown(Kind::Program) >= related;
            if is_drawn {
                Ok(())
            } else {
                Err(format!("{lost} pairs are not kept, and not drawn so"))
            }
        }
        _ => Ok(()),
    }
}

/// How many pixels of a picture have each color, drawn by a program other than a browser.
fn colors(svg: &str) -> BTreeMap<[u8; 3], usize> {
    let tree = Tree::from_str(svg, &resvg::usvg::Options::default()).expect("well-formed SVG");
    // Large enough that lines are wider than their borders.
    let size = tree.size().to_int_size().scale_by(3.0).expect("it has a size");
    let mut pixels = Pixmap::new(size.width(), size.height()).expect("it has a size");
    resvg::render(&tree, Transform::from_scale(3.0, 3.0), &mut pixels.as_mut());
    let mut found: BTreeMap<[u8; 3], usize> = BTreeMap::new();
    for pixel in pixels.pixels() {
        assert_eq!(pixel.alpha(), 255, "the picture has a background");
        *found.entry([pixel.red(), pixel.green(), pixel.blue()]).or_default() += 1;
    }
    found
}

#[test]
fn pictures_have_their_colors_everywhere() {
    let source = Source::new(
        "Colors.litmus",
        "litmus Colors\nmodel rdma-tso\n\n  z = 0 || x = 0, y = 0\n ---\n x^2 := 1 || a := y\n y^2 := 1 || b := x\n z := 1 || x := 2\n z := 2 || \n Poll(2) ||\n Poll(2) ||\n",
    );
    let test =
        lang::litmus::load_with(&source, model::library::shipped().words()).0.expect("a test");
    let model = model::models::load_shipped("rdma-tso").expect("shipped").expect("right").model;
    let question = Question::of(&test, &model).question().expect("they fit");
    let drawn = |values: &[(&str, u64)]| {
        let index = |name: &str| test.observables.iter().position(|known| known.name == name);
        let values = values.iter();
        let values = values.map(|(name, value)| (index(name).expect("shown"), Value::Int(*value)));
        let asked = Asked::values(&test.observables, values);
        let explanation = explain(&question, &Options::default(), &asked).expect("asked");
        assert!(explanation.svg_for_page(&source).expect("drawn").contains("class=\"xg\""));
        explanation.svg(&source).expect("drawn")
    };
    // Page, names, program order, values, order of writes, completion; and what breaks an axiom.
    let (white, ink, gray) = ([255, 255, 255], [0x1b, 0x1f, 0x24], [0x57, 0x60, 0x6a]);
    let (green, blue, purple) = ([0x1a, 0x7f, 0x37], [9, 0x69, 0xda], [0x82, 0x50, 0xdf]);
    let red = [0xcf, 0x22, 0x2e];
    let allowed = drawn(&[("a", 1), ("b", 1)]);
    let forbidden = drawn(&[("a", 1), ("b", 0)]);
    for (svg, expected) in
        [(&allowed, [gray, green, blue, purple]), (&forbidden, [gray, blue, purple, red])]
    {
        assert!(!svg.contains("var(") && !svg.contains("<style"), "{svg}");
        let colors = colors(svg);
        let count = |color: &[u8; 3]| colors.get(color).copied().unwrap_or_default();
        let all: usize = colors.values().sum();
        assert!(count(&white) * 2 > all, "most of the page is white: {} of {all}", count(&white));
        for color in expected {
            assert!(count(&color) > 20, "{color:02x?} is missing: {}", colors.len());
        }
        let dark = |color: &&[u8; 3]| color.iter().all(|part| *part < 16);
        let black: usize = colors.keys().filter(dark).map(count).sum();
        assert!(black * 100 < all, "{black} of {all} pixels are black");
        // Who renders text does so in this color.
        assert!(
            svg.contains(&format!("fill=\"#{}\"", ink.map(|part| format!("{part:02x}")).concat()))
        );
    }
    assert!(
        !colors(&allowed).contains_key(&red),
        "nothing is wrong with what is allowed, and in order"
    );
}
