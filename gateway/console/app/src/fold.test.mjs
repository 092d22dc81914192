// Tests of what the pages make of events, without a browser. scripts/console.sh runs them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, emptyView } from "./fold";
import { indented, parse, pretty } from "./json";

const numbers = ["9007199254740993", "-9007199254740993", "18446744073709551615", "123456789012345678901234567890", "1.10", "0.1234567890123456789",
  "1e400", "1E5", "-0", "0", "7", "1.5"];

/** fold is the view of events as they come from the server. */
function fold(...events) {
  const view = emptyView();
  events.forEach(([type, data], i) => apply(view, parse(
    `{"seq":${i + 1},"type":"${type}","time":"2026-11-27T10:00:00Z","session_id":"ses_1","turn_id":"trn_1","step":"tool-1.0","data":${data}}`)));
  return view.turns.get("trn_1");
}

test("numbers are shown as they are written", () => {
  for (const n of numbers) {
    assert.equal(indented(n), n);
    const object = `{\n  "a": [\n    ${n}\n  ],\n  "b": "${n}"\n}`;
    assert.equal(indented(`{"a":[${n}],"b":"${n}"}`), object);
    assert.equal(pretty(parse(`{"a":[${n}],"b":"${n}"}`)), object);
    assert.equal(`${parse(n)}`, n);
  }
});

test("texts stay what they are", () => {
  for (const text of ['"', "\\", '\\"', '1.10,"x":1.10', '{"exact":"7"}', "é\n\u2028", '":9007199254740993']) {
    assert.deepEqual(parse(JSON.stringify({ text, [text]: [text] })), { text, [text]: [text] });
    assert.equal(indented(JSON.stringify(text)), JSON.stringify(text));
  }
  const long = "x1.10 \\".repeat(1_000_000);
  assert.equal(parse(JSON.stringify(long)), long);
  assert.throws(() => parse('{"a":'), SyntaxError);
});

test("an approver sees the arguments that are sent, the call and its result too", () => {
  for (const n of numbers) {
    const turn = fold(
      ["tool_call.started", `{"call_id":"c1","tool":"s__get","arguments":{"id":${n}}}`],
      ["approval.requested", `{"approval_id":"apr_1","call_id":"c1","tool":"s__get","arguments":{"id":${n}}}`],
      ["approval.requested", `{"approval_id":"apr_2","call_id":"c1","tool":"s__get","arguments_json":${JSON.stringify(`{"id":${n}}`)}}`],
      ["tool_call.completed", `{"result":{"call_id":"c1","tool":"s__get","structured_content":{"id":${n}}},"latency_ms":1.25}`],
    );
    const shown = `{\n  "id": ${n}\n}`;
    const [call, ...asks] = turn.items;
    assert.deepEqual([call.args, call.result, ...asks.map((a) => a.args)], [shown, shown, shown, shown]);
    assert.equal(call.millis, 1.25);
  }
});

test("a call without arguments shows none", () => {
  const turn = fold(["tool_call.started", '{"call_id":"c1","tool":"s__get"}'],
    ["approval.requested", '{"approval_id":"apr_1","call_id":"c1","tool":"s__get"}']);
  assert.deepEqual(turn.items.map((i) => [i.kind, i.args]), [["tool", ""], ["ask", ""]]);
});

test("limits are named", () => {
  const turn = fold(["budget.warning", '{"use":{"scope":"turn","what":"tool_calls"}}'], ["budget.exhausted", '{"use":{"scope":"tenant","what":"cost"}}']);
  assert.deepEqual(turn.items.map((i) => i.text), ["The limit of tool calls of the turn is nearly used up.", "The limit of cost of the tenant is used up."]);
});
