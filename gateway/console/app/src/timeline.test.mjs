// Tests of the timeline against journals that a mesh has recorded. What each gives is beside it as text, and the command line's own lines of the
// same journals are tested in internal/cli/show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "./json";
import { emptyTimeline, advance, shown, timelineOf } from "./timeline";
import cancelled from "./journals/cancelled.jsonl";
import cancelledText from "./journals/cancelled.txt";
import child from "./journals/child.jsonl";
import childText from "./journals/child.txt";
import denied from "./journals/denied.jsonl";
import deniedText from "./journals/denied.txt";
import deniedApproval from "./journals/denied-approval.jsonl";
import deniedApprovalText from "./journals/denied-approval.txt";
import failed from "./journals/failed.jsonl";
import failedText from "./journals/failed.txt";
import killed from "./journals/killed.jsonl";
import killedText from "./journals/killed.txt";
import killedCall from "./journals/killed-call.jsonl";
import killedCallText from "./journals/killed-call.txt";
import limit from "./journals/limit.jsonl";
import limitText from "./journals/limit.txt";
import mixed from "./journals/mixed.jsonl";
import mixedText from "./journals/mixed.txt";
import rerun from "./journals/rerun.jsonl";
import rerunText from "./journals/rerun.txt";
import retried from "./journals/retried.jsonl";
import retriedText from "./journals/retried.txt";
import steered from "./journals/steered.jsonl";
import steeredText from "./journals/steered.txt";
import unknown from "./journals/unknown.jsonl";
import unknownText from "./journals/unknown.txt";

const journals = {
  cancelled: [cancelled, cancelledText], child: [child, childText], denied: [denied, deniedText], "denied-approval": [deniedApproval, deniedApprovalText],
  failed: [failed, failedText], killed: [killed, killedText], "killed-call": [killedCall, killedCallText], limit: [limit, limitText],
  mixed: [mixed, mixedText], rerun: [rerun, rerunText], retried: [retried, retriedText], steered: [steered, steeredText], unknown: [unknown, unknownText],
};

const events = (text) => text.trim().split("\n").map(parse);
const every = () => true;

/** written is a timeline as text: each row with its lane, time, bars and what came of it. */
function written(t) {
  const at = (ms) => (ms ? ((ms - t.queued) / 1000).toFixed(3) : "…");
  const lines = [`${t.agent}, ${t.model}: ${[t.status, t.stop, t.error?.code, t.limitReached?.limit].filter(Boolean).join(" ")}, ${at(t.ended)} s`];
  for (const { row: r, depth } of shown(t, every, every, () => undefined)) {
    const bars = r.bars.map((b) => `${b.kind} ${at(b.from)}–${at(b.to)}`).join(", ");
    lines.push(`${"  ".repeat(depth)}${r.lane} | ${r.name} | ${r.state} | ${r.mark ? at(r.from) : `${at(r.from)}–${at(r.to)}`}${bars && ` [${bars}]`}`);
    const add = (text) => lines.push(`${"  ".repeat(depth + 1)}- ${text}`);
    for (const l of r.lost) add(`attempt ${l.attempt} lost ${at(l.from)}–${at(l.to)}: ${l.why}${l.owner && ` (${l.owner})`}`);
    if (r.model?.usage) add(`${r.model.model} ${r.model.usage.input_tokens} → ${r.model.usage.output_tokens}, ${r.model.finish}, ${r.model.attempts.map((a) => a.class).join(" ")}`);
    if (r.call) add(`${r.call.id} ${r.call.effect || "-"} ${JSON.stringify(r.call.args)} ${r.call.code || "ok"}${r.call.cached ? " cached" : ""}${r.call.recorded ? " recorded" : ""} ${r.call.execution}`);
    if (r.wait) add(`${r.wait.kind} ${r.wait.verdict} by ${r.wait.by || "none"}`);
    if (r.child) add(`${r.child.turn} ${r.child.status}`);
    if (r.gap) add(`${r.gap.previous} → ${r.gap.owner}; kept ${r.gap.kept.model} model, ${r.gap.kept.tool} tool; held ${r.gap.steps.map((s) => `${s.step} ${s.outcome}`).join(", ")}`);
    if (r.error) add(r.error.slice(0, 90));
  }
  return lines.join("\n") + "\n";
}

for (const [name, [journal, want]] of Object.entries(journals)) {
  const all = events(journal);
  const turn = all[0].turn_id;
  test(`journal ${name}`, async () => {
    const got = written(timelineOf(turn, all));
    if (process.env.UPDATE) {
      const { writeFileSync } = await import("node:fs");
      writeFileSync(`${process.env.UPDATE}/${name}.txt`, got);
      return;
    }
    assert.equal(got, want);
  });
  test(`journal ${name} is folded as it comes, again and with repetitions to the same`, () => {
    const t = emptyTimeline(turn);
    for (const e of all) {
      advance(t, e);
      advance(t, e);
    }
    assert.equal(written(t), written(timelineOf(turn, all)));
  });
  test(`journal ${name} can be cut anywhere`, () => {
    for (const e of all) {
      const t = timelineOf(turn, all, e.seq);
      assert.equal(t.seq, e.seq);
      for (const r of t.rows.values()) {
        assert.ok(r.seq <= e.seq && r.endSeq <= e.seq, `${r.id} is of a later event than ${e.seq}`);
        for (const b of r.bars) assert.ok(!b.to || b.from <= b.to, `${r.id}: ${JSON.stringify(b)}`);
        assert.ok(!r.to || r.bars.every((b) => b.to), `${r.id} has ended, and a bar of it lasts`);
      }
      written(t);
    }
  });
}

test("a turn of 5,000 events is folded at once", () => {
  const at = (i) => new Date(1_795_000_000_000 + i * 10).toISOString();
  const all = [["turn.queued", "", { agent_id: "a", input: [{ text: "x" }] }], ["turn.started", "begin", { agent_id: "a", model: "m" }]];
  for (let n = 0; all.length < 5000; n++) {
    const [step, call] = [`tool-${n}.0`, { call_id: `c${n}`, tool: "s__t" }];
    all.push(["step.started", step, { kind: "tool" }], ["tool_call.started", step, { ...call, arguments: { n } }], ["policy.decided", step, { ...call, decision_id: `d${n}`, allowed: true }],
      ["tool_call.executing", step, { ...call, execution_id: `e${n}` }], ["tool_call.completed", step, { result: { call_id: call.call_id, content: [] } }],
      ["step.finished", step, { kind: "tool", duration_ms: 5 }]);
  }
  const journal = all.map(([type, step, data], i) => ({ seq: i + 1, type, time: at(i), session_id: "s", turn_id: "t", step, attempt: 1, data }));
  const began = performance.now();
  const t = timelineOf("t", journal);
  console.log(`folded ${journal.length} events into ${t.rows.size} rows in ${(performance.now() - began).toFixed(1)} ms`);
  assert.equal(t.calls.size, 833);
});
