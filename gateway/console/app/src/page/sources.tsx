// Sources: where tools come from, whether they are reached, and what has changed there.
import { useSignal } from "@preact/signals";
import { post, type Failed } from "../api";
import { count, visible } from "../format";
import { parse } from "../json";
import { number, type SourceRow } from "../model";
import { go } from "../route";
import { Changed } from "./tools";
import { can, Dialog, failed, Field, Page, Problem, Status, Table, toast, usePages, When } from "../ui";
import type * as schema from "../schema";

export default function SourcesPage() {
  const { rows, more, problem, reload } = usePages<SourceRow>("/v1/sources?page_size=200", "sources");
  const adding = useSignal(false);
  return (
    <Page title="Sources" crumbs={[["Tools", "/tools"]]} api="/v1/sources" wide
      actions={can("registry.sources.create") && <button type="button" onClick={() => { adding.value = true; }}>Add a source</button>}>
      {problem && <Problem of={problem} />}
      <Changed of={rows ?? []} />
      {(rows || !problem) && <Table<SourceRow> label="List of sources" rows={rows} id={(s) => s.id} href={(s) => `/sources/${s.name}`} more={more}
        empty="There is no source yet. Add an MCP server, an API by its OpenAPI document, a gRPC server or a GraphQL API."
        columns={[
          { name: "Name", cell: (s) => <span class="whole">{s.name}</span> },
          { name: "Kind", cell: (s) => s.kind },
          { name: "State", cell: (s) => <><Status of={sourceState(s)} />{s.last_error && <div class="note clip">{visible(s.last_error)}</div>}</> },
          { name: "Tools", cell: (s) => <a href={`/tools?source=${s.name}`} class="figure">{s.tool_count}</a> },
          { name: "Changed tools", cell: (s) => (s.drifted_count ? <a href={`/sources/${s.name}?tab=drift`}>{s.drifted_count} to accept</a> : <span class="dim">{s.pin ? "none" : "accepted at once"}</span>), narrow: "hide" },
          { name: "Calls", cell: (s) => <Breaker of={s.breaker} />, narrow: "hide" },
          { name: "Last sync", cell: (s) => <When at={s.sync_time} /> },
          { name: "", cell: (s) => can("registry.sources.sync") && <button type="button" class="quiet small" onClick={() => sync(s.name, reload)}>Sync</button> },
        ]} />}
      {adding.value && <Add onClose={() => { adding.value = false; }} />}
    </Page>
  );
}

export const sourceState = (s: SourceRow) => (s.disabled ? "disabled" : s.drifted_count ? "drifted" : s.state === "unreachable" || s.state === "invalid" ? "failed" : s.state);

const breakers: Record<string, string> = { closed: "go through", open: "stopped after failures", half_open: "are tried again" };
export const Breaker = ({ of }: { of: string }) => <span class={of === "open" ? "bad-text" : ""}>{breakers[of] ?? of}</span>;

type Synced = schema.SyncResult;

/** sync reads a source again, and says what has changed. */
export async function sync(name: string, done: () => void) {
  try {
    const r = await post<Synced>(`/v1/sources/${encodeURIComponent(name)}:sync`);
    const parts = (["added", "removed", "changed", "drifted", "failed"] as const).filter((k) => r[k]?.length).map((k) => `${r[k].length} ${k}`);
    toast("ok", `${name} has ${count(number(r.total), "tool")}${parts.length ? `: ${parts.join(", ")}` : ", as before"}.`);
  } catch (e) {
    failed(e);
  }
  done();
}

interface Kind { kind: string; name: string; about: string; fields: FieldOf[] }
interface FieldOf { key: string; label: string; hint?: string; kind?: "text" | "lines" | "json"; required?: boolean; initial?: string }

const url = (hint: string): FieldOf => ({ key: "url", label: "URL", hint, required: true });
const auth: FieldOf[] = [
  { key: "auth.secret", label: "Key", hint: "Name of a stored secret as ${secret:NAME}, or a variable of the registry as ${env:NAME}. Empty: none." },
];

