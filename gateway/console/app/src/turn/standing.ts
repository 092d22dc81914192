// What a turn is doing, or why it does not go on, in a sentence.
import { count, duration } from "../format";
import type { Row, Timeline } from "../timeline";

/** TurnDetail is a turn as the API has it, as far as its page uses it. */
export interface TurnDetail {
  id: string; session_id: string; agent_id: string; status: string; input: string; output: string; model: string; requested_model?: string; subject: string; blueprint_revision: number;
  first_seq: number; last_seq: number; create_time: string; start_time: string | null; end_time: string | null; waiting_for: string[]; parent_turn_id: string;
  parent_session_id: string; root_turn_id: string; rerun_of: string; schedule_id: string; stop_reason: string;
  error: { code: string; message: string } | null; pending: { reason: string; detail: string; action: string; preceding_turn_id: string } | null;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  usage: any; limits: any; limit_reached: any;
}

/** sentence begins with a capital, unless it begins with a name, and ends with a point. */
const sentence = (text: string) => {
  const s = text.trim();
  return s && (/^[a-z]+([ ,.]|$)/.test(s) ? s[0]!.toUpperCase() + s.slice(1) : s) + (/[.!?…]\)?$/.test(s) ? "" : ".");
};

/** awaited says what a wait is for. */
function awaited(r: Row): string {
  const w = r.wait!;
  switch (w.kind) {
    case "approval": return `It waits until ${w.quorum > 1 ? `${w.quorum} people approve` : "a person approves"} the call of ${w.tool}${w.roles.length ? ` (roles: ${w.roles.join(", ")})` : ""}.`;
    case "input": return `It waits for an answer${w.message ? `: ${sentence(w.message)}` : "."}`;
    case "client_tool": return `It waits for the result of ${w.tool}, which its client runs.`;
    case "resolution": return `It waits until a person says whether the call of ${w.tool} took effect.`;
    case "authorization": return `It waits for a login${w.message ? `: ${sentence(w.message)}` : "."}`;
    default: return `It waits: ${w.kind}.`;
  }
}

/** standing is one sentence, or two. `turn` is missing for a turn in the past: then the journal alone says it. */
export function standing(t: Timeline, turn: TurnDetail | null, now: number): string {
  const rows = [...t.rows.values()];
  const waits = rows.filter((r) => r.wait && !r.to);
  if (t.status === "failed") return sentence(`${t.error?.message ?? "It failed"}${t.error ? ` (${t.error.code})` : ""}`);
  if (t.status === "cancelled") return `${t.cancelled?.by || "A caller"} cancelled it${t.cancelled?.reason ? `: ${sentence(t.cancelled.reason)}` : "."}`;
  if (t.status === "completed") {
    if (t.limitReached) return `A limit stopped it, so the answer is not complete: ${sentence(t.limitReached.message)} ${t.limitReached.hint ?? ""}`.trim();
    const u = t.usage ?? {};
    const lost = t.gaps.length ? ` ${count(t.gaps.length, "worker")} ${t.gaps.length === 1 ? "was" : "were"} lost on the way.` : "";
    return `It ended by itself after ${count(u.model_calls ?? 0, "model call")} and ${count(u.tool_calls ?? 0, "tool call")}${t.stop && t.stop !== "end" ? ` (${t.stop})` : ""}.${lost}`;
  }
  if (waits.length) return waits.map(awaited).join(" ");
  const pending = turn?.pending;
  if (pending?.detail) return `${sentence(pending.detail)} ${pending.action ? sentence(pending.action) : ""}`.trim();
  if (t.status === "queued") return "It waits for a worker.";
  const runs = rows.filter((r) => !r.to && !r.mark && r.id !== "queue");
  const children = runs.filter((r) => r.child);
  if (turn?.waiting_for.length && children.length) return `Its sub-agent ${children.map((r) => r.child!.agent).join(", ")} waits for a person.`;
  const doing = runs.filter((r) => !r.child).map((r) => {
    const since = duration(now - (r.bars.at(-1)?.from ?? r.from));
    return r.model ? `the model answers (${r.name}, ${since})` : r.call ? `${r.call.tool} runs (${r.call.progress ? `${r.call.progress}, ` : ""}${since})` : `${r.name} (${since})`;
  });
  for (const r of children) doing.push(`agent ${r.child!.agent} works`);
  if (t.cancelled) return "It is being cancelled.";
  return doing.length ? sentence(doing.join(", ")) : "It goes on.";
}
