// The timeline: an overview of all lanes, and a row for each step, call, wait and sub-agent.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { count, duration, money, visible } from "../format";
import { setParams, withParams } from "../route";
import { lanes, type Bar, type Lane, type Row, type Shown, type Timeline } from "../timeline";

export const laneNames: Record<Lane, string> = { worker: "Worker", model: "Model", tool: "Tools", policy: "Policy", wait: "Waits", agent: "Sub-agents" };

/** Scale places a time, in percent of the width. */
type Scale = (at: number) => number;

interface Cut { from: number; to: number; less: number }

/** idle are the long times in which a turn only waited. */
export function idle(t: Timeline, from: number, to: number): { from: number; to: number }[] {
  const busy: [number, number][] = [];
  for (const r of t.rows.values()) for (const b of r.bars) if (b.kind !== "wait" && !(r.child && !b.to)) busy.push([b.from, b.to || to]);
  busy.sort((a, b) => a[0] - b[0]);
  const all: { from: number; to: number }[] = [];
  let last = from;
  for (const [f, e] of busy) {
    if (f - last > 1000) all.push({ from: last, to: f });
    last = Math.max(last, e);
  }
  if (to - last > 1000) all.push({ from: last, to });
  return all;
}

/** scaleOf maps time to the width. Long waits are drawn short with `short`, else all of it is drawn as long as it was. */
export function scaleOf(from: number, to: number, waits: { from: number; to: number }[], short: boolean): { at: Scale; cuts: Cut[] } {
  const waited = waits.reduce((n, w) => n + w.to - w.from, 0);
  const each = short ? Math.max(1, (to - from - waited) * 0.08) : Infinity;
  const cuts = waits.map((w) => ({ ...w, less: Math.max(0, w.to - w.from - each) })).filter((c) => c.less > 0);
  const whole = Math.max(1, to - from - cuts.reduce((n, c) => n + c.less, 0));
  const at = (ms: number) => {
    let n = ms - from;
    for (const c of cuts) {
      if (ms >= c.to) n -= c.less;
      else if (ms > c.from) n -= c.less * ((ms - c.from) / (c.to - c.from));
    }
    return Math.min(100, Math.max(0, (100 * n) / whole));
  };
  return { at, cuts };
}

const px = (n: number) => Math.round(n * 10) / 10;

interface OverviewBar { kind: string; x: number; w: number }

/** laneBars are the bars of all lanes, joined where they would touch: a turn of many calls stays quick to draw. */
function laneBars(t: Timeline, at: Scale, now: number): Record<Lane, OverviewBar[]> {
  const all = Object.fromEntries(lanes.map((l) => [l, []])) as unknown as Record<Lane, OverviewBar[]>;
  const push = (lane: Lane, kind: string, x: number, to: number) => {
    const last = all[lane].at(-1);
    if (last && last.kind === kind && x - (last.x + last.w) < 0.2) last.w = Math.max(last.w, to - last.x);
    else all[lane].push({ kind, x, w: Math.max(0.3, to - x) });
  };
  for (const o of t.owners.length ? t.owners : t.started ? [{ from: t.started, to: t.ended }] : []) push("worker", "owner", at(o.from), at(o.to || now));
  for (const r of t.rows.values()) {
    if (r.mark) push(r.lane, r.state === "denied" || r.state === "failed" ? "bad" : "mark", at(r.from), at(r.from) + 0.3);
    else for (const b of r.bars) if (r.lane !== "worker" || b.kind === "gap" || b.kind === "queue") push(r.lane, r.state === "failed" && b.kind === "run" ? "bad" : b.kind, at(b.from), at(b.to || now));
  }
  return all;
}

/** paths are the bars of a lane as one path for each kind: a turn of thousands of bars has few elements. */
function paths(of: OverviewBar[], y: number, height: number): [string, string][] {
  const all = new Map<string, string>();
  for (const b of of) all.set(b.kind, `${all.get(b.kind) ?? ""}M${px(b.x)} ${y}h${Math.max(0.2, px(b.w))}v${height}h${-Math.max(0.2, px(b.w))}z`);
  return [...all];
}

