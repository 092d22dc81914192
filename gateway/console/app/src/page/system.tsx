// System: whether everything works and why not, what happens, what runs by schedule, who is notified, and stored secrets.
import { useSignal } from "@preact/signals";
import { patch, post, remove, type Failed } from "../api";
import { bytes } from "../format";
import { number, type CloudEvent, type Delivery, type Schedule, type Webhook } from "../model";
import { type PageProps } from "../route";
import { agents, ready, temporal, unreached } from "../store";
import {
  can, Confirm, confirmed, Copy, Dialog, Facts, failed, Field, Filters, Id, Json, Page, Problem, Status, Table, Tabs, toast, useFiltered, useLoad, usePages, When, type Filter,
} from "../ui";
import { Verify } from "./access";
import type * as schema from "../schema";

const apis: Record<string, string> = { health: "/readyz", events: "/v1/events", schedules: "/v1/schedules", webhooks: "/v1/webhooks", secrets: "/v1/secrets" };

export default function SystemPage({ params }: PageProps) {
  const tab = params.get("tab") ?? "health";
  return (
    <Page title="System" wide api={apis[tab] ?? "/readyz"} actions={temporal && <a class="button quiet" href={temporal} target="_blank" rel="noreferrer">Temporal</a>}>
      <Tabs at={tab} of={[["health", "Health"], ["events", "Events"], ["schedules", "Schedules"], ["webhooks", "Webhooks"], ["secrets", "Secrets"]]} />
      {tab === "health" && <Health />}
      {tab === "events" && <Events params={params} />}
      {tab === "schedules" && <Schedules />}
      {tab === "webhooks" && <Webhooks params={params} />}
      {tab === "secrets" && <Secrets />}
    </Page>
  );
}

type Cache = schema.ToolCacheStats;

function Health() {
  const r = ready.value;
  const cache = useLoad<Cache>("/v1/tool-cache", 10_000);
  const sessions = useLoad<{ total: string; messages: string; active_last_hour: string }>("/v1/analytics/sessions", 10_000);
  const clear = async () => {
    if (await confirmed("Clear the cache of results?", "The next call of each tool is made for real.", "Clear")) post("/v1/tool-cache:clear").then(() => { toast("ok", "The cache is empty."); cache.reload(); }, failed);
  };
  const rows = Object.entries(r?.checks ?? {}).map(([name, state]) => ({ name, state, cause: r?.causes?.[name] }));
  return (
    <>
      <Facts of={[["The mesh is", <Status of={unreached.value ? "unavailable" : r?.status ?? "unknown"} />]]} />
      <Table label="Checks" rows={r ? rows : null} id={(x) => x.name} columns={[
        { name: "Part", cell: (x) => x.name }, { name: "State", cell: (x) => <Status of={x.state} /> },
        { name: "Cause", cell: (x) => x.cause?.cause }, { name: "What to do", cell: (x) => x.cause?.action },
      ]} />
      <div class="columns">
        <section class="panel" aria-label="Conversations"><h3>Conversations</h3>
          {sessions.problem && <Problem of={sessions.problem} />}
          {sessions.data && <Facts of={[["All", number(sessions.data.total)], ["Messages", number(sessions.data.messages)], ["Active in the last hour", number(sessions.data.active_last_hour)]]} />}
        </section>
        <section class="panel" aria-label="Cache of results"><h3>Cache of tools' results</h3>
          {cache.problem && <Problem of={cache.problem} />}
          {cache.data && <>
            <Facts of={[["State", <Status of={cache.data.available ? "available" : "unavailable"} />], ["Results", number(cache.data.results)], ["Size", bytes(number(cache.data.size_bytes))],
              ["Found in 24 hours", `${number(cache.data.hits)} of ${number(cache.data.hits) + number(cache.data.misses)}`], ["Failures", number(cache.data.failures) || ""]]} />
            {can("registry.cache.clear") && <button type="button" class="quiet" onClick={clear}>Clear</button>}
          </>}
        </section>
        <section class="panel" aria-label="Audit log"><h3>Audit log</h3><Verify /><p><a href="/access?tab=audit">Read the log</a></p></section>
        <section class="panel" aria-label="Models and sources"><h3>Models and sources</h3><p><a href="/usage?tab=health">Models and their health</a></p><p><a href="/sources">Sources of tools</a></p></section>
      </div>
      <p class="dim">Each role logs its version and configuration when it starts; <code>windlass doctor</code> checks an installation from outside.</p>
    </>
  );
}

