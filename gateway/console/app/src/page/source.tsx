// A source: its health, what has changed there, the user's connection, its tools and its settings.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, patch, post, remove, type Failed, type Known } from "../api";
import { short, visible, webAddress } from "../format";
import type { Drifted, SourceRow, ToolRow } from "../model";
import { go, type PageProps } from "../route";
import { can, confirmed, Empty, Facts, failed, Json, JsonField, Loading, Page, Problem, Status, Table, Tabs, toast, useLoad, usePages, When } from "../ui";
import { Diff } from "../view/diff";
import { Breaker, sourceState, sync } from "./sources";
import { CallTable, Effect, toolState } from "./tools";
import type * as schema from "../schema";

const perUser = new Set(["oauth2_authorization_code"]);

export default function SourcePage({ id, params }: PageProps) {
  const path = `/v1/sources/${encodeURIComponent(id)}`;
  const { data: s, problem, reload } = useLoad<SourceRow>(path, 10_000);
  const tab = params.get("tab") ?? "tools";
  const crumbs: [string, string][] = [["Tools", "/tools"], ["Sources", "/sources"]];
  if (!s) return <Page title={id} crumbs={crumbs}>{problem ? <Problem of={problem} /> : <Loading />}</Page>;
  const enable = () => patch(path, { disabled: !s.disabled }).then(() => { toast("ok", s.disabled ? `${s.name} is used again.` : `${s.name} is not used now.`); reload(); }, failed);
  const drop = async () => {
    if (!await confirmed(`Delete the source ${s.name}?`, "Its tools are gone for all agents. What was called stays in the ledger.", "Delete", true)) return;
    remove(path).then(() => { toast("ok", `Source ${s.name} was deleted.`); go("/sources"); }, failed);
  };
  return (
    <Page title={s.name} crumbs={crumbs} api={path} state={s.state === "ready" ? "" : "failed"} actions={
      <>
        {can("registry.sources.sync") && <button type="button" onClick={() => sync(s.name, reload)}>Sync</button>}
        {can("registry.sources.update") && <button type="button" class="quiet" onClick={enable}>{s.disabled ? "Use it" : "Stop using it"}</button>}
        {can("registry.sources.delete") && <button type="button" class="quiet bad" onClick={drop}>Delete</button>}
      </>
    }>
      <Facts of={[
        ["State", <Status of={sourceState(s)} />], ["Kind", s.kind], ["Where", s.url || s.command.join(" ")], ["Version", s.server_version], ["Protocol", s.protocol_version as string],
        ["Tools", s.tool_count], ["Calls", <Breaker of={s.breaker} />], ["Last sync", <When at={s.sync_time} />], ["Credential", s.auth?.kind.replaceAll("_", " ")],
      ]} />
      {s.last_error && <p class="note bad" role="alert">{visible(s.last_error)}</p>}
      {s.warnings.map((w) => <p key={w} class="note">{visible(w)}</p>)}
      <Tabs at={tab} of={[["tools", "Tools"], ["drift", s.drifted_count ? `Changes (${s.drifted_count})` : "Changes"], ["connection", "Your connection"], ["calls", "Calls"], ["settings", "Settings"]]} />
      {tab === "tools" && <Tools source={s.name} />}
      {tab === "drift" && <Drift source={s} done={reload} />}
      {tab === "connection" && <Connection source={s} />}
      {tab === "calls" && <CallTable rest={`source=${encodeURIComponent(s.name)}`} />}
      {tab === "settings" && <Settings source={s} done={reload} />}
    </Page>
  );
}

function Tools({ source }: { source: string }) {
  const { rows, more, problem } = usePages<ToolRow>(`/v1/tools?page_size=1000&source=${encodeURIComponent(source)}`, "tools");
  if (problem) return <Problem of={problem} />;
  return <Table<ToolRow> label="Tools of the source" rows={rows} id={(t) => t.name} href={(t) => `/tools/${t.name}`} more={more} empty="It has no tools."
    columns={[
      { name: "Name", cell: (t) => <code>{t.name}</code> }, { name: "What it does", cell: (t) => <span class="clip">{visible(t.title || t.description)}</span>, narrow: "hide" },
      { name: "Effect", cell: (t) => <Effect of={t.effect} /> }, { name: "State", cell: (t) => <Status of={toolState(t)} /> },
    ]} />;
}