/** kinds are what can be added here; the API takes more fields. */
const kinds: Kind[] = [
  { kind: "mcp", name: "MCP server over HTTP", about: "Its tools are used as they are.", fields: [url("https://host/mcp"), ...auth] },
  { kind: "mcp", name: "MCP server as a program", about: "The MCP bridge starts it.", fields: [{ key: "command", label: "Program and arguments", hint: "One a line.", kind: "lines", required: true }] },
  { kind: "openapi", name: "API with an OpenAPI document", about: "Each operation becomes a tool.", fields: [url("Where the document is"), { key: "base_url", label: "URL of the API", hint: "Empty: as the document says." }, ...auth] },
  { kind: "graphql", name: "GraphQL API", about: "Queries and mutations become tools.", fields: [url("https://host/graphql"), ...auth] },
  { kind: "grpc", name: "gRPC server", about: "Methods become tools; the server is asked by reflection.", fields: [url("grpcs://host:port, or grpc:// without TLS")] },
  { kind: "http", name: "HTTP API without a document", about: "You write its endpoints.", fields: [
    { key: "base_url", label: "URL of the API", required: true },
    { key: "endpoints", label: "Endpoints", kind: "json", required: true, initial: '[{"name": "get_order", "description": "Reads an order.", "path": "/orders/{id}"}]' }, ...auth] },
  { kind: "agent", name: "Agents as tools", about: "Calls start turns for the caller.", fields: [{ key: "agents", label: "Agents", hint: "One a line; * stands for any characters. Empty: all.", kind: "lines" }] },
  { kind: "skills", name: "Folder of skills", about: "Instructions that models load.", fields: [{ key: "dir", label: "Folder", hint: "On the registry's machine, below registry.skills.dirs.", required: true }] },
];

/** bodyOf makes the body of a new source from what was typed. */
function bodyOf(k: Kind, name: string, pin: boolean, typed: Record<string, string>): Record<string, unknown> {
  const body: Record<string, unknown> = { name, kind: k.kind, ...(pin ? { pin } : {}) };
  for (const f of k.fields) {
    const text = (typed[f.key] ?? f.initial ?? "").trim();
    if (!text) continue;
    if (f.key === "auth.secret") body.auth = { kind: "bearer", secret: text };
    else body[f.key] = f.kind === "lines" ? text.split("\n").map((l) => l.trim()).filter(Boolean) : f.kind === "json" ? parse(text) : text;
  }
  return body;
}

function Add({ onClose }: { onClose: () => void }) {
  const at = useSignal(0);
  const name = useSignal("");
  const pin = useSignal(true);
  const typed = useSignal<Record<string, string>>({});
  const problem = useSignal<Failed | null>(null);
  const busy = useSignal(false);
  const k = kinds[at.value]!;
  const wrong = (key: string) => problem.value?.fields.find((f) => f.field === key || f.field.startsWith(`${key}.`) || f.field.startsWith(`${key}[`))?.message;
  const send = async () => {
    busy.value = true;
    problem.value = null;
    try {
      const s = await post<SourceRow>("/v1/sources", bodyOf(k, name.value, pin.value, typed.value));
      toast("ok", `Source ${s.name} was added. Its tools are being read.`);
      onClose();
      go(`/sources/${s.name}`);
    } catch (e) {
      problem.value = e as Failed;
    }
    busy.value = false;
  };
  return (
    <Dialog title="Add a source" onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <Field label="What it is" hint={k.about}>
          <select value={String(at.value)} onChange={(e) => { at.value = Number(e.currentTarget.value); problem.value = null; }}>{kinds.map((x, i) => <option key={x.name} value={String(i)} selected={i === at.value}>{x.name}</option>)}</select>
        </Field>
        <Field label="Name" hint="Its tools are named after it: NAME__tool." error={wrong("name")}>
          <input required pattern="[a-z][a-z0-9_\-]*" maxLength={32} value={name.value} onInput={(e) => { name.value = e.currentTarget.value; }} />
        </Field>
        {k.fields.map((f) => {
          const props = { required: f.required, value: typed.value[f.key] ?? f.initial ?? "", onInput: (e: { currentTarget: { value: string } }) => { typed.value = { ...typed.value, [f.key]: e.currentTarget.value }; } };
          return (
            <Field key={k.name + f.key} label={f.label} hint={f.hint} error={wrong(f.key)}>
              {f.kind ? <textarea rows={f.kind === "json" ? 5 : 3} class={f.kind === "json" ? "code" : ""} {...props} /> : <input {...props} />}
            </Field>
          );
        })}
        <label class="check"><input type="checkbox" checked={pin.value} onChange={(e) => { pin.value = e.currentTarget.checked; }} /> <span>Do not call tools whose definition changes until somebody accepts the change</span></label>
        {problem.value && <Problem of={problem.value} />}
        <div class="buttons"><button type="button" class="quiet" onClick={onClose}>Cancel</button><button type="submit" disabled={busy.value}>Add</button></div>
      </form>
    </Dialog>
  );
}
