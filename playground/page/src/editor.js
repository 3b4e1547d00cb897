// An editor with highlighting, and diagnostics at their places.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { language } from "./language.js";

const colors = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
    { tag: tags.typeName, color: "var(--call)" },
    { tag: tags.operator, color: "var(--operator)" },
    { tag: tags.number, color: "var(--number)" },
    { tag: tags.string, color: "var(--string)" },
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: tags.meta, color: "var(--soft)" },
  ]),
);

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--ink)", fontSize: "14px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--active)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-tooltip": { backgroundColor: "var(--page)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

export class Editor {
  #view;
  #changed;

  /** An editor of a file in an element; `changed` is called after each change that a person makes. */
  constructor(parent, file, label, changed) {
    this.#changed = changed;
    this.#view = new EditorView({ parent, state: this.#state(file, label, "") });
    this.file = file;
    this.label = label;
  }

  #state(file, label, text) {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        lintGutter(),
        // Escape, then Tab, leaves the editor.
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        language(file),
        colors,
        theme,
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "leaving", spellcheck: "false", tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && this.#changed()),
      ],
    });
  }

  get text() {
    const text = this.#view.state.doc.toString();
    // Half a character is none that the engines could read.
    return text.toWellFormed?.() ?? text;
  }

  set text(text) {
    this.#view.setState(this.#state(this.file, this.label, text));
    this.#changed();
  }

  /** Shows what is wrong; places are in UTF-16 units. */
  diagnose(diagnostics) {
    const length = this.#view.state.doc.length;
    const shown = diagnostics.map((one) => ({
      from: Math.min(one.from, length),
      to: Math.min(Math.max(one.to, one.from), length),
      severity: one.severity,
      message: [one.message, one.label, one.help && `help: ${one.help}`, `(${one.code})`].filter(Boolean).join("\n"),
    }));
    this.#view.dispatch(setDiagnostics(this.#view.state, shown));
  }

  /** Puts the cursor at a place, and the editor in focus. */
  goTo(place) {
    const anchor = Math.min(place, this.#view.state.doc.length);
    this.#view.dispatch({ selection: { anchor }, scrollIntoView: true });
    this.#view.focus();
  }
}
