// Answers as tables, pictures and texts.
import { make } from "./dom.js";

const SIGNS = { true: ["✓", "good"], false: ["✗", "bad"], null: ["?", "open"] };

/** A table with a caption. */
function table(caption, head, rows) {
  return make("div", { class: "scroll" }, make("table", {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))))));
}

/** What the verdicts come to; `explain` is called with the condition of one. */
export function verdicts(answer, explain) {
  if (answer.verdicts.length === 0) return [make("p", {}, `No verdict is about ${answer.model}.`)];
  const rows = answer.verdicts.map((one) => {
    const [sign, look] = SIGNS[one.holds];
    const why = one.explain && make("button", { type: "button", onclick: () => explain(one.explain) }, "Why?");
    return [make("span", { class: look }, `${sign} ${one.answer ?? one.found}`), one.expected, one.condition, why ?? ""];
  });
  return [table(`Verdicts under ${answer.model}`, ["found", "claimed", "condition", "explain"], rows)];
}

/** Outcomes; `explain` is called with the condition of one. */
export function outcomes(found, caption, explain) {
  const more = found.complete ? "" : " or more";
  const count = `${found.count} ${found.count === 1 && found.complete ? "outcome" : "outcomes"}${more}`;
  const rows = found.rows.map((row) => {
    const condition = row.map((value, index) => `${found.names[index]} = ${value}`).join(" and ");
    const label = `Why? ${condition}`;
    const why = explain && found.names.length > 0
      && make("button", { type: "button", "aria-label": label, onclick: () => explain(condition) }, "Why?");
    return why ? [...row, why] : row;
  });
  const head = explain && found.names.length > 0 ? [...found.names, "explain"] : found.names;
  const parts = [table(`${caption}${count}`, head, rows)];
  if (found.count > found.rows.length) parts.push(make("p", {}, `The first ${found.rows.length} are shown.`));
  if (!found.complete && found.reason) parts.push(make("p", { class: "open" }, `There may be others: ${found.reason}.`));
  return parts;
}

/** Why an outcome is allowed or forbidden. */
export function explanation(answer) {
  const parts = [make("h2", {}, `${answer.outcome}: ${answer.verdict} under ${answer.model}`)];
  if (answer.picture) {
    const picture = make("div", { class: "picture", role: "img", "aria-label": "the execution, described below", tabindex: "0" });
    // Drawn by the engine, which escapes what stands in programs.
    picture.innerHTML = answer.picture;
    parts.push(picture);
  }
  parts.push(make("pre", {}, answer.text.trim()));
  return parts;
}

/** The outcomes that only one of two models allows. */
export function comparison(answer) {
  const [first, second] = answer.models;
  const same = answer.only.every((only) => only.count === 0);
  if (same) {
    const words = answer.complete ? "The same outcomes" : "No difference found; outcomes are not complete";
    return [make("h2", {}, `${words} under ${first} and ${second}`)];
  }
  const parts = [make("h2", {}, `${first} and ${second} differ`)];
  answer.only.forEach((only, index) => {
    if (only.count > 0) parts.push(...outcomes({ ...only, complete: true }, `Only under ${answer.models[index]}: `));
    if (only.count > 0 && !only.complete) {
      parts.push(make("p", { class: "open" }, `Not all outcomes under ${answer.models[1 - index]} are known.`));
    }
  });
  return parts;
}

function diff(text) {
  const look = (line) => (line.startsWith("+") ? "add" : line.startsWith("-") ? "gone" : undefined);
  const lines = text.split("\n").filter((line) => !/^(---|\+\+\+)( |$)/.test(line));
  return make("pre", { class: "diff" }, ...lines.map((line) => make("span", { class: look(line) }, `${line}\n`)));
}

/** Repairs; `use` is called with the text of one. */
export function repairs(answer, use) {
  if (answer.right) return [make("h2", {}, "Nothing to repair: all verdicts hold")];
  const parts = [];
  for (const claim of answer.hopeless) parts.push(make("p", { class: "bad" }, `No synchronization allows ${claim}.`));
  const count = answer.repairs.length;
  const heading = count === 0 ? "No repair found" : `${count} ${count === 1 ? "repair" : "repairs"}, the cheapest first`;
  parts.push(make("h2", {}, `${heading} (at most ${answer.size} changes)`));
  for (const why of answer.open) parts.push(make("p", { class: "open" }, `Not decided: ${why}.`));
  answer.repairs.forEach((repair, index) => {
    parts.push(
      make("h2", {}, `${index + 1}. ${repair.changes.join("; ")} — cost ${repair.cost}`),
      diff(repair.diff),
      make("pre", {}, repair.why.trim()),
      make("button", { type: "button", onclick: () => use(repair.text) }, "Use this program"),
    );
  });
  return parts;
}
