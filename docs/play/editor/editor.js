// The playground's editor: CodeMirror with TOML's colours, completion, and errors under their lines.
// Bundled by scripts/editor_bundle.py into docs/play/editor.min.js.gz.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  WidgetType,
  drawSelection,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

class Message extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }
  eq(other) {
    return other.text === this.text;
  }
  toDOM() {
    const line = document.createElement("div");
    line.className = "error-line";
    line.textContent = this.text;
    return line;
  }
}

const setErrors = StateEffect.define();
const errorLines = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    shown = shown.map(transaction.changes);
    for (const effect of transaction.effects)
      if (effect.is(setErrors)) shown = decorated(transaction.state.doc, effect.value);
    return shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorated(doc, errors) {
  const found = errors.flatMap(({ line, message }) => {
    const { from, to } = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
    return [
      Decoration.line({ class: "wrong" }).range(from),
      Decoration.widget({ widget: new Message(message), block: true, side: 1 }).range(to),
    ];
  });
  return Decoration.set(found, true);
}

// Colours are the page's.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.atom], color: "var(--code-key)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.bool], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--muted)" },
]);

// `complete(textBefore)` gives { from: characters before the cursor, options } or null.
export function editor(parent, { text, changed, complete }) {
  const source = (context) => {
    const found = complete(context.state.sliceDoc(0, context.pos), context.explicit);
    return found && { from: context.pos - found.back, options: found.options, validFor: /^[\w.-]*$/ };
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        EditorView.lineWrapping,
        history(),
        drawSelection(),
        highlightSpecialChars(),
        errorLines,
        StreamLanguage.define(toml),
        syntaxHighlighting(colours),
        autocompletion({ override: [source] }),
        // Tab leaves the editor, for those who have no mouse.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML" }),
        EditorView.updateListener.of((update) => update.docChanged && changed()),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0;
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    set errors(found) {
      view.dispatch({ effects: setErrors.of(found) });
    },
    focus: (line) => {
      const at = view.state.doc.line(Math.min(line, view.state.doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
  };
}