export function Overview({ t, at, now, upTo, cuts }: { t: Timeline; at: Scale; now: number; upTo: number; cuts: Cut[] }) {
  const bars = laneBars(t, at, now);
  const used = lanes.filter((l) => l !== "agent" || bars.agent.length > 0);
  const height = 16;
  return (
    <div class="tl-overview">
      <div class="tl-lanes" aria-hidden="true">{used.map((l) => <span key={l} class={`lane-${l}`}>{laneNames[l]}</span>)}</div>
      <svg viewBox={`0 0 100 ${used.length * height}`} width="100%" height={used.length * height} preserveAspectRatio="none" role="img" aria-label={`Overview of ${used.map((l) => laneNames[l].toLowerCase()).join(", ")}`}>
        {used.map((l, i) => (
          <g key={l} class={`lane-${l}`}>
            {paths(bars[l], i * height + 4, height - 8).map(([kind, d]) => <path key={kind} class={`o-${kind}`} d={d} />)}
          </g>
        ))}
        {cuts.map((c) => <rect key={c.from} class="o-cut" x={at(c.from)} width={Math.max(0.3, at(c.to) - at(c.from))} y="0" height={used.length * height} />)}
        {upTo > 0 && <rect class="o-at" x={Math.min(99.7, at(upTo))} width="0.3" y="0" height={used.length * height} />}
      </svg>
    </div>
  );
}

const stateWords: Partial<Record<Row["state"], string>> = { unknown: "outcome unknown", lost: "" };

/** figures are what a row says besides its name. */
function figures(r: Row): string {
  const u = r.model?.usage ?? r.child?.usage;
  return [
    u ? `${u.input_tokens} → ${u.output_tokens}` : "",
    u ? money(Number(u.cost_micros ?? 0)) : "",
  ].filter(Boolean).join(" · ");
}

/** lasted is the time that a row took: what it ran, not what it waited in a queue or for people. */
export function lasted(r: Row, now: number): number {
  if (r.mark) return 0;
  const runs = r.bars.filter((b) => b.kind === "run");
  const of = r.lane === "model" || r.lane === "tool" ? runs : r.bars;
  if (!of.length) return (r.to || now) - r.from;
  return of.reduce((n, b) => n + (b.to || now) - b.from, 0);
}

const barNames: Record<Bar["kind"], string> = { queue: "queued", run: "ran", lost: "lost attempt", wait: "waited", gap: "no worker" };

