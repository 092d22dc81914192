// A tool: its definition, trying it, its calls, and who may call it.
import { useSignal } from "@preact/signals";
import { post, type Schema } from "../api";
import { parse } from "../json";
import { globbed, number, type AgentRow, type Group, type ToolRow } from "../model";
import type { PageProps } from "../route";
import { can, confirmed, Facts, Field, Id, Json, Loading, Page, Problem, SchemaForm, Status, Tabs, useLoad, When } from "../ui";
import { Failed } from "../api";
import { duration, visible } from "../format";
import { Matrix, useSubjects } from "../view/access";
import { CallTable, Effect, toolState, useStats } from "./tools";
import type * as schema from "../schema";

export default function ToolPage({ id, params }: PageProps) {
  const path = `/v1/tools/${encodeURIComponent(id)}`;
  const { data: tool, problem } = useLoad<ToolRow>(path);
  const stats = useStats().get(id);
  const tab = params.get("tab") ?? "try";
  const crumbs: [string, string][] = [["Tools", "/tools"], ...(tool ? [[tool.source, `/sources/${tool.source}`] as [string, string]] : [])];
  if (problem) return <Page title={id} crumbs={crumbs}><Problem of={problem} /></Page>;
  if (!tool) return <Page title={id} crumbs={crumbs}><Loading /></Page>;
  return (
    <Page title={id} crumbs={crumbs} api={path}>
      <p>{visible(tool.description || tool.title)}</p>
      <Facts of={[
        ["State", <Status of={toolState(tool)} />], ["Effect", <Effect of={tool.effect} />],
        ["Calls in 24 hours", stats && <span class="figure">{number(stats.calls)}, {number(stats.errors)} failed</span>],
        ["Mean and 95 %", stats && <span class="figure">{duration(stats.mean_latency_ms)}, {duration(stats.p95_latency_ms)}</span>],
        ["From the cache", stats && number(stats.cache_hits) > 0 && stats.cache_hits],
        ["Tags", tool.tags.length > 0 && tool.tags.map((t) => <span key={t} class="tag">{t}</span>)],
        ["Agent", tool.agent_id && <a href={`/agents/${tool.agent_id}`}>{tool.agent_id}</a>], ["Changed", <When at={tool.update_time} />],
      ]} />
      {tool.drifted && <p class="note bad">Its definition has changed, so that it is not called until <a href={`/sources/${tool.source}?tab=drift`}>the change is accepted</a>.</p>}
      <Tabs at={tab} of={[["try", "Try it"], ["who", "Who may call it"], ["calls", "Calls"], ["schema", "Definition"], ["use", "Used by"]]} />
      {tab === "try" && <Try tool={tool} />}
      {tab === "who" && <Who tool={id} />}
      {tab === "calls" && <CallTable rest={`tool=${encodeURIComponent(id)}`} />}
      {tab === "schema" && <Definition of={tool} />}
      {tab === "use" && <UsedBy tool={tool} />}
    </Page>
  );
}

type Invoked = schema.InvokeToolResponse;

const schemaOf = (text: string): Schema | null => { try { return text ? parse(text) as Schema : null; } catch { return null; } };

function Try({ tool }: { tool: ToolRow }) {
  const value = useSignal<unknown>({});
  const fresh = useSignal(false);
  const busy = useSignal(false);
  const result = useSignal<Invoked | null>(null);
  const problem = useSignal<Failed | null>(null);
  if (!can("registry.tools.invoke")) return <Problem of={new Failed(403, "", "You may not call tools directly.", "", "", "registry.tools.invoke")} />;
  const run = async () => {
    if (tool.effect !== "read" && !await confirmed(`Call ${tool.name}?`, tool.effect === "once" ? "It changes something, and cannot be repeated safely." : "It changes something.", "Call it")) return;
    busy.value = true;
    problem.value = result.value = null;
    try {
      result.value = await post<Invoked>(`/v1/tools/${encodeURIComponent(tool.name)}:invoke`, { arguments: value.value ?? {}, fresh: fresh.value });
    } catch (e) {
      problem.value = e as Failed;
    }
    busy.value = false;
  };
  return (
    <div class="columns">
      <form class="panel" aria-label="Arguments" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <SchemaForm schema={schemaOf(tool.input_schema_json)} value={value.value} onInput={(v) => { value.value = v; }} />
        {tool.effect === "read" && <label class="check"><input type="checkbox" checked={fresh.value} onChange={(e) => { fresh.value = e.currentTarget.checked; }} /> <span>Call it even if the cache has a result</span></label>}
        <div class="buttons"><button type="submit" disabled={busy.value}>{busy.value ? "Calling…" : "Call it as yourself"}</button></div>
      </form>
      <section class="panel" aria-label="Result" aria-live="polite">
        {problem.value && <Problem of={problem.value} />}
        {!problem.value && !result.value && <p class="dim">The result is shown here. The call is made with your rights, and is in the list of calls.</p>}
        {result.value && <Result of={result.value} />}
      </section>
    </div>
  );
}

