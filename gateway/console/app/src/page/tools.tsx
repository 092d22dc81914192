// Tools: what agents can call, the groups that policies name, and the calls that were made.
import { useSignal } from "@preact/signals";
import { patch, post, query, remove } from "../api";
import { count, visible } from "../format";
import { globbed, number, type Execution, type Group, type SourceRow, type ToolRow, type ToolStats } from "../model";
import { go, type PageProps } from "../route";
import { can, Confirm, confirmed, failed, Field, Filters, Page, Problem, Status, Table, Tabs, toast, Took, useFiltered, useLoad, usePages, When, type Filter } from "../ui";

export default function ToolsPage({ params }: PageProps) {
  const tab = params.get("tab") ?? "tools";
  return (
    <Page title="Tools" wide api={{ tools: "/v1/tools", groups: "/v1/tool-groups", calls: "/v1/executions" }[tab] ?? "/v1/tools"}
      actions={<a class="button quiet" href="/sources">Sources</a>}>
      <Tabs at={tab} of={[["tools", "Tools"], ["groups", "Groups"], ["calls", "Calls"]]} />
      {tab === "groups" ? <Groups params={params} /> : tab === "calls" ? <Calls params={params} /> : <List params={params} />}
    </Page>
  );
}

function List({ params }: { params: URLSearchParams }) {
  const sources = useLoad<{ sources: SourceRow[] }>("/v1/sources?page_size=200").data?.sources ?? [];
  const filters: Filter[] = [
    { key: "q", name: "Search", kind: "text" },
    { key: "source", name: "Source", kind: "choice", choices: sources.map((s) => s.name) },
    { key: "effect", name: "Effect", kind: "choice", choices: ["read", "idempotent", "once"] },
    { key: "tag", name: "Tag", kind: "text" },
  ];
  const q = params.get("q") ?? "";
  const rest = query({ page_size: 1000, source: params.get("source"), tag: params.get("tag"), effect: params.get("effect") });
  const listed = usePages<ToolRow>(`/v1/tools${rest}`, "tools");
  const found = useLoad<{ tools: { tool: ToolRow }[] }>(q ? `/v1/tools:search${query({ query: q, limit: 50, source: params.get("source") })}` : null);
  const stats = useStats();
  const rows = q ? found.data?.tools.map((t) => t.tool) ?? null : listed.rows;
  const problem = q ? found.problem : listed.problem;
  return (
    <>
      <Changed of={sources} />
      <Filters of={filters} />
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<ToolRow> label="List of tools" rows={rows} id={(t) => t.name} href={(t) => `/tools/${t.name}`} more={q ? null : listed.more}
        empty={q || rest !== "?page_size=1000" ? "No tool fits." : <>No source has tools yet. <a href="/sources">Add a source</a>.</>}
        columns={[
          { name: "Name", cell: (t) => <code>{t.name}</code> },
          { name: "What it does", cell: (t) => <span class="clip">{visible(t.title || t.description)}</span>, narrow: "hide" },
          { name: "Effect", cell: (t) => <Effect of={t.effect} /> },
          { name: "State", cell: (t) => <Status of={toolState(t)} /> },
          { name: "Calls", cell: (t) => <span class="figure">{number(stats.get(t.name)?.calls)}</span> },
          { name: "Failed", cell: (t) => <Rate of={stats.get(t.name)} /> },
          { name: "95 % within", cell: (t) => <Took ms={stats.get(t.name)?.p95_latency_ms} />, narrow: "hide" },
        ]} />}
      <p class="dim">Figures are of the last 24 hours.</p>
    </>
  );
}

/** Changed names the sources whose tools wait until somebody accepts what has changed. */
export function Changed({ of }: { of: SourceRow[] }) {
  return <>{of.filter((s) => s.drifted_count > 0).map((s) => (
    <p key={s.id} class="note bad">{count(s.drifted_count, "tool")} of {s.name} changed, and {s.drifted_count === 1 ? "is" : "are"} not called until you <a href={`/sources/${s.name}?tab=drift`}>compare and accept</a>.</p>
  ))}</>;
}

/** useStats are the figures of tools that were called, by name. */
export function useStats(): Map<string, ToolStats> {
  const { data } = useLoad<{ tools: ToolStats[] }>("/v1/analytics/tools");
  return new Map((data?.tools ?? []).map((t) => [t.tool, t]));
}

export const toolState = (t: ToolRow) => (t.drifted ? "drifted" : !t.available ? "unavailable" : t.deprecated ? "deprecated" : "available");

const Rate = ({ of }: { of?: { errors: string; error_rate: number } }) => (number(of?.errors) ? <span class="note bad-text">{of!.errors} ({Math.round(of!.error_rate * 100)} %)</span> : <span class="dim">–</span>);