function RowView({ s, at, now, chosen, fold, index, size }: { s: Shown; at: Scale; now: number; chosen: string; fold: (row: Row) => void; index: number; size: number }) {
  const { row: r, depth, key } = s;
  const c = r.call;
  const tags = [c?.cached ? (c.effect === "once" ? "from the ledger" : "cached") : "", c?.recorded ? "recorded" : "", r.attempts > 1 && !r.lost.length ? count(r.attempts, "attempt") : "", stateWords[r.state] ?? (["failed", "denied", "waiting", "cancelled"].includes(r.state) ? r.state : "")].filter(Boolean);
  const took = r.mark ? "" : duration(lasted(r, now)) + (r.to ? "" : "…");
  const more = figures(r);
  return (
    <li class={`tl-row lane-${r.lane} is-${r.state}${key === chosen ? " chosen" : ""}`} aria-setsize={size} aria-posinset={index + 1}>
      <div class="tl-name" style={{ paddingLeft: `${Math.min(depth, 8) * 0.9}rem` }}>
        {s.folded !== null && <button type="button" class="icon tl-fold" aria-expanded={!s.folded} aria-label={`${s.folded ? "Unfold" : "Fold"} ${r.name}`} onClick={() => fold(r)}>{s.folded ? "▸" : "▾"}</button>}
        <a class="tl-link" href={withParams({ span: key, call: "" })} aria-current={key === chosen ? "true" : undefined}>
          <span class="unseen">{laneNames[r.lane]}: </span><span class="tl-text">{visible(r.name.slice(0, 200))}</span>
        </a>
        {r.lost.map((l) => <del key={l.attempt} class="tag" title={`${l.why}${l.owner ? `: ${l.owner}` : ""}`}>attempt {l.attempt}</del>)}
        {tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
      </div>
      <span class="tl-took figure">{took}</span>
      <span class="tl-more figure">{more}</span>
      <div class="tl-bars" aria-hidden="true">
        {r.mark
          ? <span class={`tl-mark ${r.state}`} style={{ left: `${at(r.from)}%` }} />
          : r.bars.map((b, i) => (
            <span key={i} class={`tl-bar ${b.kind}${b.to ? "" : " live"}${b.kind === "run" && (r.state === "failed" || r.state === "denied") ? " bad" : ""}`} title={`${barNames[b.kind]} ${duration((b.to || now) - b.from)}`}
              style={{ left: `${at(b.from)}%`, width: `max(3px, ${at(b.to || now) - at(b.from)}%)` }} />
          ))}
      </div>
    </li>
  );
}

/** many is the number of rows from which only those in view are in the document. */
const many = 150;

export function Rows({ rows, at, now, chosen, fold }: { rows: Shown[]; at: Scale; now: number; chosen: string; fold: (row: Row) => void }) {
  const box = useRef<HTMLOListElement>(null);
  const view = useSignal({ first: 0, shown: 60, height: 32 });
  const virtual = rows.length > many;
  const measure = () => {
    const b = box.current;
    if (!b || !virtual) return;
    const height = Math.max(20, b.querySelector<HTMLElement>(".tl-row")?.offsetHeight ?? 32);
    const first = Math.max(0, Math.floor(b.scrollTop / height) - 15);
    const drawn = Math.ceil(b.clientHeight / height) + 30;
    const v = view.value;
    if (v.first !== first || v.shown !== drawn || v.height !== height) view.value = { first, shown: drawn, height };
  };
  useLayoutEffect(measure, [virtual]);
  // A chosen row that a link opens is brought into view, once.
  const where = useMemo(() => rows.findIndex((r) => r.key === chosen), [chosen, rows.length > 0]);
  useLayoutEffect(() => {
    const b = box.current;
    if (where < 0 || !b || !virtual) return;
    const top = where * view.value.height;
    if (top < b.scrollTop || top > b.scrollTop + b.clientHeight - 40) b.scrollTop = Math.max(0, top - b.clientHeight / 2);
  }, [where]);
  const { first, shown: drawn, height } = view.value;
  const from = virtual ? Math.min(first, rows.length - 1) : 0;
  const to = virtual ? Math.min(rows.length, from + drawn) : rows.length;
  const move = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" || e.key === "j" ? 1 : e.key === "ArrowUp" || e.key === "k" ? -1 : 0;
    const links = [...box.current!.querySelectorAll<HTMLElement>(".tl-link")];
    const here = links.indexOf(document.activeElement as HTMLElement);
    if (!step || here < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    links[here + step]?.focus();
  };
  return (
    <ol ref={box} class={virtual ? "tl-rows virtual" : "tl-rows"} aria-label="Steps, calls and waits" onScroll={measure} onKeyDown={move} tabIndex={virtual ? 0 : undefined}>
      {from > 0 && <li class="tl-gap" aria-hidden="true" style={{ height: `${from * height}px` }} />}
      {rows.slice(from, to).map((s, i) => <RowView key={s.key} s={s} at={at} now={now} chosen={chosen} fold={fold} index={from + i} size={rows.length} />)}
      {to < rows.length && <li class="tl-gap" aria-hidden="true" style={{ height: `${(rows.length - to) * height}px` }} />}
    </ol>
  );
}

/** closePanel is the address without what is chosen. */
export const closePanel = () => setParams({ span: "", call: "" });
