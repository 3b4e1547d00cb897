// The extension starts `litmus lsp` and shows what its commands come to. All else is the server's.
const { Uri, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["litmus", "litmus-model", "litmus-library"];
let client;

/** What the palette means by a command is the text that one looks at. */
function subject(given) {
  if (given.length > 0) return given;
  const editor = window.activeTextEditor;
  return editor ? [editor.document.uri.toString()] : [];
}

async function activate(context) {
  const results = window.createOutputChannel("Litmus results");
  context.subscriptions.push(results);
  const command = workspace.getConfiguration("litmus").get("path", "litmus");
  const options = {
    documentSelector: LANGUAGES.map((language) => ({ language })),
    initializationOptions: { showsResults: true },
    // Names of documents, as the server gets them.
    uriConverters: { code2Protocol: (uri) => uri.toString(), protocol2Code: (text) => Uri.parse(text) },
    middleware: {
      executeCommand: async (name, given, next) => {
        const done = await next(name, subject(given));
        if (done) {
          results.clear();
          results.appendLine(`$ ${done.command}`);
          results.append(done.output);
          results.show(true);
        }
        return done;
      },
    },
  };
  client = new LanguageClient("litmus", "Litmus", { command, args: ["lsp"] }, options);
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