const effects: Record<string, string> = {
  read: "only reads: it may be repeated and cached", idempotent: "changes something, and may be repeated", once: "must not be repeated: an unknown outcome waits for a person",
};

export const Effect = ({ of }: { of: string | null }) => <span class={`tag effect-${of ?? "once"}`} title={effects[of ?? ""] ?? ""}>{of ?? "once"}</span>;

function Groups({ params }: { params: URLSearchParams }) {
  const { rows, more, problem, reload } = usePages<Group>("/v1/tool-groups?page_size=200", "tool_groups");
  const edited = useSignal<Group | "new" | null>(null);
  const open = params.get("group") ?? "";
  const drop = async (g: Group) => {
    if (!await confirmed(`Delete the group ${g.name}?`, "Policies that allow it then allow nothing by it; those that deny it deny all tools.", "Delete", true)) return;
    remove(`/v1/tool-groups/${g.name}`).then(() => { toast("ok", `Group ${g.name} was deleted.`); reload(); }, failed);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">Policies allow or deny groups. Members follow from selectors as sources change.</span>
        {can("registry.groups.create") && <button type="button" onClick={() => { edited.value = "new"; }}>New group</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Group> label="Groups" rows={rows} id={(g) => g.name} more={more} href={(g) => `/tools?tab=groups&group=${g.name}`}
        empty="There is no group yet. Policies can name tools without one."
        columns={[
          { name: "Name", cell: (g) => g.name },
          { name: "What it is for", cell: (g) => g.description },
          { name: "Selects", cell: (g) => <GroupRule of={g} /> },
          { name: "Changed", cell: (g) => <When at={g.update_time} />, narrow: "hide" },
          { name: "", cell: (g) => (
            <span class="flow">
              {can("registry.groups.update") && <button type="button" class="quiet small" onClick={() => { edited.value = g; }}>Edit</button>}
              {can("registry.groups.delete") && <button type="button" class="quiet small" onClick={() => drop(g)}>Delete</button>}
            </span>
          ) },
        ]} />}
      {open && <Members of={open} />}
      {edited.value && <EditGroup of={edited.value === "new" ? null : edited.value} onClose={() => { edited.value = null; reload(); }} />}
    </>
  );
}

function GroupRule({ of: g }: { of: Group }) {
  const said = g.selectors.map((s) => [s.source && `source ${s.source}`, s.name && `named ${s.name}`, s.effects.length > 0 && s.effects.join(" or "), s.tags.length > 0 && `tag ${s.tags.join(", ")}`,
    ...Object.entries(s.labels ?? {}).map(([k, v]) => `label ${k}=${v}`)].filter(Boolean).join(", "));
  return <>{[...said, ...g.tools].join("; ") || "nothing"}{g.exclude.length > 0 && <span class="dim"> without {g.exclude.join(", ")}</span>}</>;
}

function Members({ of }: { of: string }) {
  const { data, problem } = useLoad<Group>(`/v1/tool-groups/${of}`);
  return (
    <section class="panel" aria-label={`Members of ${of}`}>
      <h3>Members of {of}</h3>
      {problem && <Problem of={problem} />}
      {data && (data.members.length ? <ul class="plain columns-list">{data.members.map((m) => <li key={m}><a href={`/tools/${m}`}><code>{m}</code></a></li>)}</ul> : <p class="dim">It has no member now.</p>)}
    </section>
  );
}

const lines = (text: string) => text.split(/[\n,]/).map((l) => l.trim()).filter(Boolean);

