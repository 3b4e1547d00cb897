// The program, and beside it models and libraries of one's own, each in an editor behind a tab.
import { Editor } from "./editor.js";
import { make } from "./dom.js";

/** What the engine calls the program in its diagnostics. */
const PROGRAM = "program";

export class Files {
  #tabs;
  #beside;
  #changed;
  #program;
  #own = new Map();

  constructor(program, tabs, beside, changed) {
    this.#tabs = tabs;
    this.#beside = beside;
    this.#changed = changed;
    this.#program = new Editor(program, "program.litmus", "The program", changed);
    this.#tabs.addEventListener("keydown", (event) => this.#byKey(event));
  }

  get program() {
    return this.#program.text;
  }

  set program(text) {
    this.#program.text = text;
  }

  /** Names and texts of the models and libraries. */
  get own() {
    return [...this.#own].map(([name, { editor }]) => [name, editor.text]);
  }

  /** Adds a model or library, or shows it if it is there. */
  add(name, text) {
    if (!this.#own.has(name)) {
      this.#open(name);
      this.#own.get(name).editor.text = text;
    }
    this.#select(name);
  }

  /** All that a link holds. */
  restore({ program, own }) {
    for (const name of [...this.#own.keys()]) this.#remove(name);
    for (const [name, text] of own) this.add(String(name), String(text));
    this.program = String(program);
  }

  /** Shows what is wrong, each in its file. */
  diagnose(diagnostics) {
    const of = (file) => diagnostics.filter((one) => one.file === file);
    this.#program.diagnose(of(PROGRAM));
    for (const [name, { editor, tab }] of this.#own) {
      editor.diagnose(of(name));
      tab.classList.toggle("error", of(name).some((one) => one.severity === "error"));
    }
  }

  /** Goes to a place in a file. */
  goTo(file, place) {
    if (file === PROGRAM) return this.#program.goTo(place);
    if (!this.#own.has(file)) return undefined;
    this.#select(file);
    return this.#own.get(file).editor.goTo(place);
  }

  #open(name) {
    const id = `file-${name.replaceAll(/\W/g, "-")}`;
    const select = () => this.#select(name);
    const tab = make("button", { type: "button", role: "tab", id: `${id}-tab`, "aria-controls": id, onclick: select }, name);
    const panel = make("div", { role: "tabpanel", id, "aria-labelledby": `${id}-tab` });
    this.#tabs.append(tab);
    this.#beside.append(panel);
    this.#own.set(name, { tab, panel, editor: new Editor(panel, name, name, this.#changed) });
    const remove = () => {
      this.#remove(name);
      this.#changed();
    };
    panel.append(make("button", { type: "button", onclick: remove }, `Remove ${name}`));
  }

  #remove(name) {
    const { tab, panel } = this.#own.get(name);
    tab.remove();
    panel.remove();
    this.#own.delete(name);
    this.#select([...this.#own.keys()].at(-1));
  }

  #select(chosen) {
    this.#tabs.hidden = this.#own.size === 0;
    for (const [name, { tab, panel }] of this.#own) {
      const isChosen = name === chosen;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      panel.hidden = !isChosen;
    }
  }

  #byKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const names = [...this.#own.keys()];
    const now = names.findIndex((name) => this.#own.get(name).tab === document.activeElement);
    if (!step || now < 0) return;
    const next = names[(now + step + names.length) % names.length];
    this.#select(next);
    this.#own.get(next).tab.focus();
  }
}
