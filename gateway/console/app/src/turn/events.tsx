// All events of a turn, as the journal has them.
import { useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Event } from "../fold";
import { count, duration, visible } from "../format";
import { pretty } from "../json";
import { setParams } from "../route";
import { Copy, Json, Table } from "../ui";

/** words are what an event is found by. They are made once: a turn can have thousands, some of a megabyte. */
const words = new WeakMap<Event, string>();
function textOf(e: Event): string {
  let text = words.get(e);
  if (text === undefined) words.set(e, text = pretty(e).toLowerCase());
  return text;
}

/** gist is an event in a line. */
function gist(e: Event): string {
  const d = e.data ?? {};
  const of = d.message?.content?.map?.((p: { text?: string }) => p.text ?? "").join(" ") || d.result?.content?.map?.((p: { text?: string }) => p.text ?? "").join(" ");
  const text = d.title ?? of ?? d.reason ?? d.tool ?? d.output ?? d.summary ?? d.agent_id ?? "";
  return visible(String([d.tool && d.tool !== text ? d.tool : "", text].filter(Boolean).join(": ")).slice(0, 160).replace(/\s+/g, " "));
}

export function Events({ events, params }: { events: readonly Event[]; version: number; params: URLSearchParams }) {
  const q = (params.get("q") ?? "").toLowerCase();
  const type = params.get("type") ?? "";
  const about = params.get("about") ?? "";
  const seq = Number(params.get("seq")) || 0;
  const timer = useRef(0);
  const text = useSignal(params.get("q") ?? "");
  const types = useMemo(() => [...new Set(events.map((e) => e.type))].sort(), [events.length]);
  const rows = useMemo(() => events.filter((e) => (!type || e.type === type || type.endsWith(".*") && e.type.startsWith(type.slice(0, -1)))
    && (!about || e.step === about || e.step?.startsWith(`${about}.`) || textOf(e).includes(`"${about.toLowerCase()}"`)) && (!q || textOf(e).includes(q))), [events.length, q, type, about]);
  const chosen = seq ? events.find((e) => e.seq === seq) : undefined;
  const start = events.length ? Date.parse(events[0]!.time) : 0;
  const families = [...new Set(types.map((t) => `${t.split(".")[0]}.*`))];
  return (
    <div class="tl-events">
      <form class="filters" role="search" aria-label="Filter events" onSubmit={(e) => e.preventDefault()}>
        <input type="search" aria-label="Text" placeholder="Text" value={text.value} onInput={(e) => {
          const v = text.value = e.currentTarget.value;
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => setParams({ q: v }), 200);
        }} />
        <select aria-label="Type" value={type} onChange={(e) => setParams({ type: e.currentTarget.value })}>
          <option value="" selected={!type}>any type</option>
          {[...families, ...types].map((t) => <option key={t} value={t} selected={t === type}>{t}</option>)}
        </select>
        {about && <button type="button" class="quiet" onClick={() => setParams({ about: "" })}>about {about} ×</button>}
        <span class="dim" role="status">{rows.length === events.length ? count(rows.length, "event") : `${rows.length} of ${events.length} events`}</span>
        <Copy name="Copy as JSON lines" text={() => rows.map((e) => JSON.stringify(JSON.parse(pretty(e)))).join("\n")} />
      </form>
      {chosen && (
        <section class="panel" aria-label={`Event ${chosen.seq}`}>
          <div class="dialog-head"><h3>Event {chosen.seq}: {chosen.type}</h3><button type="button" class="icon" aria-label="Close the event" onClick={() => setParams({ seq: "" })}>×</button></div>
          <Json value={chosen} label={`Event ${chosen.seq}`} />
        </section>
      )}
      <Table<Event> label="Events" rows={rows as Event[]} id={(e) => String(e.seq)} href={(e) => hrefOf(e.seq, params)} empty={events.length ? "No event fits these filters." : "No event yet."} columns={[
        { name: "Seq", cell: (e) => e.seq }, { name: "At", cell: (e) => <span class="figure" title={e.time}>{duration(Date.parse(e.time) - start)}</span> },
        { name: "Type", cell: (e) => <code>{e.type}</code> }, { name: "Step", cell: (e) => <>{e.step ?? ""}{(e.attempt ?? 0) > 1 && ` · attempt ${e.attempt}`}</> },
        { name: "What", cell: (e) => <span class="tl-gist">{gist(e)}</span>, narrow: "hide" }, { name: "Actor", cell: (e) => e.actor ?? "", narrow: "hide" },
      ]} />
    </div>
  );
}

function hrefOf(seq: number, params: URLSearchParams): string {
  const q = new URLSearchParams(params);
  q.set("seq", String(seq));
  return `${location.pathname}?${q}`;
}
