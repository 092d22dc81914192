// The timeline of a turn: a pure fold of its events, so that a page that joins late, or a day after, shows the same as one that was there.
// Only deltas add to it what is not stored: the text of a message while it is being written.
import type { Event } from "./fold";
import { plain } from "./fold";
import { pretty } from "./json";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // data of events, whose types are the API's

/** Lane is who a span belongs to. Lanes are drawn in this order. */
export const lanes = ["worker", "model", "tool", "policy", "wait", "agent"] as const;
export type Lane = (typeof lanes)[number];

export type State = "running" | "waiting" | "done" | "failed" | "lost" | "denied" | "unknown" | "cancelled";

/** Bar is a part of a span: the time that it was queued, that it ran, that it waited, or that was lost. `to` is 0 while it lasts. */
export interface Bar { kind: "queue" | "run" | "lost" | "wait" | "gap"; from: number; to: number }

/** Decision is what policy decided on a call. The rule is in the record of the decision. */
export interface Decision { id: string; allowed: boolean; reason: string; at: number; seq: number }

/** Lost is an attempt that ended without a result that counts. */
export interface Lost { attempt: number; from: number; to: number; why: string; owner: string; text: string }

export interface Model {
  model: string; messages: string[]; usage: Any; firstToken: number; finish: string; warnings: string[]; attempts: Any[]; text: string; reasoning: string;
  calls: string[];
}
export interface Call {
  id: string; tool: string; effect: string; args: unknown; result: Any; isError: boolean; code: string; execution: string; cached: boolean; recorded: boolean;
  decisions: Decision[]; child: string; progress: string; truncated: boolean; artifacts: string[];
}
/** Wait is for a person, a client or a login. */
export interface Wait {
  kind: string; call: string; tool: string; message: string; rule: string; roles: string[]; quorum: number; verdict: string; by: string; decisions: Any[];
  argsHash: string; definitionHash: string; expires: string; schema: Any; args: string; authorization: Any;
}
export interface Child { turn: string; session: string; agent: string; status: string; usage: Any; background: boolean }
/** Gap is a time in which the worker of the turn was lost: steps are those that it held. */
export interface Gap { previous: string; owner: string; steps: Held[]; kept: { model: number; tool: number } }
/** Held is a step in progress when its worker was lost. */
interface Held { step: string; row: string; name: string; effect: string; sent: boolean; outcome: "" | "again" | "sent" | "kept" | "unknown" }

export interface Row {
  id: string; lane: Lane; name: string; state: State; from: number; to: number; seq: number; endSeq: number; bars: Bar[]; lost: Lost[]; attempts: number;
  error: string; steps: string[]; children: string[];
  /** mark rows are a moment. */
  mark: boolean;
  model?: Model; call?: Call; wait?: Wait; child?: Child; gap?: Gap; decision?: Decision & { call: string; tool: string };
}

/** Limit is a limit that the turn has come near or reached. */
interface Limit { use: Any; reserved: number; exhausted: boolean; seq: number }

export interface Timeline {
  turn: string; session: string; agent: string; model: string; status: string; stop: string; error: { code: string; message: string } | null; limitReached: Any;
  input: string; output: string; queued: number; started: number; ended: number; seq: number; last: number; usage: Any; tools: string[];
  rerun: Any; cancelled: { by: string; reason: string } | null;
  rows: Map<string, Row>;
  /** top are the rows that are under no other one, in the order in which they began. */
  top: string[];
  limits: Map<string, Limit>;
  /** owners are the workers as far as the journal names them: it does when one is lost. */
  owners: { name: string; from: number; to: number }[];
  /** gaps are the rows of lost workers. */
  gaps: Row[];
  /** steps and calls find the row of a step, and of a call. */
  steps: Map<string, string>; calls: Map<string, string>;
}

export const emptyTimeline = (turn: string): Timeline => ({
  turn, session: "", agent: "", model: "", status: "queued", stop: "", error: null, limitReached: null, input: "", output: "", queued: 0, started: 0, ended: 0,
  seq: 0, last: 0, usage: null, tools: [], rerun: null, cancelled: null, rows: new Map(), top: [], limits: new Map(),
  owners: [], gaps: [], steps: new Map(), calls: new Map(),
});

/** timelineOf folds the events of a turn, or those up to one of them. */
export function timelineOf(turn: string, events: readonly Event[], upTo = Infinity): Timeline {
  const t = emptyTimeline(turn);
  for (const e of events) {
    if (e.seq > upTo) break;
    advance(t, e);
  }
  return t;
}

