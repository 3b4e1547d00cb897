// The page: texts on the left, what the engines say of them on the right.
import { at, make, options } from "./dom.js";
import { Engine } from "./engine.js";
import { Files } from "./files.js";
import { fromLink, toLink, unpacked } from "./packed.js";
import * as show from "./results.js";

/** What is there when the page opens. */
const FIRST = "rmw-paper/SB+put-wait+put-wait";
/** How long to wait for a further change, in milliseconds. */
const PAUSE = 30;
const EARLIER_TEXTS = "This is about earlier texts, or another model.";
const EARLIER_QUESTION = "This is the answer to an earlier question.";

const engine = new Engine();
const files = new Files(at("program"), at("tabs"), at("beside"), changed);
let examples = [];
let pause;
/** What is wrong with the texts, which stays while questions about them are answered. */
let standing = [];

function say(text, isBusy = false) {
  at("status").textContent = text;
  at("status").className = isBusy ? "busy" : "";
  at("stop").disabled = !engine.isBusy;
  settle();
}

/** Says whether the results are about the texts as they are. */
function settle() {
  at("results").ariaBusy = String(engine.isBusy || pause !== undefined);
}

function program() {
  const model = at("model").value;
  return { text: files.program, own: files.own, ...(model && { model }) };
}

/** Asks, and gives the answer to `then`, unless it is of no use any more. */
async function ask(kind, question, words, then) {
  const start = performance.now();
  const asked = engine.ask(kind, question);
  say(words, true);
  const answer = await asked;
  if (answer.replaced) return;
  const unanswered = answer.stopped ? `Stopped: ${answer.stopped}.` : answer.error && `This cannot be asked: ${answer.error}.`;
  if (unanswered) {
    // What is there is about an earlier text.
    if (kind === "judge") judged();
    else outdate(EARLIER_QUESTION);
    say(unanswered);
    return;
  }
  const found = answer.diagnostics ?? [];
  if (kind === "judge") standing = found;
  const isNew = (one) => !standing.some((known) => JSON.stringify(known) === JSON.stringify(one));
  const all = [...standing, ...found.filter(isNew)];
  files.diagnose(all);
  problems(all);
  then(answer, Math.round(performance.now() - start));
}

function problems(diagnostics) {
  at("diagnostics").replaceChildren(...diagnostics.map((one) => {
    const text = `${one.file}, line ${one.line}: ${one.message}${one.help ? `\nhelp: ${one.help}` : ""}`;
    const go = () => (one.file === "outcome" ? at("outcome").focus() : files.goTo(one.file, one.from));
    return make("li", {}, make("button", { type: "button", class: one.severity, onclick: go }, text));
  }));
}

/** Shows verdicts and outcomes; none, if nothing is known of the program as it is. */
function judged(verdicts = [], outcomes = []) {
  at("verdicts").replaceChildren(...verdicts);
  at("outcomes").replaceChildren(...outcomes);
}

/** Says of an answer that it is not about what there is now, or not about what was asked last. */
function outdate(why = EARLIER_TEXTS) {
  const answer = at("answer");
  if (answer.childElementCount === 0 || answer.querySelector(".outdated")) return;
  answer.prepend(make("p", { class: "open outdated" }, why));
}

function changed() {
  outdate();
  clearTimeout(pause);
  pause = setTimeout(judge, PAUSE);
  settle();
}

function judge() {
  clearTimeout(pause);
  pause = undefined;
  // One's own model may be gone.
  models();
  ask("judge", { ask: "judge", ...program() }, "Computing", (answer, ms) => {
    if (!answer.outcomes) {
      judged();
      say("The program cannot be judged: see the problems.");
      return;
    }
    judged(show.verdicts(answer, explain), show.outcomes(answer.outcomes, "", explain));
    named = answer.models[0] ?? "";
    models();
    const wrong = answer.verdicts.filter((one) => one.holds === false).length;
    const open = answer.verdicts.filter((one) => one.holds === null).length;
    const some = (count, one, several) => (count === 1 ? `1 verdict ${one}` : `${count} verdicts ${several}`);
    const verdict = wrong ? some(wrong, "does not hold", "do not hold") : open ? some(open, "is not decided", "are not decided") : "all verdicts hold";
    say(`${answer.name} under ${answer.model}: ${answer.verdicts.length ? verdict : "no verdicts"} (${ms} ms)`);
  });
}

/** Shows an answer; if there is none, the one before it stays, and says that it is older. */
function answered(parts) {
  if (!parts) return outdate(EARLIER_QUESTION);
  at("answer").replaceChildren(...parts);
  at("answer").focus({ preventScroll: true });
  at("answer").scrollIntoView({ block: "nearest" });
}

function explain(outcome) {
  if (!outcome.trim()) {
    say("Write the outcome to explain: a = 1 and b = 0.");
    return at("outcome").focus();
  }
  at("outcome").value = outcome;
  ask("question", { ask: "explain", outcome, ...program() }, "Explaining", (answer) => {
    say(answer.text ? "Explained." : "This cannot be explained: see the problems.");
    answered(answer.text && show.explanation(answer));
  });
}

