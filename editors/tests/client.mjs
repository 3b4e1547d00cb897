// A session of a real client with `litmus lsp`: every file of files/ is opened as editors do. Each has one
// problem; applying its quick fix must give a file with which the server, and `litmus check`, find nothing wrong.
// Files of several/ have several problems. Fix after fix, none may be left; then a name gets another one.
//
// Arguments: the program litmus, and the folder for scratch files.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import protocol from "vscode-languageserver-protocol/node";

const [litmus, scratch] = process.argv.slice(2);
const folder = join(dirname(fileURLToPath(import.meta.url)), "files");

const server = spawn(litmus, ["lsp", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => server.on("exit", resolve));
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);
const waiting = new Map();
connection.onNotification(protocol.PublishDiagnosticsNotification.type, (told) => {
  const key = `${told.uri} ${told.version}`;
  waiting.get(key)?.(told.diagnostics);
});
connection.listen();

/** The problems of a version of a text, once they are told. */
function problems(uri, version) {
  return new Promise((resolve) => waiting.set(`${uri} ${version}`, resolve));
}

/** A text after edits, whose places count units of UTF-16, as strings do here. */
function applied(text, edits) {
  const lines = text.split("\n");
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  const offset = (at) => starts[at.line] + at.character;
  const sorted = [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start));
  for (const { range, newText } of sorted) {
    text = text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end));
  }
  return text;
}

const answer = await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: { workspace: { inlayHint: { refreshSupport: true } } },
  initializationOptions: { showsResults: true },
});
assert.equal(answer.capabilities.positionEncoding, "utf-16");
await connection.sendNotification(protocol.InitializedNotification.type, {});

const names = readdirSync(folder).sort();
assert.ok(names.length >= 20);
mkdirSync(scratch, { recursive: true });
let fixes = 0;
for (const name of names) {
  const text = readFileSync(join(folder, name), "utf8");
  const uri = pathToFileURL(join(scratch, name)).href;
  let told = problems(uri, 1);
  const document = { uri, languageId: "litmus", version: 1, text };
  connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
    textDocument: document,
  });
  const found = await told;
  assert.equal(found.length, 1, `${name}: ${JSON.stringify(found)}`);
  const [problem] = found;
  assert.equal(problem.source, "litmus");
  assert.match(problem.code, /^[a-z]+(-[a-z]+)*$/);
  const symbols = await connection.sendRequest(protocol.DocumentSymbolRequest.type, {
    textDocument: { uri },
  });
  assert.ok(Array.isArray(symbols), name);
  const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
    textDocument: { uri },
    range: problem.range,
    context: { diagnostics: found },
  });
  for (const action of actions) {
    assert.equal(action.kind, "quickfix");
    const fixed = applied(text, action.edit.changes[uri]);
    told = problems(uri, 2);
    connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version: 2 },
      contentChanges: [{ text: fixed }],
    });
    assert.deepEqual(await told, [], `${name}: ${action.title}\n${fixed}`);
    writeFileSync(join(scratch, name), fixed);
    const checked = spawnSync(litmus, ["check", "--deny-warnings", join(scratch, name)]);
    assert.equal(checked.status, 0, `${name}: ${checked.stderr}`);
    fixes += 1;
  }
}
assert.ok(fixes >= 20, `${fixes} fixes`);

const whole = { start: { line: 0, character: 0 }, end: { line: 9999, character: 0 } };
const severalFolder = join(dirname(fileURLToPath(import.meta.url)), "several");
const several = readdirSync(severalFolder).sort();
assert.ok(several.length >= 20);
let mended = 0;
for (const name of several) {
  let text = readFileSync(join(severalFolder, name), "utf8");
  const uri = pathToFileURL(join(scratch, name)).href;
  let version = 1;
  let told = problems(uri, version);
  connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "litmus", version, text },
  });
  const change = async (edits) => {
    text = applied(text, edits);
    version += 1;
    told = problems(uri, version);
    connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges: [{ text }],
    });
    return told;
  };
  for (let left = await told; left.length > 0; mended += 1) {
    const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
      textDocument: { uri },
      range: whole,
      context: { diagnostics: left },
    });
    assert.ok(actions.length > 0, `${name}: no fix of ${JSON.stringify(left)}\n${text}`);
    left = await change(actions[0].edit.changes[uri]);
    assert.ok(version < 9, `${name}: fixes without end\n${text}`);
  }
  assert.ok(version > 2, `${name}: one problem only`);
  // A name that each kind of file has.
  const at = /\b(other|whole)\b/.exec(text).index;
  const before = text.slice(0, at).split("\n");
  const asked = {
    textDocument: { uri },
    position: { line: before.length - 1, character: before.at(-1).length },
  };
  await assert.rejects(
    connection.sendRequest(protocol.RenameRequest.type, { ...asked, newName: "a b" }),
    /expected one name/,
  );
  const renamed = await connection.sendRequest(protocol.RenameRequest.type, {
    ...asked,
    newName: "renamed",
  });
  assert.deepEqual(await change(renamed.changes[uri]), [], `${name}:\n${text}`);
  assert.doesNotMatch(text, /\b(other|whole)\b/);
  writeFileSync(join(scratch, name), text);
  const checked = spawnSync(litmus, ["check", "--deny-warnings", join(scratch, name)]);
  assert.equal(checked.status, 0, `${name}: ${checked.stderr}`);
}

// What is canceled has no answer.
const source = new protocol.CancellationTokenSource();
const uri = pathToFileURL(join(scratch, names.find((name) => name.endsWith(".litmus")))).href;
const canceled = connection.sendRequest(
  protocol.ExecuteCommandRequest.type,
  { command: "litmus.run", arguments: [uri] },
  source.token,
);
source.cancel();
await assert.rejects(canceled, { code: protocol.LSPErrorCodes.RequestCancelled });

await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
assert.equal(await ended, 0);
console.log(`${names.length} files, ${fixes} quick fixes: each gives a file that checks`);
console.log(`${several.length} files of several problems, ${mended} quick fixes: none is left`);