export const isTransient = (type: string) => type.endsWith(".delta") || type === "tool_call.progress";

/** advance adds an event. Durable events that were added already change nothing. */
export function advance(t: Timeline, e: Event): void {
  if (e.turn_id !== t.turn) return;
  const at = Date.parse(e.time);
  if (!isTransient(e.type)) {
    if (e.seq <= t.seq) return;
    t.seq = e.seq;
  }
  changes[e.type]?.(t, e, e.data, at);
  if (!isTransient(e.type)) t.last = Math.max(t.last, at);
}

function add(t: Timeline, of: Partial<Row> & { id: string; lane: Lane; name: string; from: number; seq: number }, parent = ""): Row {
  const row: Row = { state: "running", to: 0, endSeq: 0, bars: [], lost: [], attempts: 1, error: "", steps: [], children: [], mark: false, ...of };
  t.rows.set(row.id, row);
  const above = parent ? t.rows.get(parent) : undefined;
  if (above) above.children.push(row.id);
  else t.top.push(row.id);
  return row;
}

function mark(t: Timeline, e: Event, at: number, lane: Lane, name: string, error = ""): Row {
  const parent = lane === "policy" && e.data.call_id ? t.calls.get(e.data.call_id) : "";
  return add(t, {
    id: `${e.type}:${e.seq}`, lane, name, from: at, to: at, seq: e.seq, endSeq: e.seq, state: error ? "failed" : "done", error, mark: true,
    steps: e.step ? [e.step] : [],
  }, parent);
}

const rowOf = (t: Timeline, step: string | undefined) => t.rows.get(t.steps.get(step ?? "") ?? "");
const callOf = (t: Timeline, id: string) => t.rows.get(t.calls.get(id) ?? "");
const open = (row: Row, kind: Bar["kind"]) => row.bars.filter((b) => b.kind === kind && !b.to).at(-1);

const lanesOf: Record<string, Lane> = { begin: "worker", finish: "worker", infer: "model", plan: "model", select: "model", compact: "model", tool: "tool" };
const namesOf: Record<string, string> = { begin: "start", finish: "finish" };

function close(row: Row, at: number, seq: number, state: State, error = "") {
  row.to = at;
  row.endSeq = seq;
  row.state = state;
  if (error) row.error = error;
  for (const b of row.bars) if (!b.to) b.to = at;
}

/** stepStarted opens the row of a step. The steps of one call share its row: a call is taken up again after each wait. */
function stepStarted(t: Timeline, e: Event, d: Any, at: number) {
  const step = e.step ?? "";
  const first = /^tool-\d+\.\d+(?=\.)/.exec(step)?.[0];
  let row = rowOf(t, step) ?? (first ? rowOf(t, first) : undefined);
  const lane = lanesOf[d.kind] ?? "worker";
  if (!row) {
    row = add(t, { id: step, lane, name: namesOf[d.kind] ?? String(d.title || d.kind).replace(/^tool /, ""), from: at, seq: e.seq });
    if (lane === "model") {
      row.model = { model: "", messages: [], usage: null, firstToken: 0, finish: "", warnings: [], attempts: [], text: "", reasoning: "", calls: [] };
    }
  }
  row.to = row.endSeq = 0;
  row.state = "running";
  row.bars.push({ kind: "run", from: at, to: 0 });
  if (!row.steps.includes(step)) row.steps.push(step);
  row.attempts = Math.max(row.attempts, e.attempt ?? 1);
  t.steps.set(step, row.id);
}

/** stepFinished closes the run. The journal knows when a step could begin, its end, and how long it ran: what is between was its queue. */
function stepFinished(t: Timeline, e: Event, d: Any, at: number) {
  const row = rowOf(t, e.step);
  if (!row) return;
  row.attempts = Math.max(row.attempts, e.attempt ?? 1);
  const tries: Any[] = d.model_attempts ?? [];
  const run = open(row, "run");
  if (row.model && tries.length) attempted(row, row.model, tries, at);
  else if (run) {
    const began = Math.min(at, Math.max(run.from, at - Number(d.duration_ms)));
    if (began - run.from >= 1) row.bars.splice(row.bars.indexOf(run), 0, { kind: "queue", from: run.from, to: began });
    run.from = began;
    run.to = at;
  }
  if (row.call && !row.call.result) { // it waits
    row.endSeq = e.seq;
    if (row.state === "running") row.state = row.call.child ? "running" : "waiting";
    return;
  }
  close(row, at, e.seq, d.error ? "failed" : row.state === "running" ? "done" : row.state, d.error?.message ?? "");
}

