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

const engine = new Engine();
const files = new Files(at("program"), at("tabs"), at("beside"), changed);
let examples = [];
let pause;

function say(text, isBusy = false) {
  at("status").textContent = text;
  at("status").className = isBusy ? "busy" : "";
  at("stop").disabled = !engine.isBusy;
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
  if (answer.stopped) {
    say(`Stopped: ${answer.stopped}.`);
    return;
  }
  files.diagnose(answer.diagnostics ?? []);
  problems(answer.diagnostics ?? []);
  then(answer, Math.round(performance.now() - start));
}

function problems(diagnostics) {
  at("diagnostics").replaceChildren(...diagnostics.map((one) => {
    const text = `${one.file}, line ${one.line}: ${one.message}${one.help ? `\nhelp: ${one.help}` : ""}`;
    const go = () => files.goTo(one.file, one.from);
    return make("li", {}, make("button", { type: "button", class: one.severity, onclick: go }, text));
  }));
}

function changed() {
  clearTimeout(pause);
  pause = setTimeout(judge, PAUSE);
}

function judge() {
  // One's own model may be gone.
  models();
  ask("judge", { ask: "judge", ...program() }, "Computing", (answer, ms) => {
    if (!answer.outcomes) {
      at("results").classList.add("stale");
      at("verdicts").replaceChildren();
      at("outcomes").replaceChildren();
      say("The program cannot be judged: see the problems.");
      return;
    }
    at("verdicts").replaceChildren(...show.verdicts(answer, explain));
    at("outcomes").replaceChildren(...show.outcomes(answer.outcomes, "", explain));
    named = answer.models[0] ?? "";
    models();
    const wrong = answer.verdicts.filter((one) => one.holds === false).length;
    const open = answer.verdicts.filter((one) => one.holds === null).length;
    const verdict = wrong ? `${wrong} verdicts do not hold` : open ? `${open} verdicts not decided` : "all verdicts hold";
    say(`${answer.name} under ${answer.model}: ${answer.verdicts.length ? verdict : "no verdicts"} (${ms} ms)`);
  });
}

function answered(...parts) {
  at("answer").replaceChildren(...parts);
  at("answer").focus({ preventScroll: true });
  at("answer").scrollIntoView({ block: "nearest" });
}

function explain(outcome) {
  at("outcome").value = outcome;
  ask("question", { ask: "explain", outcome, ...program() }, "Explaining", (answer) => {
    say(answer.text ? "Explained." : "This cannot be explained: see the problems.");
    if (answer.text) answered(...show.explanation(answer));
  });
}

function compare() {
  ask("question", { ask: "compare", with: at("with").value, ...program() }, "Comparing", (answer) => {
    say(answer.only ? "Compared." : "This cannot be compared: see the problems.");
    if (answer.only) answered(...show.comparison(answer));
  });
}

function repair() {
  ask("question", { ask: "repair", ...program() }, "Looking for repairs", (answer) => {
    say(answer.repairs ? "Done." : "This cannot be repaired: see the problems.");
    if (answer.repairs) answered(...show.repairs(answer, (text) => (files.program = text)));
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

async function linked() {
  const part = location.hash.slice(1);
  if (!part) return undefined;
  try {
    return JSON.parse(await fromLink(part));
  } catch {
    say("This link is damaged.");
    return undefined;
  }
}

async function share() {
  const state = { program: files.program, own: files.own, model: at("model").value };
  location.hash = await toLink(JSON.stringify(state));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The address has the program now, and is copied.");
  } catch {
    say("The address has the program now.");
  }
}

at("example").addEventListener("input", () => {
  const chosen = examples.find((one) => one.path === at("example").value);
  if (!chosen) return;
  at("model").value = "";
  files.program = chosen.text;
});
at("model").addEventListener("change", judge);
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
at("edit").addEventListener("click", async () => {
  const file = at("shipped").value;
  const { text } = await engine.ask("text", { ask: "text", file });
  files.add(`my-${file}`, text);
  models();
  if (file.endsWith(".cat")) at("model").value = `my-${file.slice(0, -4)}`;
  judge();
});
window.addEventListener("hashchange", async () => {
  const link = await linked();
  if (!link || link.program === files.program) return;
  files.restore(link);
  models();
  at("model").value = link.model ?? "";
  judge();
});

open();
