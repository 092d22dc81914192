// What the events of a session mean: a pure fold, so that a page that joins late shows the same as one that was there.
import { indented, pretty } from "./json";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any; // data of events, whose types are the API's

export interface Event {
  seq: number; type: string; time: string; session_id: string; turn_id: string; step?: string; attempt?: number; actor?: string; data: Any;
}

export interface Text { kind: "text"; id: string; text: string; reasoning: string; open: boolean; lost: string[] }
export interface Tool {
  kind: "tool"; id: string; name: string; state: string; outcome: "" | "ok" | "failed"; args: string; result: string; millis: number;
}
export interface Ask {
  kind: "ask"; id: string; turn: string; call: string; wait: string; tool: string; message: string; args: string; argsHash: string; definitionHash: string; rule: string;
  authorization: Any; schema: Any; roles: string[]; quorum: number; verdict: string; by: string;
}
export interface Child { kind: "child"; id: string; agent: string; session: string; status: string }
interface Note { kind: "note"; id: string; text: string; bad: boolean }
export type Item = Text | Tool | Ask | Child | Note;

export interface TurnView {
  id: string; agent: string; status: string; input: string; items: Item[]; usage: Any; model: string;
  queued: number; started: number; ended: number; stop: string; error: string; limit: string;
}

export interface View { turns: Map<string, TurnView>; lastSeq: number }

export const emptyView = (): View => ({ turns: new Map(), lastSeq: 0 });

export function plain(content: Any[] | undefined): string {
  return (content ?? []).map((p) => p.text ?? (p.link ? p.link.uri : p.blob ? `[${p.blob.media_type}]` : "")).join("\n");
}

/** turnOf returns a turn of the view, and makes it if it is new. */
function turnOf(v: View, id: string): TurnView {
  let t = v.turns.get(id);
  if (!t) {
    t = {
      id, agent: "", status: "queued", input: "", items: [], usage: null, model: "",
      queued: 0, started: 0, ended: 0, stop: "", error: "", limit: "",
    };
    v.turns.set(id, t);
  }
  return t;
}

function find<T extends Item>(t: TurnView, kind: T["kind"], id: string, make: () => T): T {
  const found = t.items.find((i) => i.kind === kind && i.id === id);
  if (found) return found as T;
  const item = make();
  t.items.push(item);
  return item;
}

const text = (t: TurnView, id: string) =>
  find<Text>(t, "text", id, () => ({ kind: "text", id, text: "", reasoning: "", open: true, lost: [] }));

const tool = (t: TurnView, id: string, name = "") => {
  const item = find<Tool>(t, "tool", id, () => ({
    kind: "tool", id, name, state: "asked", outcome: "", args: "", result: "", millis: 0,
  }));
  if (name) item.name = name;
  return item;
};

const checked: Record<string, string> = { input: "the message", tool: "the arguments", result: "the result", output: "the answer" };
const did: Record<string, string> = { block: "blocked", redact: "redacted", flag: "flagged", ask: "asks about" };

/** shielded says what a shield did, and why if it says so. */
function shielded(d: Any): string {
  const text = checked[d.stage] ?? "a text";
  const what = d.failed_open ? `could not check ${text}, and let it pass`
    : `${did[d.action] ?? "found something in"} ${text}${d.categories?.length ? ` (${d.categories.join(", ")})` : ""}`;
  return `Shield ${d.shield ?? ""} ${what}${d.reason ? `: ${d.reason}` : ""}${/[.!?]$/.test(d.reason ?? "") ? "" : "."}`;
}

function note(t: TurnView, e: Event, words: string, bad = false) {
  find<Note>(t, "note", String(e.seq) + e.type, () => ({ kind: "note", id: String(e.seq) + e.type, text: words, bad }));
}

function ended(t: TurnView, e: Event, at: number) {
  const d = e.data;
  t.status = d.status;
  t.ended = at;
  t.usage = d.usage;
  t.stop = d.stop_reason;
  if (d.error) {
    t.error = d.error.message;
    note(t, e, `${d.error.code}: ${d.error.message}`, true);
  }
  if (d.limit_reached) t.limit = `${d.limit_reached.message} ${d.limit_reached.hint ?? ""}`;
  for (const i of t.items) {
    if (i.kind === "text") i.open = false;
    if (i.kind === "ask" && !i.verdict) i.verdict = "over";
  }
}

type Handler = (t: TurnView, e: Event, d: Any, at: number) => void;

