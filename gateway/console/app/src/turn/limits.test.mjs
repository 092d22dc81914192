// Tests of what the lines of limits and budgets say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../json";
import { timelineOf } from "../timeline";
import { applies, ofBudget, ofTurn } from "./limits";
import limit from "../journals/limit.jsonl";

const events = limit.trim().split("\n").map(parse);
const t = timelineOf(events[0].turn_id, events);
const short = (lines) => lines.map((l) => [l.name, l.what, l.used, l.reserved, l.limit]);

test("what is reserved is apart from what is used", () => {
  const budget = { id: "bgt_1", scope: "agent", target: "a", period: "day", max_tokens: "1000", used_tokens: "200", reserved_tokens: "50", max_cost: "0.5", used_cost: "0.25", reserved_cost: "", max_tool_calls: "0" };
  assert.deepEqual(short(ofBudget(budget)), [["agent a", "tokens a day", 200, 50, 1000], ["agent a", "cost a day", 250000, 0, 500000]]);
});

test("a budget applies to its own turns", () => {
  const turn = { subject: "s", session_id: "ses_1", agent_id: "a" };
  const of = (scope, target) => applies({ scope, target }, turn);
  assert.deepEqual([of("tenant", ""), of("subject", "s"), of("session", "ses_1"), of("agent", "a")], [true, true, true, true]);
  assert.deepEqual([of("subject", "a"), of("session", "s"), of("agent", "ses_1")], [false, false, false]);
});

test("limits of a turn come before those of its agent", () => {
  assert.deepEqual(short(ofTurn({ max_tool_calls: 3 }, { max_tool_calls: 2, max_steps: 9 }, t)), [["this turn", "model steps", 3, 0, 9], ["this turn", "tool calls", 2, 0, 3]]);
  assert.deepEqual(ofTurn(null, null, t), []);
});