function compare() {
  ask("question", { ask: "compare", with: at("with").value, ...program() }, "Comparing", (answer) => {
    say(answer.only ? "Compared." : "This cannot be compared: see the problems.");
    answered(answer.only && show.comparison(answer));
  });
}

function repair() {
  ask("question", { ask: "repair", ...program() }, "Looking for repairs", (answer) => {
    say(answer.repairs ? "Done." : "This cannot be repaired: see the problems.");
    answered(answer.repairs && show.repairs(answer, (text) => (files.program = text)));
  });
}

let shipped = { models: [], libraries: [] };
/** The model that the program names first. */
let named = "";

/** Lists the models to choose from. */
function models() {
  const own = files.own.map(([name]) => name).filter((name) => name.endsWith(".cat")).map((name) => name.slice(0, -4));
  const all = [...new Set([...own, ...shipped.models.map((model) => model.name)])];
  const title = (name) => {
    const text = shipped.models.find((model) => model.name === name)?.title;
    return own.includes(name) ? `${name} (yours)` : text ? `${name}: ${text}` : name;
  };
  options(at("model"), [["", `of the program: ${named}`], ...all.map((name) => [name, title(name)])], at("model").value);
  options(at("with"), all.map((name) => [name]), at("with").value || "sc");
}

async function open() {
  const [found, link] = await Promise.all([unpacked(EXAMPLES), linked()]);
  examples = JSON.parse(new TextDecoder().decode(found));
  at("examples").replaceChildren(...examples.map(({ path, title }) => new Option(title, path)));
  files.restore(link ?? { program: examples.find((one) => one.path === FIRST)?.text ?? "", own: [] });
  shipped = await engine.ask("shipped", { ask: "shipped" });
  document.head.append(make("style", {}, shipped.style));
  const texts = [...shipped.models.map(({ name }) => `${name}.cat`), ...shipped.libraries.map((name) => `${name}.lib`)];
  options(at("shipped"), texts.map((name) => [name]), "rdma-tso-rmw.cat");
  models();
  if (link?.model) at("model").value = link.model;
  judge();
}

/** What a link holds, if it is what `share` wrote. */
function state({ program, own, model }) {
  const areTexts = (texts) => texts.every((text) => typeof text === "string");
  const isFile = (one) => one.length === 2 && areTexts(one) && /\.(?:cat|lib)$/.test(one[0]);
  if (!areTexts([program, model]) || !own.every(isFile)) throw new TypeError("no state of the page");
  return { program, own, model };
}

async function linked() {
  const part = location.hash.slice(1);
  if (!part) return undefined;
  try {
    return state(JSON.parse(await fromLink(part)));
  } catch {
    say("This link is damaged.");
    return undefined;
  }
}

/** The link that was made here last, which shows what is there already. */
let written = "";

async function share() {
  written = await toLink(JSON.stringify({ program: files.program, own: files.own, model: at("model").value }));
  location.hash = written;
  try {
    await navigator.clipboard.writeText(location.href);
    say("The address has the program now, and is copied.");
  } catch {
    say("The address has the program now.");
  }
}

const example = () => examples.find((one) => one.path === at("example").value);
at("example").addEventListener("input", () => {
  const chosen = example();
  if (!chosen) return;
  at("model").value = "";
  files.program = chosen.text;
});
at("example").addEventListener("change", () => {
  const wanted = at("example").value;
  if (wanted && !example()) say(`No example is called ${wanted}: choose one of the list.`);
});
at("model").addEventListener("change", () => {
  outdate();
  judge();
});
at("share").addEventListener("click", share);
at("stop").addEventListener("click", () => engine.stop());
at("explain").addEventListener("click", () => explain(at("outcome").value));
at("outcome").addEventListener("keydown", (event) => event.key === "Enter" && explain(at("outcome").value));
at("compare").addEventListener("click", compare);
at("repair").addEventListener("click", repair);
at("format").addEventListener("click", () => {
  ask("question", { ask: "format", ...program() }, "Formatting", (answer) => {
    if (answer.text) files.program = answer.text;
    say(answer.text ? "Formatted." : "This cannot be formatted: see the problems.");
  });
});
at("edit").addEventListener("click", () => {
  const file = at("shipped").value;
  // In the place of a judgement under way: the program is judged anew with the copy.
  ask("judge", { ask: "text", file }, "Copying", ({ text }) => {
    files.add(`my-${file}`, text);
    models();
    if (file.endsWith(".cat")) at("model").value = `my-${file.slice(0, -4)}`;
    judge();
  });
});
window.addEventListener("hashchange", async () => {
  if (location.hash.slice(1) === written) return;
  written = "";
  const link = await linked();
  if (!link) return;
  files.restore(link);
  models();
  at("model").value = link.model;
  judge();
});

open();