/** attempted draws the attempts of a model call by their records. Those of a lost worker have none: their bars stay. */
function attempted(row: Row, m: Model, tries: Any[], at: number) {
  m.attempts = tries;
  const byOwner = row.lost.filter((l) => l.owner);
  let last = byOwner.at(-1)?.to ?? row.bars[0]?.from ?? row.from;
  row.bars = row.bars.filter((b) => b.to && b.to <= last && byOwner.some((l) => l.to === b.to) || b.kind === "queue" && b.to && b.to <= last);
  const failed = row.lost.filter((l) => !l.owner);
  tries.forEach((a, i) => {
    const from = Math.min(at, Math.max(last, a.start_time ? Date.parse(a.start_time) : last));
    const to = i === tries.length - 1 ? at : Math.min(at, from + a.duration_ms);
    if (from - last >= 1) row.bars.push({ kind: "queue", from: last, to: from });
    const good = a.class === "answered" || a.class === "cut";
    row.bars.push({ kind: good ? "run" : "lost", from, to });
    const l = good ? undefined : failed.shift();
    if (l) Object.assign(l, { from, to });
    last = to;
  });
  row.attempts = Math.max(row.attempts, tries.length + byOwner.length);
}

/** recovered is where a worker was lost. Steps that it held together are in one gap. */
function recovered(t: Timeline, e: Event, d: Any, at: number) {
  const id = `gap:${d.previous_owner}:${d.owner}`;
  let row = t.rows.get(id);
  if (!row) {
    const from = Math.min(t.last || at, at);
    const kept = { model: 0, tool: 0 };
    for (const r of t.rows.values()) if (r.to && (r.lane === "model" || r.lane === "tool") && !r.mark) kept[r.lane]++;
    row = add(t, {
      id, lane: "worker", name: "worker lost", from, to: at, seq: e.seq, endSeq: e.seq, state: "lost", bars: [{ kind: "gap", from, to: at }],
      gap: { previous: d.previous_owner, owner: d.owner, steps: [], kept },
    });
    t.gaps.push(row);
    const before = t.owners.at(-1);
    if (before) before.to = from;
    else t.owners.push({ name: d.previous_owner, from: t.started || t.queued || from, to: from });
    t.owners.push({ name: d.owner, from: at, to: 0 });
  }
  row.endSeq = e.seq;
  const held = rowOf(t, e.step);
  row.gap!.steps.push({
    step: e.step ?? "", row: held?.id ?? "", name: held?.name ?? e.step ?? "", effect: held?.call?.effect ?? "", sent: Boolean(held?.call?.execution), outcome: held?.model ? "again" : "",
  });
  if (held) lostAttempt(held, (e.attempt ?? 2) - 1, at, "its worker was lost", d.previous_owner);
}

/** lostAttempt ends the attempt that is under way, and begins the next. */
function lostAttempt(row: Row, attempt: number, at: number, why: string, owner: string) {
  const run = open(row, "run");
  const from = run?.from ?? row.from;
  if (run) {
    run.kind = "lost";
    run.to = at;
  }
  row.lost.push({ attempt, from, to: at, why, owner, text: row.model?.text ?? "" });
  if (row.model) row.model.text = row.model.reasoning = "";
  row.attempts = Math.max(row.attempts, attempt + 1);
  row.bars.push({ kind: "run", from: at, to: 0 });
}

/** takenUp notes what has become of a call that a lost worker held. */
function takenUp(t: Timeline, e: Event, row: Row, outcome: Held["outcome"]) {
  for (const r of t.gaps) for (const h of r.gap!.steps) if (h.row === row.id && !h.outcome && r.seq < e.seq) h.outcome = outcome;
}

function messageReset(t: Timeline, e: Event, d: Any, at: number) {
  const row = rowOf(t, e.step);
  if (!row?.model) return;
  const last = row.lost.at(-1);
  if (d.reason === "worker lost" && last?.owner && last.to === at) return; // turn.recovered has said it
  lostAttempt(row, (e.attempt ?? 2) - 1, at, d.reason, "");
}