function EditGroup({ of, onClose }: { of: Group | null; onClose: () => void }) {
  const first = of?.selectors[0];
  const name = useSignal(of?.name ?? "");
  const about = useSignal(of?.description ?? "");
  const source = useSignal(first?.source ?? "");
  const effect = useSignal(first?.effects[0] ?? "");
  const tools = useSignal((of?.tools ?? []).join("\n"));
  const exclude = useSignal((of?.exclude ?? []).join("\n"));
  const all = useLoad<{ tools: ToolRow[] }>("/v1/tools?page_size=1000").data?.tools ?? [];
  const chosen = all.filter((t) => !globbed(t.name, lines(exclude.value)) && (globbed(t.name, lines(tools.value))
    || (source.value || effect.value) && (!source.value || globbed(t.source, [source.value])) && (!effect.value || t.effect === effect.value)));
  const save = async () => {
    const selector = source.value || effect.value ? [{ ...first, source: source.value, effects: effect.value ? [effect.value] : [] }] : [];
    const body = { name: name.value, description: about.value, selectors: [...selector, ...(of?.selectors.slice(1) ?? [])], tools: lines(tools.value), exclude: lines(exclude.value) };
    await (of ? patch(`/v1/tool-groups/${of.name}`, body) : post("/v1/tool-groups", body));
    toast("ok", `Group ${name.value} was saved.`);
    onClose();
    go(`/tools?tab=groups&group=${name.value}`, true);
  };
  return (
    <Confirm title={of ? `Group ${of.name}` : "New group"} action="Save" onYes={save} onNo={onClose}>
      {!of && <Field label="Name"><input required value={name.value} onInput={(e) => { name.value = e.currentTarget.value; }} /></Field>}
      <Field label="What it is for"><input value={about.value} onInput={(e) => { about.value = e.currentTarget.value; }} /></Field>
      <Field label="All tools of the source" hint="Empty: of any source. * stands for any characters."><input value={source.value} onInput={(e) => { source.value = e.currentTarget.value; }} /></Field>
      <Field label="With the effect"><select value={effect.value} onChange={(e) => { effect.value = e.currentTarget.value; }}>{["", "read", "idempotent", "once"].map((x) => <option key={x} value={x}>{x || "any"}</option>)}</select></Field>
      <Field label="And these tools" hint="One a line."><textarea rows={2} value={tools.value} onInput={(e) => { tools.value = e.currentTarget.value; }} /></Field>
      <Field label="Without these" hint="One a line."><textarea rows={2} value={exclude.value} onInput={(e) => { exclude.value = e.currentTarget.value; }} /></Field>
      <p class="dim" role="status">{chosen.length} tools now{chosen.length > 0 && `: ${chosen.slice(0, 6).map((t) => t.name).join(", ")}${chosen.length > 6 ? " …" : ""}`}</p>
      {(of?.selectors.length ?? 0) > 1 && <p class="dim">Its other {of!.selectors.length - 1} selectors stay as they are.</p>}
    </Confirm>
  );
}

const callFilters: Filter[] = [
  { key: "tool", name: "Tool", kind: "text" },
  { key: "source", name: "Source", kind: "text" },
  { key: "state", name: "State", kind: "choice", choices: ["open", "done", "failed", "unresolved", "waiting"] },
  { key: "errors", name: "Outcome", kind: "choice", choices: [["", "any outcome"], ["true", "failed only"]] },
  { key: "start_time", name: "Time", kind: "time" },
];

function Calls({ params }: { params: URLSearchParams }) {
  return <><Filters of={callFilters} /><CallTable rest={useFiltered(callFilters, params)} /></>;
}

/** CallTable is the ledger: one row a call, each with what came of it. */
export function CallTable({ rest }: { rest: string }) {
  const { rows, more, problem } = usePages<Execution>(`/v1/executions?page_size=100${rest && `&${rest}`}`, "executions");
  if (problem) return <Problem of={problem} />;
  return (
    <Table<Execution> label="Calls" rows={rows} id={(x) => x.id} more={more} href={(x) => (x.turn_id ? `/turns/${x.turn_id}?call=${encodeURIComponent(x.call_id)}` : `/tools/${x.tool}?tab=calls`)}
      empty="No call fits." columns={[
        { name: "Tool", cell: (x) => <code>{x.tool}</code> },
        { name: "Outcome", cell: (x) => <Status of={x.is_error ? "failed" : x.state} /> },
        { name: "Why", cell: (x) => (x.is_error || x.state !== "done" ? <CallError of={x} /> : x.cache === "hit" ? <span class="dim">from the cache</span> : null) },
        { name: "User", cell: (x) => <span class="whole">{x.subject}</span>, narrow: "hide" },
        { name: "Effect", cell: (x) => <Effect of={x.effect} />, narrow: "hide" },
        { name: "Attempts", cell: (x) => <span class="figure">{x.attempts}</span>, narrow: "hide" },
        { name: "Took", cell: (x) => <Took ms={x.latency_ms} /> },
        { name: "When", cell: (x) => <When at={x.create_time} /> },
      ]} />
  );
}

/** CallError says why a call failed: its code at once, the words of the tool on request, which the ledger gives one by one. */
function CallError({ of: x }: { of: Execution }) {
  const open = useSignal(false);
  const { data, problem } = useLoad<Execution>(open.value ? `/v1/executions/${x.id}` : null);
  return (
    <>
      {x.code && <code>{x.code}</code>} <button type="button" class="quiet small" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>details</button>
      {open.value && <div class="note">{problem ? problem.message : data ? <><b>sent</b> {visible(data.input.slice(0, 4000)) || "–"}<br /><b>got</b> {visible(data.output.slice(0, 4000)) || "–"}</> : "Reading…"}</div>}
    </>
  );
}