function Result({ of: r }: { of: Invoked }) {
  const text = r.content.map((c) => c.text ?? c.link?.uri ?? (c.blob ? `[${c.blob.media_type}]` : "")).join("\n");
  const structured = r.structured_content ?? schemaOf(text);
  return (
    <>
      <Facts of={[["Outcome", <Status of={r.is_error ? "failed" : "done"} />], ["Took", duration(r.latency_ms)], ["Cache", r.cached && "from the cache"], ["Ledger", <Id of={r.execution_id} />]]} />
      {text && <pre class="panel result-text" tabIndex={0} role="region" aria-label="Text of the result">{visible(text.slice(0, 50_000))}{text.length > 50_000 && ` … and ${text.length - 50_000} more characters`}</pre>}
      {structured != null && typeof structured === "object" && <Json value={structured} label="Result" />}
    </>
  );
}

function Who({ tool }: { tool: string }) {
  const known = useSubjects();
  const more = useSignal<string[]>([]);
  const typed = useSignal("");
  if (!known) return <Loading />;
  const subjects = [...new Set([...known, ...more.value])];
  return (
    <>
      <Matrix subjects={subjects} tools={[tool]} />
      <form class="flow" onSubmit={(e) => { e.preventDefault(); if (typed.value.trim()) more.value = [...more.value, typed.value.trim()]; typed.value = ""; }}>
        <Field label="Another user" hint="With the roles of the last decision about them."><input value={typed.value} onInput={(e) => { typed.value = e.currentTarget.value; }} /></Field>
        <button type="submit" class="quiet">Add</button><a href={`/access?tab=decisions&q=${encodeURIComponent(tool)}`}>Decisions about it</a>
      </form>
    </>
  );
}

function Definition({ of: t }: { of: ToolRow }) {
  return (
    <>
      <Facts of={[["Name at the source", t.original_name], ["Definition", <Id of={t.definition_hash} />]]} />
      <h3>Arguments</h3><Json value={schemaOf(t.input_schema_json) ?? {}} label="Schema of the arguments" />
      {t.output_schema_json && <><h3>Result</h3><Json value={schemaOf(t.output_schema_json)} label="Schema of the result" /></>}
    </>
  );
}

function UsedBy({ tool }: { tool: ToolRow }) {
  const agents = useLoad<{ agents: AgentRow[] }>("/v1/agents?page_size=200");
  const groups = useLoad<{ tool_groups: Group[] }>("/v1/tool-groups?page_size=200");
  const using = agents.data?.agents.filter((a) => globbed(tool.name, a.tools) || tool.agent_id !== "" && globbed(tool.agent_id, a.agents));
  return (
    <div class="columns">
      <section class="panel" aria-label="Agents"><h3>Agents that are offered it</h3>
        {agents.problem && <Problem of={agents.problem} />}
        {using && (using.length ? <ul class="plain">{using.map((a) => <li key={a.id}><a href={`/agents/${a.id}`}>{a.display_name || a.id}</a></li>)}</ul> : <p class="dim">None.</p>)}</section>
      <section class="panel" aria-label="Groups"><h3>Groups it is in</h3>
        {groups.problem && <Problem of={groups.problem} />}
        {groups.data && (groups.data.tool_groups.length ? <ul class="plain">{groups.data.tool_groups.map((g) => <InGroup key={g.name} group={g.name} tool={tool.name} />)}</ul> : <p class="dim">There is no group.</p>)}</section>
    </div>
  );
}

function InGroup({ group, tool }: { group: string; tool: string }) {
  const { data } = useLoad<{ member: boolean; message: string }>(`/v1/tool-groups/${group}:explain?tool=${encodeURIComponent(tool)}`);
  return <li><a href={`/tools?tab=groups&group=${group}`}>{group}</a> {data && <span class="dim">{data.member ? "yes" : "no"}: {data.message}</span>}</li>;
}