function messageCompleted(t: Timeline, e: Event, d: Any) {
  const row = rowOf(t, e.step);
  const m = row?.model;
  if (!m || d.message.role !== "assistant") return;
  m.text = plain(d.message.content);
  m.reasoning = d.message.reasoning || m.reasoning;
  m.model = d.message.model || m.model;
  m.usage = d.usage;
  m.firstToken = d.first_token_ms;
  m.finish = d.finish_reason;
  m.warnings = d.warnings ?? [];
  m.calls = (d.message.tool_calls ?? []).map((c: Any) => c.call_id);
}

function callStarted(t: Timeline, e: Event, d: Any, at: number) {
  const row = rowOf(t, e.step) ?? add(t, { id: e.step || d.call_id, lane: "tool", name: d.tool, from: at, seq: e.seq });
  row.name = d.tool;
  row.call ??= {
    id: d.call_id, tool: d.tool, effect: d.effect ?? "", args: d.arguments ?? null, result: null, isError: false, code: "", execution: "", cached: false,
    recorded: false, decisions: [], child: "", progress: "", truncated: false, artifacts: [],
  };
  t.calls.set(d.call_id, row.id);
}

/** denials are codes of calls that were not made because policy, a person or a shield did not allow them. */
const denials = new Set(["permission_denied", "approval_denied", "approval_expired", "shield_blocked", "policy_denied"]);

function callCompleted(t: Timeline, e: Event, d: Any) {
  const row = rowOf(t, e.step) ?? callOf(t, d.result.call_id);
  const c = row?.call;
  if (!row || !c) return;
  takenUp(t, e, row, "kept");
  c.result = d.result;
  c.isError = d.result.is_error;
  c.code = d.code;
  c.execution = d.execution_id || c.execution;
  c.cached = d.cached;
  c.recorded = d.recorded;
  c.truncated = d.result.truncated;
  c.artifacts = d.result.artifact_ids ?? [];
  const denied = denials.has(d.code) || c.decisions.at(-1)?.allowed === false;
  const state = !c.isError ? "done" : d.code === "outcome_unknown" ? "unknown" : denied ? "denied" : "failed";
  row.endSeq = e.seq;
  row.state = state;
  if (c.isError) row.error = plain(d.result.content) || d.code;
}

function decided(t: Timeline, e: Event, d: Any, at: number) {
  const row = callOf(t, d.call_id) ?? rowOf(t, e.step);
  const of: Decision = { id: d.decision_id, allowed: d.allowed, reason: d.reason, at, seq: e.seq };
  row?.call?.decisions.push(of);
  if (t.rows.has(`policy:${d.decision_id}`)) return; // the decision of a call that is taken up again
  add(t, {
    id: `policy:${d.decision_id}`, lane: "policy", name: `${d.allowed ? "allowed" : "denied"} ${d.tool}`, from: at, to: at, seq: e.seq, endSeq: e.seq, mark: true,
    state: d.allowed ? "done" : "denied", error: d.allowed ? "" : d.reason, decision: { ...of, call: d.call_id, tool: d.tool },
  }, row?.id);
}

const waitNames: Record<string, string> = { approval: "approval", input: "answer", client_tool: "client", resolution: "outcome", authorization: "login" };

function waitsFor(t: Timeline, e: Event, d: Any, at: number, kind: string, message: string) {
  const row = callOf(t, d.call_id) ?? rowOf(t, e.step);
  if (row) {
    row.state = kind === "resolution" ? "unknown" : "waiting";
    row.bars.push({ kind: "wait", from: at, to: 0 });
  }
  add(t, {
    id: d.approval_id, lane: "wait", name: `${waitNames[kind] ?? kind} for ${d.tool || d.source || "the turn"}`, from: at, seq: e.seq, state: "waiting", bars: [{ kind: "wait", from: at, to: 0 }],
    wait: {
      kind, call: d.call_id ?? "", tool: d.tool ?? "", message: message ?? "", rule: d.rule ?? "", roles: d.approver_roles ?? [], quorum: d.quorum ?? 1, verdict: "", by: "",
      decisions: [], argsHash: d.arguments_hash ?? "", definitionHash: d.definition_hash ?? "", expires: d.expire_time ?? "", schema: d.schema ?? null,
      args: d.arguments_json || pretty(d.arguments), authorization: kind === "authorization" ? { source: d.source, kind: d.kind, connect_url: d.connect_url } : null,
    },
  }, row?.id);
}