/** handlers say what each type of event changes. A type that is not here changes nothing. */
export const handlers: Record<string, Handler> = {
  "turn.queued": (t, _e, d, at) => {
    t.agent = d.agent_id;
    t.input = plain(d.input);
    t.queued = at;
  },
  "turn.started": (t, _e, d, at) => {
    t.status = "running";
    t.started = at;
    t.model = d.model;
  },
  "turn.completed": (t, e, _d, at) => ended(t, e, at),
  "turn.failed": (t, e, _d, at) => ended(t, e, at),
  "turn.cancelled": (t, e, _d, at) => ended(t, e, at),
  "turn.paused": (t) => { t.status = "waiting"; },
  "turn.resumed": (t) => { t.status = "running"; },
  "turn.recovered": (t, e) => note(t, e, "The worker was lost. Another one goes on; nothing is done twice."),
  "turn.cancel_requested": (t, e) => note(t, e, "Cancel was requested."),
  "input.accepted": (t, e, d) => note(t, e, `You added: ${plain(d.content)}`),
  "message.started": (t, _e, d) => { text(t, d.message_id); },
  "message.delta": (t, _e, d) => { text(t, d.message_id).text += d.text; },
  "reasoning.delta": (t, _e, d) => { text(t, d.message_id).reasoning += d.text; },
  "message.reset": (t, _e, d) => {
    const m = text(t, d.message_id);
    if (m.text) m.lost.push(m.text);
    m.text = m.reasoning = "";
  },
  "message.completed": (t, _e, d) => {
    if (d.message.role !== "assistant") return;
    const m = text(t, d.message.id);
    m.open = false;
    m.text = plain(d.message.content);
    m.reasoning = d.message.reasoning || m.reasoning;
  },
  "usage.updated": (t, _e, d) => { t.usage = d.usage; },
  "tool_call.arguments.delta": (t, _e, d) => { tool(t, d.call_id, d.tool).args += d.text; },
  "tool_call.started": (t, _e, d) => {
    const c = tool(t, d.call_id, d.tool);
    if (d.arguments) c.args = pretty(d.arguments);
    c.state = "started";
  },
  "tool_call.executing": (t, _e, d) => { tool(t, d.call_id).state = "running…"; },
  "tool_call.progress": (t, _e, d) => {
    tool(t, d.call_id).state = d.message || (d.total ? `${Math.round((100 * d.progress) / d.total)} %` : "running…");
  },
  "tool_call.completed": (t, _e, d) => {
    const c = tool(t, d.result.call_id, d.result.tool);
    c.outcome = d.result.is_error ? "failed" : "ok";
    c.millis = d.latency_ms;
    c.state = d.result.is_error ? d.code || "error" : d.recorded ? "recorded" : d.cached ? "cached" : "done";
    c.result = plain(d.result.content) || pretty(d.result.structured_content);
  },
  "tool_call.unresolved": (t, _e, d) => {
    const c = tool(t, d.call_id, d.tool);
    c.outcome = "failed";
    c.state = "outcome unknown";
  },
  "approval.requested": (t, _e, d) => ask(t, d, "approval", d.reason),
  "input.requested": (t, _e, d) => ask(t, d, d.kind, d.message),
  "auth.required": (t, _e, d) => ask(t, d, "authorization", d.message),
  "approval.resolved": (t, _e, d) => resolved(t, d),
  "auth.resolved": (t, _e, d) => resolved(t, d),
  "input.provided": (t, _e, d) => resolved(t, d),
  "tool_call.resolved": (t, _e, d) => resolved(t, d),
  "child.started": (t, _e, d) => {
    find<Child>(t, "child", d.turn_id, () => ({ kind: "child", id: d.turn_id, agent: d.agent_id, session: d.session_id, status: "running" }));
  },
  "child.completed": (t, _e, d) => {
    const c = t.items.find((i) => i.kind === "child" && i.id === d.turn_id) as Child | undefined;
    if (c) c.status = d.status;
  },
  "plan.updated": (t, e, d) => note(t, e, `Plan with ${d.steps?.length ?? 0} steps.`),
  "context.compacted": (t, e, d) => note(t, e, `${d.messages ?? "Earlier"} messages were summed up.`),
  "shield.triggered": (t, e, d) => note(t, e, shielded(d), d.action !== "flag" || d.failed_open),
  "budget.warning": (t, e, d) => note(t, e, `The ${limit(d.use)} is nearly used up.`),
  "budget.exhausted": (t, e, d) => note(t, e, `The ${limit(d.use)} is used up.`, true),
};

const words = (name: unknown) => String(name ?? "").replaceAll("_", " ");
const limit = (use: Any) => `limit of ${words(use?.what)} of the ${words(use?.scope ?? "turn")}`;

function ask(t: TurnView, d: Any, wait: string, message: string) {
  find<Ask>(t, "ask", d.approval_id, () => ({
    kind: "ask", id: d.approval_id, turn: t.id, call: d.call_id, wait, tool: d.tool, message, args: d.arguments_json ? indented(d.arguments_json) : pretty(d.arguments), argsHash: d.arguments_hash ?? "",
    definitionHash: d.definition_hash ?? "", rule: d.rule ?? "", schema: d.schema,
    authorization: wait === "authorization" ? { source: d.source, kind: d.kind, connect_url: d.connect_url } : null, roles: d.approver_roles ?? [], quorum: d.quorum ?? 1,
    verdict: "", by: "",
  }));
  const call = t.items.find((i) => i.kind === "tool" && i.id === d.call_id) as Tool | undefined;
  if (call) call.state = "waiting";
}

function resolved(t: TurnView, d: Any) {
  const a = t.items.find((i) => i.kind === "ask" && i.id === d.approval_id) as Ask | undefined;
  if (a) {
    a.verdict = d.verdict ?? "resolved";
    a.by = d.subject ?? (d.decisions ?? []).map((x: Any) => x.subject).join(", ");
  }
}

/** apply adds an event to a view. Durable events that were applied already change nothing. */
export function apply(v: View, e: Event): void {
  const h = handlers[e.type];
  if (!h || !e.turn_id) return;
  const transient = e.type.endsWith(".delta") || e.type === "tool_call.progress";
  if (!transient) {
    if (e.seq <= v.lastSeq) return;
    v.lastSeq = e.seq;
  }
  h(turnOf(v, e.turn_id), e, e.data, Date.parse(e.time));
}