function Events({ params }: { params: URLSearchParams }) {
  const filters: Filter[] = [
    { key: "types", name: "Type, for example dev.windlass.turn.*", kind: "text" }, { key: "source", name: "Source", kind: "choice", choices: ["/windlass/sessions", "/windlass/registry", "/windlass/policy", "/windlass/knowledge"] },
    { key: "subject", name: "Of what", kind: "text" }, { key: "since", name: "Time", kind: "time" },
  ];
  const rest = useFiltered(filters, params);
  const { rows, more, problem, reload } = usePages<CloudEvent>(`/v1/events?page_size=100${rest && `&${rest}`}`, "events");
  const open = useSignal<CloudEvent | null>(null);
  return (
    <>
      <Filters of={filters} />
      <p class="flow"><button type="button" class="quiet small" onClick={reload}>Read again</button> <span class="dim">The same as a stream: <code>GET /v1/events:watch</code></span></p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<CloudEvent> label="List of events" rows={rows} id={(e) => e.id} more={more} empty="No event fits."
        columns={[
          { name: "Type", cell: (e) => <code>{e.type.replace(/^dev\.windlass\./, "").replace(/\.v\d+$/, "")}</code> }, { name: "Of what", cell: (e) => <Subject of={e} /> },
          { name: "Source", cell: (e) => e.source, narrow: "hide" }, { name: "When", cell: (e) => <When at={e.time} /> },
          { name: "", cell: (e) => <button type="button" class="quiet small" aria-label={`Data of ${e.type} of ${e.subject}`} onClick={() => { open.value = e; }}>Data</button> },
        ]} />}
      {open.value && <Dialog title={open.value.type} wide onClose={() => { open.value = null; }}><Facts of={[["Id", <Id of={open.value.id} />], ["Cursor", <Id of={open.value.cursor} />]]} /><Json value={open.value.data} label="Data of the event" /></Dialog>}
    </>
  );
}

function Subject({ of: e }: { of: CloudEvent }) {
  const at = { trn: "/turns/", ses: "/sessions/", apr: "/inbox/" }[e.subject.slice(0, 3)];
  if (at && e.subject[3] === "_") return <a href={at + e.subject}>{e.subject}</a>;
  const kind = /\.(agent|source)\./.exec(e.type)?.[1];
  return kind ? <a href={`/${kind}s/${e.subject}`}>{e.subject}</a> : <>{e.subject}</>;
}

