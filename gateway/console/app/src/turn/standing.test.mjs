// Tests of the sentence that says how a turn stands, at the end of journals and in the middle of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../json";
import { timelineOf } from "../timeline";
import { standing } from "./standing";
import cancelled from "../journals/cancelled.jsonl";
import child from "../journals/child.jsonl";
import denied from "../journals/denied-approval.jsonl";
import failed from "../journals/failed.jsonl";
import killed from "../journals/killed.jsonl";
import limit from "../journals/limit.jsonl";
import unknown from "../journals/unknown.jsonl";

const words = (journal, upTo, turn = null) => {
  const events = journal.trim().split("\n").map(parse);
  const t = timelineOf(events[0].turn_id, events, upTo);
  return standing(t, turn, t.last + 1200);
};

test("a turn that has ended says how", () => {
  assert.equal(words(cancelled), "local cancelled it: Not needed.");
  assert.equal(words(failed), "builtin/scripted: the message asks for fail:always. Remove fail:always from the message. (model_rejected).");
  assert.equal(words(killed), "It ended by itself after 2 model calls and 1 tool call. 1 worker was lost on the way.");
  assert.match(words(limit), /^A limit stopped it, so the answer is not complete: .*max_tool_calls/);
});

test("a turn that goes on says what it does, or what it waits for", () => {
  assert.equal(words(child, 1), "It waits for a worker.");
  assert.equal(words(child, 7), "The model answers (infer #1, 1.2 s).");
  assert.equal(words(child, 15), "agent__worker runs (1.2 s), agent worker works.");
  assert.equal(words(child, 15, { waiting_for: ["apr_1"] }), "Its sub-agent worker waits for a person.");
  assert.equal(words(denied, 16), "It waits until a person approves the call of mesh__uuid.");
  assert.equal(words(unknown, 17), "It waits until a person says whether the call of shaky__crash took effect.");
  assert.equal(words(cancelled, 8), "It is being cancelled.");
  assert.equal(words(child, 1, { waiting_for: [], pending: { detail: "no worker runs", action: "start one" } }), "No worker runs. Start one.");
});
