// Documents that the pages write for the server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "./json.ts";
import { document, lineErrors, yaml } from "./yaml.ts";

test("values are written so that they are read as they are", () => {
  assert.equal(yaml({ a: "x", b: "yes", c: "1", d: 1, e: true, f: "a: b", g: "", "h i": "# no" }),
    'a: x\nb: "yes"\nc: "1"\nd: 1\ne: true\nf: "a: b"\ng: ""\n"h i": "# no"\n');
  assert.equal(yaml({ big: parse("12345678901234567890") }), "big: 12345678901234567890\n");
  assert.equal(yaml({ tools: ["calculator__*", "mesh__uuid"], none: [], map: {} }), 'tools: ["calculator__*", mesh__uuid]\nnone: []\nmap: {}\n');
});

test("lines keep their breaks", () => {
  assert.equal(yaml({ a: "one\ntwo\n", b: 1 }), "a: |\n  one\n  two\nb: 1\n");
  assert.equal(yaml({ a: "one\n\n two" }), "a: |-\n  one\n\n   two\n");
  assert.equal(yaml({ a: " one\ntwo" }), 'a: " one\\ntwo"\n');
  assert.equal(yaml({ a: "one \ntwo" }), 'a: "one \\ntwo"\n');
});

test("things within things", () => {
  assert.equal(yaml({ limits: { max_steps: 3 }, approvals: [{ name: "x", tools: ["a"], deep: { b: 1 } }, { name: "z" }] }),
    "limits:\n  max_steps: 3\napprovals:\n- name: x\n  tools: [a]\n  deep:\n    b: 1\n- name: z\n");
});

test("a document has only what is set", () => {
  assert.equal(document("agent", { id: "a", display_name: "a", model: "", tools: ["t"], limits: null, revision: 3, labels: {}, create_time: "x" }), "kind: agent\nid: a\ntools: [t]\n");
});

test("errors name lines", () => {
  assert.deepEqual(lineErrors([{ field: "document 1 (agent x), line 3: modell", message: "is no field" }], ""), [{ line: 3, text: "modell is no field" }]);
  assert.deepEqual(lineErrors([], "document 1, line 2: wrong"), [{ line: 2, text: "wrong" }]);
  assert.deepEqual(lineErrors([], "no lines here"), [{ line: 0, text: "no lines here" }]);
});
