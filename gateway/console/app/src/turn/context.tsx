// What the model read at a step, part by part, and what is new in it since the step before.
import { bytes, count, visible } from "../format";
import { setParams, withParams } from "../route";
import { part, type Known } from "../api";
import type { Timeline } from "../timeline";
import { Json, Loading, Problem, useLoad } from "../ui";
import type * as schema from "../schema";

type Part = Known<schema.ContextPart, "kind">;
interface Difference { op: schema.ContextDiffOp; part: Part }
type Context = Omit<schema.TurnContext, "parts" | "diff"> & { parts: Part[]; diff: Difference[] };

const kinds: Record<string, string> = { system: "Instructions", tools: "Tools", memory: "Memory", message: "Messages", tool_result: "Results", citation: "Passages" };

/** stepsOf are the numbers of the model steps of a turn. */
export const stepsOf = (t: Timeline) => [...t.rows.values()].flatMap((r) => { const n = /^infer-(\d+)$/.exec(r.steps[0] ?? "")?.[1]; return n ? [Number(n)] : []; });

export function ContextTab({ t, params }: { t: Timeline; version: number; params: URLSearchParams }) {
  const steps = stepsOf(t);
  const step = Number(params.get("step")) || steps.at(-1) || 1;
  const diff = params.get("diff") === "1" && step > 1;
  const path = `/v1/turns/${part(t.turn)}/context?step=${step}${diff ? `&against=${step - 1}` : ""}`;
  const loaded = useLoad<Context>(steps.length ? path : null);
  const c = loaded.data;
  return (
    <div class="tl-context">
      <div class="filters">
        <label>Step <select aria-label="Model step" value={String(step)} onChange={(e) => setParams({ step: e.currentTarget.value })}>
          {steps.map((n) => <option key={n} value={String(n)} selected={n === step}>infer #{n}</option>)}
        </select></label>
        {step > 1 && <label class="tl-check"><input type="checkbox" checked={diff} onChange={(e) => setParams({ diff: e.currentTarget.checked ? "1" : "" })} /> what is new since infer #{step - 1}</label>}
        {c && <span class="dim">{count(Number(c.tokens), "token")}, {c.counted === "provider" ? "as the provider counted" : "estimated"} · {c.model}</span>}
        <a href={path} target="_blank" rel="noreferrer">JSON</a>
      </div>
      {!steps.length && <p class="nothing">No model has been called yet.</p>}
      {loaded.problem && <Problem of={loaded.problem} />}
      {!c && !loaded.problem && steps.length > 0 && <Loading />}
      {c && <TokenBar of={c} />}
      {c && c.compacted > 0 && <p class="note">A summary, and what is kept with it, replaces older messages: the first {count(c.compacted, "message")} here.</p>}
      {c?.truncated && <p class="note">Older messages did not fit and were left out.</p>}
      {c && (
        <ol class="tl-parts" aria-label="What the model read">
          {grouped(diff ? c.diff : c.parts.map((p) => ({ op: "same" as const, part: p })), diff).map((g, i) => (g.length === 1
            ? <PartView key={i} op={g[0]!.op} of={g[0]!.part} diff={diff} turn={t.turn} />
            : (
              <li key={i} class="tl-part">
                <details>
                  <summary><span class={`tl-dot part-${g[0]!.part.kind}`} aria-hidden="true" />{diff ? `${count(g.length, "part")} as before` : count(g.length, "tool")}
                    <span class="figure dim"> {count(g.reduce((n, d) => n + Number(d.part.tokens), 0), "token")}</span></summary>
                  <ol class="tl-parts">{g.map((d, n) => <PartView key={n} op={d.op} of={d.part} diff={diff} turn={t.turn} />)}</ol>
                </details>
              </li>
            )))}
        </ol>
      )}
    </div>
  );
}

/** grouped puts together what a reader skips: tools one after the other, and in a comparison what is the same. */
function grouped(of: Difference[], diff: boolean): Difference[][] {
  const all: Difference[][] = [];
  for (const d of of) {
    const last = all.at(-1)?.at(-1);
    const joins = last && (diff ? d.op === "same" && last.op === "same" : d.part.kind === "tools" && last.part.kind === "tools");
    if (joins) all.at(-1)!.push(d);
    else all.push([d]);
  }
  return all;
}

/** TokenBar shows how many tokens each kind of part has. */
function TokenBar({ of }: { of: Context }) {
  const sums = new Map<string, number>();
  for (const p of of.parts) if (Number(p.tokens)) sums.set(p.kind, (sums.get(p.kind) ?? 0) + Number(p.tokens));
  const all = [...sums.values()].reduce((n, x) => n + x, 0) || 1;
  return (
    <div class="tl-tokens">
      <div class="tl-tokenbar" aria-hidden="true">{[...sums].map(([k, n]) => <span key={k} class={`part-${k}`} style={{ width: `${(100 * n) / all}%` }} />)}</div>
      <ul class="tl-legend">{[...sums].map(([k, n]) => <li key={k}><span class={`tl-dot part-${k}`} aria-hidden="true" />{kinds[k] ?? k} <b class="figure">{n}</b> <span class="dim">{Math.round((100 * n) / all)} %</span></li>)}</ul>
    </div>
  );
}

const marks = { same: "", added: "new", removed: "gone" };

function PartView({ op, of: p, diff, turn }: { op: "same" | "added" | "removed"; of: Part; diff: boolean; turn: string }) {
  const long = p.text.length > 4000;
  const origin = Object.fromEntries(Object.entries(p.origin ?? {}).filter(([, v]) => v !== "" && v !== 0 && v !== null));
  const call = typeof origin.call_id === "string" ? origin.call_id : "";
  return (
    <li class={`tl-part ${op}`}>
      <details open={diff ? op !== "same" : p.kind !== "tools"}>
        <summary>
          <span class={`tl-dot part-${p.kind}`} aria-hidden="true" />{kinds[p.kind] ?? p.kind}{p.role && ` · ${p.role}`}{p.name && <> · <code>{visible(p.name.slice(0, 200))}</code></>}
          <span class="figure dim"> {count(Number(p.tokens), "token")}</span>{op !== "same" && <span class={`tag ${op}`}>{marks[op]}</span>}
        </summary>
        {p.media_type && <p class="dim">{p.media_type}, {bytes(Number(p.size ?? 0))}</p>}
        {p.text && <pre tabIndex={0} aria-label={`${kinds[p.kind] ?? p.kind} ${p.name.slice(0, 100)}`}>{visible(long ? p.text.slice(0, 4000) : p.text)}{long && `\n… ${p.text.length - 4000} more characters`}</pre>}
        {call && (!origin.turn_id || origin.turn_id === turn) && <p><a href={withParams({ tab: "", call, step: "", diff: "" })}>The call</a></p>}
        {Object.keys(origin).length > 0 && <details><summary class="dim">Where it is from</summary><Json value={origin} label="Origin" /></details>}
      </details>
    </li>
  );
}