function Schedules() {
  const { rows, more, problem, reload } = usePages<Schedule>("/v1/schedules?page_size=200", "schedules");
  const making = useSignal(false);
  const act = (s: Schedule, verb: string, said: string) => post(`/v1/schedules/${s.id}:${verb}`).then(() => { toast("ok", said); reload(); }, failed);
  const drop = async (s: Schedule) => {
    if (await confirmed(`Delete the schedule ${s.id}?`, "Turns that it has started go on.", "Delete", true)) remove(`/v1/schedules/${s.id}`).then(reload, failed);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">Turns that start by themselves.</span>{can("sessions.schedules.create") && <button type="button" onClick={() => { making.value = true; }}>New schedule</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Schedule> label="List of schedules" rows={rows} id={(s) => s.id} more={more} empty="Nothing is scheduled."
        columns={[
          { name: "Schedule", cell: (s) => s.display_name || s.id }, { name: "State", cell: (s) => <><Status of={s.paused ? "paused" : "active"} />{s.last_error && <div class="note">{s.last_error}</div>}</> },
          { name: "Agent", cell: (s) => <a href={`/agents/${s.agent_id}`}>{s.agent_id}</a> }, { name: "Message", cell: (s) => <span class="clip">{s.input}</span>, narrow: "hide" },
          { name: "When", cell: (s) => <code>{s.cron || `every ${s.interval}`} {s.time_zone}</code> }, { name: "Next", cell: (s) => (s.paused ? <span class="dim">–</span> : <When at={s.next[0] ?? null} />) },
          { name: "Last turn", cell: (s) => (s.last_turn_id ? <a href={`/turns/${s.last_turn_id}`}><When at={s.last_fire_time} /></a> : <span class="dim">none</span>), narrow: "hide" },
          { name: "", cell: (s) => (
            <span class="flow">
              {can("sessions.schedules.run") && <button type="button" class="quiet small" onClick={() => act(s, "run", `A turn of ${s.id} starts now.`)}>Run now</button>}
              {can("sessions.schedules.update") && <button type="button" class="quiet small" onClick={() => (s.paused ? act(s, "resume", `${s.id} goes on.`) : act(s, "pause", `${s.id} is paused.`))}>{s.paused ? "Resume" : "Pause"}</button>}
              {can("sessions.schedules.delete") && <button type="button" class="quiet small" onClick={() => drop(s)}>Delete</button>}
            </span>
          ) },
        ]} />}
      {making.value && <NewSchedule onClose={() => { making.value = false; reload(); }} />}
    </>
  );
}

/** values reads a form's fields. */
const values = (form: HTMLFormElement) => Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, String(v).trim()]));

function NewSchedule({ onClose }: { onClose: () => void }) {
  const problem = useSignal<Failed | null>(null);
  const send = (form: HTMLFormElement) => {
    const v = values(form);
    post("/v1/schedules", { id: v.id, agent_id: v.agent_id, input: v.input, cron: v.cron, ...(v.time_zone ? { time_zone: v.time_zone } : {}) }).then(() => { toast("ok", `${v.id} is scheduled.`); onClose(); }, (e) => { problem.value = e as Failed; });
  };
  const wrong = (key: string) => problem.value?.fields.find((f) => f.field.endsWith(key))?.message;
  return (
    <Dialog title="New schedule" onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); send(e.currentTarget); }}>
        <Field label="Id" error={wrong("id")}><input name="id" required /></Field>
        <Field label="Agent" error={wrong("agent_id")}><select name="agent_id">{agents.value?.map((a) => <option key={a.id}>{a.id}</option>)}</select></Field>
        <Field label="Message" error={wrong("input")}><textarea name="input" rows={2} required /></Field>
        <Field label="When, as cron" hint="Minute, hour, day, month, day of the week: 0 7 * * 1-5 is 7:00 on weekdays." error={wrong("cron")}><input name="cron" required defaultValue="0 7 * * *" /></Field>
        <Field label="Time zone" hint="For example Europe/Berlin. Empty: UTC." error={wrong("time_zone")}><input name="time_zone" /></Field>
        {problem.value && <Problem of={problem.value} />}
        <div class="buttons"><button type="button" class="quiet" onClick={onClose}>Cancel</button><button type="submit">Schedule</button></div>
      </form>
    </Dialog>
  );
}

