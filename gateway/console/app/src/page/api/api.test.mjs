// Tests of what page API makes of the OpenAPI document, without a browser. scripts/console.sh runs them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../../json";
import { choices, found, group, inlined, inner, operations, resolved, typeName } from "./document";
import { built, readEvents, snippet } from "./request";

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
const doc = {
  info: { title: "API", version: "v1" }, tags: [{ name: "TurnService" }, { name: "ToolGroupService" }],
  paths: {
    "/v1/turns/{turn_id}/inputs": {
      post: {
        operationId: "steer", summary: "Adds input", tags: ["TurnService"], security: [{ bearer: ["turns.steer"] }, {}],
        parameters: [
          { name: "turn_id", in: "path", required: true, schema: { type: "string" } },
          { name: "label", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "Idempotency-Key", in: "header", schema: { type: "string" } },
        ],
        requestBody: { content: { "application/json": { schema: ref("Input"), example: { text: "x" } } } },
        responses: { 200: { content: { "text/event-stream": {} } }, 202: { content: { "application/json": {} } }, default: { $ref: "#/components/responses/Problem" } },
      },
    },
    "/v1/groups": { get: { operationId: "listGroups", summary: "Lists groups", tags: ["ToolGroupService"], responses: { 200: {} } } },
  },
  components: {
    responses: { Problem: { description: "A problem." } },
    schemas: {
      Input: { type: "object", properties: { text: { type: "string" }, parent: { anyOf: [ref("Input"), { type: "null" }], description: "Above." }, kind: ref("Kind"), made: { type: "string", readOnly: true }, parts: { type: "array", items: ref("Part") }, labels: { type: "object", additionalProperties: { type: "string" } } } },
      Kind: { type: "string", enum: ["a", "b"] },
      Part: { type: "object", properties: { blob: { type: "string", format: "byte" } } },
    },
  },
};
const all = operations(doc), [steer, list] = all, input = doc.components.schemas.Input;

test("operations are in the order of their tags, with permissions and what they answer", () => {
  assert.deepEqual(all.map((o) => o.id), ["steer", "listGroups"]);
  assert.deepEqual(steer.permissions, ["turns.steer"]);
  assert.deepEqual(steer.accepts, ["text/event-stream", "application/json"]);
  assert.deepEqual(steer.responses.at(-1), ["default", { description: "A problem." }]);
  assert.equal(group("ToolGroupService"), "Tool group");
});

test("all words are found in method, path and summary", () => {
  const ids = (text) => found(all, text).map((o) => o.id);
  assert.deepEqual(ids("POST turns"), ["steer"]);
  assert.deepEqual(ids("lists"), ["listGroups"]);
  assert.deepEqual(ids("lists turns"), []);
  assert.deepEqual(ids(" "), ["steer", "listGroups"]);
});

test("references are followed, also those to themselves", () => {
  assert.equal(resolved(doc, input.properties.parent).description, "Above.");
  const form = inlined(doc, ref("Input"));
  assert.deepEqual(form.properties.kind.enum, ["a", "b"]);
  assert.equal(form.properties.made, undefined);
  assert.deepEqual(form.properties.parent.properties.parent.properties.parent, { description: "Above." });
});

test("types have names", () => {
  const names = Object.entries(input.properties).map(([k, s]) => `${k} ${typeName(doc, s)}`);
  assert.deepEqual(names, ["text string", "parent Input", "kind enum", "made string", "parts list of Part", "labels map of string"]);
  assert.deepEqual(choices(doc, input.properties.kind), ["a", "b"]);
  assert.deepEqual(Object.keys(inner(doc, input.properties.parts).properties), ["blob"]);
  assert.equal(inner(doc, input.properties.labels), null);
});

test("a request has what is typed, and says what is missing", () => {
  const body = { media: "application/json", value: parse(`{"n":9007199254740993}`) };
  const values = { "path turn_id": "a/b", "query label": "x=1\ny", "header Idempotency-Key": "k" };
  const r = built(steer, values, body, "text/event-stream");
  assert.equal(r.path, "/v1/turns/a%2Fb/inputs?label=x%3D1&label=y");
  assert.deepEqual(r.headers, [["Idempotency-Key", "k"], ["Accept", "text/event-stream"], ["Content-Type", "application/json"]]);
  assert.equal(r.body, `{\n  "n": 9007199254740993\n}`);
  assert.deepEqual(r.missing, []);
  const empty = built(steer, {}, null, "application/json");
  assert.deepEqual([empty.path, empty.missing], ["/v1/turns/TURN_ID/inputs", ["turn_id"]]);
});

test("requests are written in three languages", () => {
  const r = built(steer, { "path turn_id": "t" }, { media: "application/json", value: { text: "it's `so`" } }, "text/event-stream");
  assert.equal(snippet("curl", r, "http://h", false), `curl -N -X POST 'http://h/v1/turns/t/inputs' \\
  -H 'Accept: text/event-stream' \\
  -H 'Content-Type: application/json' \\
  -d '{"text": "it'\\''s \`so\`"}'`);
  const ts = snippet("TypeScript", r, "http://h", true);
  assert.match(ts, /method: "POST"/);
  assert.match(ts, /Bearer \$\{process\.env\.WINDLASS_TOKEN\}/);
  assert.match(ts, /TextDecoderStream/);
  assert.match(snippet("Go", r, "http://h", false), /strings\.NewReader\("\{\\n {2}\\"text\\"/);
  const get = built(list, {}, null, "application/json");
  assert.equal(snippet("curl", get, "http://h", false), "curl 'http://h/v1/groups'");
  assert.match(snippet("Go", get, "http://h", false), /"GET", "http:\/\/h\/v1\/groups", nil\)/);
});

test("a form has fields and files", () => {
  const form = built(steer, {}, { media: "multipart/form-data", value: { name: "n", labels: ["a", "b"] }, files: { file: new File(["x"], "f.txt") } }, "");
  assert.deepEqual(form.headers, []);
  const text = snippet("curl", form, "", false);
  for (const part of ["-F 'name=n'", "-F 'labels=a'", "-F 'labels=b'", "-F 'file=@f.txt'"]) assert.ok(text.includes(part), text);
});

test("events are read as they arrive", () => {
  const first = readEvents(`: hello\n\nid: 1\nevent: a\ndata: {"x":\ndata: 1}\n\nid: 2\nda`);
  assert.deepEqual(first, { events: [{ id: "1", type: "a", data: `{"x":\n1}` }], rest: "id: 2\nda" });
  assert.deepEqual(readEvents(first.rest + "ta: y\r\n\r\n"), { events: [{ id: "2", type: "message", data: "y" }], rest: "" });
});
