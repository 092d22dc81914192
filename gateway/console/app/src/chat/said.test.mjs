// Tests of what the chat makes of events and of what is written, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commands, message, offered, parsed } from "./command";
import { Growing } from "./grow";
import { callKey, leftOut, record, nothingSaid } from "./said";

const event = (seq, type, data) => ({ seq, type, time: "2026-11-27T10:00:00Z", session_id: "ses_1", turn_id: "trn_1", data });

test("a call with an unknown outcome asks until it is resolved or the turn ends", () => {
  for (const [end, verdict] of [[event(3, "tool_call.resolved", { approval_id: "apr_1", verdict: "done" }), "done"], [event(3, "turn.cancelled", {}), "over"]]) {
    const s = nothingSaid();
    record(s, event(1, "turn.queued", { input: [{ text: "x" }, { file: { file_id: "fil_1", name: "a.png" } }] }));
    record(s, event(2, "tool_call.unresolved", { call_id: "c1", tool: "shaky__crash", approval_id: "apr_1" }));
    const asked = s.unresolved.get(callKey("trn_1", "c1"));
    assert.deepEqual([asked.approval, asked.verdict], ["apr_1", ""]);
    record(s, end);
    assert.equal(asked.verdict, verdict);
    assert.deepEqual(s.files.get("trn_1").map((f) => f.name), ["a.png"]);
    assert.equal(s.lastSeq, 3);
  }
});

test("an outcome that the model reads asks nobody", () => {
  const s = nothingSaid();
  record(s, event(1, "tool_call.unresolved", { call_id: "c1", tool: "t", approval_id: "" }));
  assert.equal(s.unresolved.size, 0);
});

test("messages from elsewhere that were not read are counted: all of them have the number of the event", () => {
  const s = nothingSaid();
  record(s, event(1, "session.forked", { from_session: "", messages: 3 }));
  const copied = { seq: 1 }, own = { seq: 2 };
  assert.equal(leftOut(s.forked, [copied, copied]), true);
  assert.equal(leftOut(s.forked, [copied, copied, copied, own]), false);
});

test("each mark has one citation", () => {
  const s = nothingSaid();
  const citations = [2, 1, 2].map((number) => ({ number, document_id: `doc_${number}` }));
  record(s, event(1, "message.completed", { message: { id: "msg_1", role: "assistant", content: [{ text: "x [2][1][2]", citations }] } }));
  assert.deepEqual(s.citations.get("msg_1").map((c) => c.document_id), ["doc_1", "doc_2"]);
});

test("a text that grows is rendered as the whole text is", () => {
  // Paragraphs stand for blocks: all but the last are done.
  const first = (text) => {
    const cut = text.lastIndexOf("\n\n") + 2;
    return cut > 1 ? { done: `<${text.slice(0, cut)}>`, length: cut, open: `<${text.slice(cut)}>` } : { done: "", length: 0, open: `<${text}>` };
  };
  const plain = (g) => [...g.chunks, g.tail].join("").replace(/[<>]/g, "");
  const text = "one\r\n\r\ntwo words\n\nthree\n\nfour";
  const g = new Growing(first);
  let before = [];
  for (let i = 1; i <= text.length; i++) {
    g.take(text.slice(0, i));
    assert.equal(plain(g), text.slice(0, i).replace(/\r\n?/g, "\n"));
    assert.deepEqual(g.chunks.slice(0, before.length), before, "what is done stays");
    before = [...g.chunks];
  }
  g.take("another");
  assert.equal(plain(g), "another");
});

test("commands are what begins with one slash", () => {
  assert.deepEqual(parsed("/agent careful "), { name: "agent", rest: "careful" });
  assert.deepEqual(parsed("/new"), { name: "new", rest: "" });
  for (const text of ["hello", "//new", "/etc/passwd is a file", "1/2", ""]) assert.equal(parsed(text), null, text);
  assert.equal(message("//new"), "/new");
  assert.deepEqual(offered("/", [], []).length, commands.length);
  assert.deepEqual(offered("/ag", [], []).map((o) => o.text), ["/agent "]);
  assert.deepEqual(offered("/agent c", ["careful", "boss"], []).map((o) => o.text), ["/agent careful"]);
  assert.deepEqual(offered("//", [], []), []);
});