function waited(t: Timeline, e: Event, d: Any, at: number) {
  const wait = t.rows.get(d.approval_id);
  if (!wait?.wait) return;
  wait.wait.verdict = d.verdict;
  wait.wait.decisions = d.decisions ?? [];
  wait.wait.by = d.subject || (d.decisions ?? []).map((x: Any) => x.subject).join(", ");
  const bad = ["denied", "expired", "void", "declined", "given_up", "cancelled"].includes(d.verdict);
  close(wait, at, e.seq, bad ? "denied" : "done");
  const row = callOf(t, wait.wait.call);
  if (!row) return;
  const bar = open(row, "wait");
  if (bar) bar.to = at;
  if (row.state === "waiting") row.state = "running";
}

function childStarted(t: Timeline, e: Event, d: Any, at: number) {
  const row = callOf(t, d.call_id);
  if (row?.call) row.call.child = d.turn_id;
  add(t, {
    id: d.turn_id, lane: "agent", name: `agent ${d.agent_id}`, from: at, seq: e.seq, bars: [{ kind: "run", from: at, to: 0 }],
    child: { turn: d.turn_id, session: d.session_id, agent: d.agent_id, status: "running", usage: null, background: d.background },
  }, row?.id);
}

function childCompleted(t: Timeline, e: Event, d: Any, at: number) {
  const row = t.rows.get(d.turn_id);
  if (!row?.child) return;
  row.child.status = d.status;
  row.child.usage = d.usage;
  close(row, at, e.seq, d.status === "completed" ? "done" : d.status === "cancelled" ? "cancelled" : "failed", d.status === "completed" ? "" : d.status);
}

function ended(t: Timeline, e: Event, d: Any, at: number) {
  t.status = d.status;
  t.stop = d.stop_reason;
  t.ended = at;
  t.output = d.output;
  t.usage = d.usage ?? t.usage;
  t.error = d.error;
  t.limitReached = d.limit_reached;
  for (const r of t.rows.values()) {
    if (r.to || r.mark || r.child?.background) continue;
    close(r, at, e.seq, r.state === "unknown" ? "unknown" : d.status === "failed" ? "failed" : "cancelled");
  }
  const last = t.owners.at(-1);
  if (last) last.to = at;
}

const words = (name: unknown) => String(name ?? "").replaceAll("_", " ");
const did: Record<string, string> = { block: "blocked", redact: "redacted", flag: "flagged", ask: "asks about" };
const checked: Record<string, string> = { input: "the message", tool: "the arguments", result: "the result", output: "the answer" };

function limited(t: Timeline, e: Event, d: Any, at: number, exhausted: boolean) {
  t.limits.set(`${d.use?.budget_id}:${d.use?.what}`, { use: d.use, reserved: Number(d.reserved ?? 0), exhausted, seq: e.seq });
  const what = `${words(d.use?.what)} of the ${words(d.use?.scope ?? "turn")}`;
  mark(t, e, at, "policy", exhausted ? `limit reached: ${what}` : `limit near: ${what}`, exhausted ? `The limit of ${what} is used up.` : "");
}

type Change = (t: Timeline, e: Event, d: Any, at: number) => void;