function Webhooks({ params }: { params: URLSearchParams }) {
  const { rows, more, problem, reload } = usePages<Webhook>("/v1/webhooks?page_size=200", "webhooks");
  const making = useSignal(false);
  const secret = useSignal("");
  const open = params.get("webhook") ?? "";
  const toggle = (w: Webhook) => patch(`/v1/webhooks/${w.id}`, { disabled: !w.disabled }).then(reload, failed);
  const rotate = async (w: Webhook) => {
    if (!await confirmed("Make a new secret?", "Deliveries are signed with both until the old one is revoked.", "Make one")) return;
    post<Webhook>(`/v1/webhooks/${w.id}:rotate`).then((r) => { secret.value = r.secret ?? ""; }, failed);
  };
  const drop = async (w: Webhook) => {
    if (await confirmed("Delete the webhook?", `Nothing is sent to ${w.url} any more.`, "Delete", true)) remove(`/v1/webhooks/${w.id}`).then(reload, failed);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">Windlass calls these addresses when something happens.</span>{can("sessions.webhooks.create") && <button type="button" onClick={() => { making.value = true; }}>New webhook</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Webhook> label="List of webhooks" rows={rows} id={(w) => w.id} href={(w) => `/system?tab=webhooks&webhook=${w.id}`} more={more} empty="There is no webhook."
        columns={[
          { name: "Address", cell: (w) => w.url }, { name: "State", cell: (w) => <><Status of={w.disabled ? "disabled" : "active"} />{w.last_error && <div class="note">{w.last_error}</div>}</> },
          { name: "Events", cell: (w) => w.events.join(", ") || "all" }, { name: "Agent", cell: (w) => w.agent_id || <span class="dim">all</span>, narrow: "hide" },
          { name: "", cell: (w) => (
            <span class="flow">
              {can("sessions.webhooks.update") && <button type="button" class="quiet small" onClick={() => toggle(w)}>{w.disabled ? "Enable" : "Disable"}</button>}
              {can("sessions.webhooks.rotate") && <button type="button" class="quiet small" onClick={() => rotate(w)}>New secret</button>}
              {can("sessions.webhooks.delete") && <button type="button" class="quiet small" onClick={() => drop(w)}>Delete</button>}
            </span>
          ) },
        ]} />}
      {open && <Deliveries webhook={open} />}
      {making.value && <NewWebhook onClose={(made) => { making.value = false; secret.value = made; reload(); }} />}
      {secret.value && <Dialog title="The secret of the webhook" onClose={() => { secret.value = ""; }}>
        <p>The receiver checks signatures with it. It is shown this once.</p><p><code>{secret.value}</code> <Copy text={secret.value} /></p>
      </Dialog>}
    </>
  );
}

function Deliveries({ webhook }: { webhook: string }) {
  const { rows, more, problem, reload } = usePages<Delivery>(`/v1/webhooks/${webhook}/deliveries?page_size=100`, "deliveries");
  const again = (d: Delivery) => post(`/v1/webhooks/${webhook}/deliveries/${d.id}:redeliver`).then(() => { toast("ok", "It is sent again."); reload(); }, failed);
  return (
    <section aria-label="Deliveries of the webhook">
      <h3>Deliveries <button type="button" class="quiet small" onClick={reload}>Read again</button></h3>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Delivery> label="Deliveries" rows={rows} id={(d) => d.id} more={more} empty="Nothing was sent yet."
        columns={[
          { name: "Event", cell: (d) => <code>{d.type}</code> }, { name: "State", cell: (d) => <><Status of={d.status} />{d.error && <div class="note">{d.error}</div>}</> }, { name: "Answer", cell: (d) => d.response_code || <span class="dim">–</span> },
          { name: "Attempts", cell: (d) => <>{d.attempts}{d.next_attempt_time && <span class="dim">, next <When at={d.next_attempt_time} /></span>}</>, narrow: "hide" },
          { name: "Turn", cell: (d) => d.turn_id && <a href={`/turns/${d.turn_id}`}>turn</a> }, { name: "When", cell: (d) => <When at={d.create_time} /> },
          { name: "", cell: (d) => d.status !== "pending" && can("sessions.webhooks.redeliver") && <button type="button" class="quiet small" onClick={() => again(d)}>Send again</button> },
        ]} />}
    </section>
  );
}

const eventTypes = ["turn.completed", "turn.failed", "turn.cancelled", "approval.requested", "input.requested", "resolution.requested", "auth.required"];