function Drift({ source: s, done }: { source: SourceRow; done: () => void }) {
  const { data, problem, reload } = useLoad<{ tools: Drifted[] }>(`/v1/sources/${encodeURIComponent(s.name)}:diff`);
  const left = useSignal<Set<string>>(new Set());
  if (problem) return <Problem of={problem} />;
  if (!data) return <Loading />;
  if (!data.tools.length) return <Empty>{s.pin ? "No definition has changed since it was accepted." : "Changes of definitions are accepted at once. With the setting pin they wait for somebody."}</Empty>;
  const chosen = data.tools.filter((t) => !left.value.has(t.name));
  const accept = () => post(`/v1/sources/${encodeURIComponent(s.name)}:accept`, { tools: chosen.map((t) => ({ name: t.name, definition_hash: t.definition_hash })) })
    .then(() => { toast("ok", `${chosen.length} of ${data.tools.length} changes were accepted.`); reload(); done(); }, failed);
  const toggle = (name: string) => {
    const next = new Set(left.value);
    if (!next.delete(name)) next.add(name);
    left.value = next;
  };
  return (
    <>
      <p>These tools are not called: a model would read another definition than the one that was accepted. Requests for approval of the old one are void.</p>
      {data.tools.map((t) => (
        <section key={t.name} class="panel" aria-label={t.name}>
          <label class="check"><input type="checkbox" checked={!left.value.has(t.name)} onChange={() => toggle(t.name)} /> <code>{t.name}</code></label>
          <p class="dim">{short(t.accepted_definition_hash)} → {short(t.definition_hash)}</p>
          <Diff text={t.diff} label={`Change of ${t.name}`} />
        </section>
      ))}
      {can("registry.sources.accept") && <div class="buttons"><button type="button" disabled={!chosen.length} onClick={accept}>Accept {chosen.length === data.tools.length ? "all changes" : `${chosen.length} changes`}</button></div>}
    </>
  );
}

type Connected = Known<schema.Connection, "state" | "create_time">;
const ended = new Set(["connected", "failed", "expired"]);
type Attempt = Known<schema.ConnectionAttempt, "state">;

function Connection({ source: s }: { source: SourceRow }) {
  const path = `/v1/connections/${encodeURIComponent(s.name)}`;
  const personal = perUser.has(s.auth?.kind ?? "");
  const { data, problem, reload } = useLoad<Connected>(personal ? path : null, 5000);
  const attempt = useSignal<Attempt | null>(null);
  const now = useLoad<Attempt>(attempt.value ? `/v1/connection-attempts/${attempt.value.id}` : null, (a) => (a && ended.has(a.state) ? 0 : 2000)).data;
  useEffect(() => { if (now?.state === "connected") reload(); }, [now?.state, reload]);
  if (!personal) return <Empty>Calls of this source do not use your own account{s.auth ? `: all use the credential of the source (${s.auth.kind.replaceAll("_", " ")})` : ": it has no credential"}.</Empty>;
  const begin = () => post<Attempt>("/v1/connections:begin", { source: s.name }).then((a) => {
    attempt.value = a;
    if (webAddress(a.connect_url)) window.open(a.connect_url, "_blank", "noreferrer");
  }, failed);
  const end = () => remove(path).then(() => { toast("ok", "You are not connected any more."); reload(); }, failed);
  return (
    <section class="panel" aria-label="Your connection">
      {data ? (
        <Facts of={[["You are", <Status of={data.state} />], ["At", data.issuer], ["May do", data.scopes.join(", ")], ["Since", <When at={data.create_time} />], ["Until", data.refreshable ? "renewed by itself" : <When at={data.expire_time} />]]} />
      ) : problem && problem.status !== 404 ? <Problem of={problem} /> : <p>You have not connected this source: its tools cannot be called for you. Turns that need it wait in your <a href="/inbox">inbox</a>.</p>}
      {now && <p role="status">The login at the source: <Status of={now.state} /> {now.error}</p>}
      <div class="buttons">
        {data && can("policy.connections.delete") && <button type="button" class="quiet bad" onClick={end}>Disconnect</button>}
        {can("policy.connections.create") && <button type="button" onClick={begin}>{data ? "Connect again" : "Connect as yourself"}</button>}
      </div>
      {attempt.value && webAddress(attempt.value.connect_url) && <p class="dim">If no window has opened: <a href={attempt.value.connect_url} target="_blank" rel="noreferrer">log in at the source</a>.</p>}
    </section>
  );
}

const outputOnly = ["id", "name", "kind", "state", "last_error", "sync_time", "tool_count", "server_version", "protocol_version", "create_time", "update_time", "revision", "breaker", "drifted_count", "warnings"];

/** Settings changes the fields of a source as JSON; the server checks them before it stores them. */
function Settings({ source: s, done }: { source: SourceRow; done: () => void }) {
  const first = Object.fromEntries(Object.entries(s).filter(([k, v]) => !outputOnly.includes(k) && v !== "" && v !== null && v !== false && v !== 0 && !(Array.isArray(v) && !v.length) && !(typeof v === "object" && !Object.keys(v).length)));
  const value = useSignal<unknown>(first);
  const problem = useSignal<Failed | null>(null);
  const path = `/v1/sources/${encodeURIComponent(s.name)}`;
  const save = async (only: boolean) => {
    problem.value = null;
    try {
      const left = Object.fromEntries(Object.keys(first).filter((k) => !(k in (value.value as object ?? {}))).map((k) => [k, null]));
      await call("PATCH", path + (only ? "?validate_only=true" : ""), { ...left, ...(value.value as object) }, undefined, { "If-Match": `"${s.revision}"` });
      toast("ok", only ? "These settings are valid." : "The settings were saved.");
      if (!only) done();
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  if (!can("registry.sources.update")) return <Json value={first} label="Settings" />;
  return (
    <section class="panel" aria-label="Settings">
      <JsonField label="Settings that are not the default" value={first} onInput={(v) => { value.value = v; }} />
      {problem.value && <Problem of={problem.value} />}
      <div class="buttons"><button type="button" class="quiet" onClick={() => save(true)}>Check</button><button type="button" onClick={() => save(false)}>Save</button></div>
    </section>
  );
}