/** changes say what each type of event changes. A type that is not here changes nothing. */
const changes: Record<string, Change> = {
  "turn.queued": (t, e, d, at) => {
    t.session = e.session_id;
    t.agent = d.agent_id;
    t.input = plain(d.input);
    t.queued = at;
    add(t, { id: "queue", lane: "worker", name: "queued", from: at, seq: e.seq, state: "waiting", bars: [{ kind: "queue", from: at, to: 0 }] });
  },
  "turn.started": (t, e, d, at) => {
    t.status = "running";
    t.started = at;
    t.agent = d.agent_id;
    t.model = d.model;
    t.tools = d.tools ?? [];
    const queue = t.rows.get("queue");
    if (queue && !queue.to) close(queue, at, e.seq, "done");
  },
  "turn.completed": ended, "turn.failed": ended, "turn.cancelled": ended,
  "turn.paused": (t) => { t.status = "waiting"; },
  "turn.resumed": (t) => { t.status = "running"; },
  "turn.recovered": recovered,
  "turn.rerun": (t, _e, d) => { t.rerun = d; },
  "turn.cancel_requested": (t, e, d, at) => {
    t.cancelled = { by: e.actor ?? "", reason: d.reason ?? "" };
    mark(t, e, at, "wait", "cancel requested");
  },
  "step.started": stepStarted, "step.finished": stepFinished,
  "message.started": (t, e, d) => {
    const m = rowOf(t, e.step)?.model;
    if (!m) return;
    m.model = d.model;
    if (!m.messages.includes(d.message_id)) m.messages.push(d.message_id);
  },
  "message.delta": (t, e, d) => {
    const m = rowOf(t, e.step)?.model;
    if (m) m.text += d.text;
  },
  "reasoning.delta": (t, e, d) => {
    const m = rowOf(t, e.step)?.model;
    if (m) m.reasoning += d.text;
  },
  "message.reset": messageReset, "message.completed": messageCompleted,
  "usage.updated": (t, _e, d) => { t.usage = d.usage; },
  "tool_call.started": callStarted,
  "tool_call.executing": (t, e, d) => {
    const row = rowOf(t, e.step) ?? callOf(t, d.call_id);
    if (!row?.call) return;
    takenUp(t, e, row, "sent");
    row.call.execution = d.execution_id;
  },
  "tool_call.progress": (t, _e, d) => {
    const c = callOf(t, d.call_id)?.call;
    if (c) c.progress = d.message || (d.total ? `${Math.round((100 * d.progress) / d.total)} %` : "");
  },
  "tool_call.completed": callCompleted,
  "tool_call.unresolved": (t, e, d, at) => {
    const row = callOf(t, d.call_id) ?? rowOf(t, e.step);
    if (row) {
      takenUp(t, e, row, "unknown");
      row.state = "unknown";
      if (row.call) row.call.execution = d.execution_id || row.call.execution;
    }
    if (d.approval_id) waitsFor(t, e, d, at, "resolution", "It is not known whether this call took effect.");
  },
  "policy.decided": decided,
  "approval.requested": (t, e, d, at) => waitsFor(t, e, d, at, "approval", d.reason),
  "input.requested": (t, e, d, at) => waitsFor(t, e, d, at, d.kind, d.message),
  "auth.required": (t, e, d, at) => waitsFor(t, e, d, at, "authorization", d.message),
  "approval.resolved": waited, "auth.resolved": waited, "input.provided": waited, "tool_call.resolved": waited,
  "child.started": childStarted, "child.completed": childCompleted,
  "input.accepted": (t, e, d, at) => { mark(t, e, at, "wait", `added: ${plain(d.content)}`); },
  "plan.updated": (t, e, d, at) => { mark(t, e, at, "model", `plan of ${(d.steps ?? []).length} steps`); },
  "context.compacted": (t, e, d, at) => { mark(t, e, at, "model", `${d.messages} messages summed up, ${d.tokens_before} → ${d.tokens_after} tokens`); },
  "shield.triggered": (t, e, d, at) => {
    mark(t, e, at, "policy", `shield ${d.shield} ${d.failed_open ? "could not check" : did[d.action] ?? "found something in"} ${checked[d.stage] ?? "a text"}`,
      d.action === "block" || d.failed_open ? d.reason || words(d.action) : "");
  },
  "budget.warning": (t, e, d, at) => limited(t, e, d, at, false),
  "budget.exhausted": (t, e, d, at) => limited(t, e, d, at, true),
  "artifact.created": (t, e, d, at) => { mark(t, e, at, "tool", `artifact ${d.name || d.artifact_id}`); },
};

/** span is the time that a timeline shows. */
export function span(t: Timeline, now: number): { from: number; to: number } {
  const from = t.queued || t.last;
  const to = t.ended || Math.max(now, t.last);
  return { from, to: Math.max(to, from + 1) };
}

/** Shown is a row that is drawn; its key names it in links. */
export interface Shown { row: Row; key: string; depth: number; folded: boolean | null; of: Timeline }

/** shown are the rows that are drawn, in order: those below a folded one are left out, as are those of lanes that are not wanted. Timelines of
 *  sub-agents are under the row of their turn. */
export function shown(t: Timeline, open: (row: Row) => boolean, wanted: (lane: Lane, row: Row) => boolean, of: (turn: string) => Timeline | undefined, depth = 0, prefix = ""): Shown[] {
  const rows: Shown[] = [];
  const visit = (ids: readonly string[], at: number) => {
    for (const id of ids) {
      const row = t.rows.get(id)!;
      const kept = wanted(row.lane, row);
      const foldable = Boolean(row.child && !row.child.background);
      if (kept) rows.push({ row, key: prefix + id, depth: at, folded: foldable ? !open(row) : null, of: t });
      visit(row.children, kept ? at + 1 : at);
      if (!foldable || !kept || !open(row)) continue;
      const inner = of(row.child!.turn);
      if (inner) for (const r of shown(inner, open, wanted, of, at + 1, `${inner.turn}/`)) rows.push(r);
    }
  };
  visit(t.top, depth);
  return rows;
}