function NewWebhook({ onClose }: { onClose: (secret: string) => void }) {
  const chosen = useSignal<string[]>(["turn.completed", "turn.failed"]);
  const problem = useSignal<Failed | null>(null);
  const send = (form: HTMLFormElement) => {
    const v = values(form);
    post<Webhook>("/v1/webhooks", { url: v.url, agent_id: v.agent_id, events: chosen.value }).then((w) => onClose(w.secret ?? ""), (e) => { problem.value = e as Failed; });
  };
  return (
    <Dialog title="New webhook" onClose={() => onClose("")}>
      <form onSubmit={(e) => { e.preventDefault(); send(e.currentTarget); }}>
        <Field label="Address"><input name="url" type="url" required placeholder="https://" /></Field>
        <fieldset class="stack"><legend>Events</legend>
          {eventTypes.map((t) => <label key={t} class="check"><input type="checkbox" checked={chosen.value.includes(t)} onChange={(e) => { chosen.value = e.currentTarget.checked ? [...chosen.value, t] : chosen.value.filter((x) => x !== t); }} /> <span>{t}</span></label>)}
        </fieldset>
        <Field label="Agent"><select name="agent_id"><option value="">all</option>{agents.value?.map((a) => <option key={a.id}>{a.id}</option>)}</select></Field>
        {problem.value && <Problem of={problem.value} />}
        <div class="buttons"><button type="button" class="quiet" onClick={() => onClose("")}>Cancel</button><button type="submit">Create</button></div>
      </form>
    </Dialog>
  );
}

type Secret = schema.Secret;

function Secrets() {
  const { rows, more, problem, reload } = usePages<Secret>("/v1/secrets?page_size=200", "secrets");
  const edited = useSignal<Secret | "new" | null>(null);
  const drop = async (s: Secret) => {
    if (await confirmed(`Delete the secret ${s.name}?`, "What refers to it fails from then on.", "Delete", true)) remove(`/v1/secrets/${s.name}`).then(reload, failed);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">Sources refer to secrets by name. Nobody can read a value back.</span>{can("policy.secrets.create") && <button type="button" onClick={() => { edited.value = "new"; }}>New secret</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Secret> label="List of secrets" rows={rows} id={(s) => s.name} more={more} empty="No secret is stored."
        columns={[
          { name: "Name", cell: (s) => <code>{s.name}</code> }, { name: "What it is for", cell: (s) => s.description }, { name: "Version", cell: (s) => s.version }, { name: "Set by", cell: (s) => s.set_by, narrow: "hide" },
          { name: "When", cell: (s) => <When at={s.update_time} /> },
          { name: "", cell: (s) => <span class="flow">{can("policy.secrets.update") && <button type="button" class="quiet small" onClick={() => { edited.value = s; }}>New value</button>}{can("policy.secrets.delete") && <button type="button" class="quiet small" onClick={() => drop(s)}>Delete</button>}</span> },
        ]} />}
      {edited.value && <EditSecret of={edited.value === "new" ? null : edited.value} onClose={() => { edited.value = null; reload(); }} />}
    </>
  );
}

function EditSecret({ of, onClose }: { of: Secret | null; onClose: () => void }) {
  const [name, value, about] = [useSignal(of?.name ?? ""), useSignal(""), useSignal(of?.description ?? "")];
  const save = async () => {
    await (of ? patch(`/v1/secrets/${of.name}`, { value: value.value, description: about.value }) : post("/v1/secrets", { name: name.value, value: value.value, description: about.value }));
    toast("ok", `Secret ${name.value} was stored.`);
    onClose();
  };
  return (
    <Confirm title={of ? `New value of ${of.name}` : "New secret"} action="Store" onYes={save} onNo={onClose}>
      {!of && <Field label="Name"><input required autocomplete="off" value={name.value} onInput={(e) => { name.value = e.currentTarget.value; }} /></Field>}
      <Field label="Value"><input required type="password" autocomplete="new-password" value={value.value} onInput={(e) => { value.value = e.currentTarget.value; }} /></Field>
      <Field label="What it is for"><input value={about.value} onInput={(e) => { about.value = e.currentTarget.value; }} /></Field>
    </Confirm>
  );
}
