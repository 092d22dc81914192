// An agent: its definition as a form and as YAML, its revisions, trying a change beside what is stored, and who may use it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, get, post, remove, Failed } from "../api";
import { count, duration, visible } from "../format";
import { globbed, isOver, millis, tokens, type AgentRow, type ToolRow, type TurnRow } from "../model";
import { go, type PageProps } from "../route";
import { loadInventory, models } from "../store";
import { can, confirmed, Facts, failed, Field, Loading, Money, Page, Problem, Status, Table, Tabs, toast, useLoad, usePages, When } from "../ui";
import { Matrix, useSubjects } from "../view/access";
import { Diff } from "../view/diff";
import { apply, Editor } from "../view/editor";
import { document as documentOf } from "../yaml";

export default function AgentPage({ id, params }: PageProps) {
  const path = `/v1/agents/${encodeURIComponent(id)}`;
  const { data: a, problem, reload } = useLoad<AgentRow>(path);
  const tab = params.get("tab") ?? "form";
  const crumbs: [string, string][] = [["Agents", "/agents"]];
  if (!a) return <Page title={id} crumbs={crumbs}>{problem ? <Problem of={problem} /> : <Loading />}</Page>;
  const drop = async () => {
    if (!await confirmed(`Delete the agent ${id}?`, "Its conversations stay and can be read; they cannot be continued.", "Delete", true)) return;
    remove(path).then(() => { toast("ok", `Agent ${id} was deleted.`); void loadInventory(); go("/agents"); }, failed);
  };
  const saved = () => { reload(); void loadInventory(); };
  return (
    <Page title={a.display_name || id} crumbs={crumbs} api={path} actions={
      <>
        {can("sessions.turns.create") && <button type="button" onClick={() => post<{ id: string }>("/v1/sessions", { agent_id: id }).then((s) => go(`/sessions/${s.id}`), failed)}>Chat with it</button>}
        {can("sessions.agents.delete") && <button type="button" class="quiet bad" onClick={drop}>Delete</button>}
      </>
    }>
      {a.description && <p>{visible(a.description)}</p>}
      <Facts of={[
        ["Model", <code>{a.model || "default"}</code>], ["Revision", a.revision], ["Changed", <When at={a.update_time} />],
        ["Its turns", <><a href={`/turns?agent_id=${id}`}>all</a>, <a href={`/turns?agent_id=${id}&status=failed`}>failed</a></>],
      ]} />
      <Tabs at={tab} of={[["form", "Form"], ["yaml", "YAML"], ["revisions", "Revisions"], ["try", "Try a change"], ["tools", "Its tools"], ["who", "Who may use it"]]} />
      {tab === "form" && <Form key={a.revision} agent={a} done={saved} />}
      {tab === "yaml" && <Yaml key={a.revision} agent={a} done={saved} />}
      {tab === "revisions" && <Revisions agent={a} params={params} done={saved} />}
      {tab === "try" && <Try agent={a} done={saved} />}
      {tab === "tools" && <Tools agent={a} />}
      {tab === "who" && <Who agent={a} />}
    </Page>
  );
}

const lines = (text: string) => text.split("\n").map((l) => l.trim()).filter(Boolean);

const outcomes = [["", "report it to the model (default)"], ["report", "report it to the model"], ["park", "wait for a person"]] as const;
type Draft = Pick<AgentRow, "display_name" | "description" | "model" | "instructions" | "tools" | "agents" | "banks" | "shields" | "memory" | "on_unknown_outcome">;

function Form({ agent, done }: { agent: AgentRow; done: () => void }) {
  const changed = useSignal<Partial<Draft>>({});
  const problem = useSignal<Failed | null>(null);
  const now = { ...agent, ...changed.value };
  const set = (of: Partial<Draft>) => { changed.value = { ...changed.value, ...of }; };
  const wrong = (key: string) => problem.value?.fields.find((f) => f.field.replace(/^agent\./, "").startsWith(key))?.message;
  const save = async () => {
    problem.value = null;
    try {
      const a = await call<AgentRow>("PATCH", `/v1/agents/${encodeURIComponent(agent.id)}`, changed.value, undefined, { "If-Match": `"${agent.revision}"` });
      toast("ok", `Revision ${a.revision} was saved. New turns use it.`);
      done();
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  const area = (key: "tools" | "agents" | "banks" | "shields", label: string, hint: string) => (
    <Field label={label} hint={hint} error={wrong(key)}><textarea rows={2} value={(now[key] ?? []).join("\n")} onChange={(e) => set({ [key]: lines(e.currentTarget.value) })} /></Field>
  );
  return (
    <form class="panel" aria-label="Definition" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <fieldset class="bare" disabled={!can("sessions.agents.update")}>
        <Field label="Name" error={wrong("display_name")}><input value={now.display_name} onInput={(e) => set({ display_name: e.currentTarget.value })} /></Field>
        <Field label="What it does" hint="Other agents read it when they choose whom to ask." error={wrong("description")}><input value={now.description} onInput={(e) => set({ description: e.currentTarget.value })} /></Field>
        <Field label="Model" hint="provider/model. Empty: the default." error={wrong("model")}>
          <input list="models" value={now.model} onInput={(e) => set({ model: e.currentTarget.value })} />
        </Field>
        <datalist id="models">{models.value.map((m) => <option key={m.name} value={m.name} />)}</datalist>
        <Field label="Instructions" error={wrong("instructions")}><textarea rows={8} value={now.instructions} onInput={(e) => set({ instructions: e.currentTarget.value })} /></Field>
        {area("tools", "Tools", "One a line; * stands for any characters.")}
        {area("agents", "Agents it may ask", "One a line.")}
        {area("banks", "Banks it answers from", "One a line.")}
        {area("shields", "Shields", "One a line: names of policy.shields in the configuration.")}
        <Field label="When the outcome of a call is unknown" error={wrong("on_unknown_outcome")}>
          <select onChange={(e) => set({ on_unknown_outcome: outcomes[e.currentTarget.selectedIndex]?.[0] })}>{outcomes.map(([v, n]) => <option key={v} value={v} selected={v === now.on_unknown_outcome}>{n}</option>)}</select>
        </Field>
        {problem.value && <Problem of={problem.value} />}
        {Object.keys(changed.value).length > 0 && <details><summary>What changes</summary><Diff label="Changes" from={documentOf("agent", agent)} to={documentOf("agent", now)} /></details>}
        <div class="buttons"><button type="submit" disabled={!Object.keys(changed.value).length}>Save a revision</button></div>
      </fieldset>
      <p class="dim">The form has the most used fields. <a href={`/agents/${agent.id}?tab=yaml`}>YAML</a> has all: approvals, limits, strategy, parameters, output schema.</p>
    </form>
  );
}

function Yaml({ agent, done }: { agent: AgentRow; done: () => void }) {
  const first = documentOf("agent", agent);
  const text = useSignal(first);
  const problem = useSignal<Failed | null>(null);
  const save = async () => {
    problem.value = null;
    try {
      const { applied } = await apply(text.value);
      toast("ok", applied.map((a) => `${a.kind} ${a.id} ${a.action}${a.warning ? `. ${a.warning}` : ""}`).join("; "));
      done();
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  return (
    <form class="panel" aria-label="Definition as YAML" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <Editor label="Definition as YAML" text={text} />
      {problem.value && <Problem of={problem.value} />}
      {text.value !== first && <details><summary>What changes</summary><Diff label="Changes" from={first} to={text.value} /></details>}
      {can("sessions.agents.apply") && <div class="buttons"><button type="submit" disabled={text.value === first}>Save a revision</button></div>}
      <p class="dim">The same text works with <code>windlass apply</code>. Fields that it leaves out are set to their defaults.</p>
    </form>
  );
}

function Revisions({ agent, params, done }: { agent: AgentRow; params: URLSearchParams; done: () => void }) {
  const { rows, more, problem } = usePages<AgentRow>(`/v1/agents/${encodeURIComponent(agent.id)}/revisions?page_size=100`, "revisions");
  const at = Number(params.get("rev") || agent.revision);
  const against = Number(params.get("against") || at - 1);
  const find = (n: number) => rows?.find((r) => r.revision === n);
  const [older, newer] = [find(against), find(at)];
  const restore = async () => {
    if (!newer || !await confirmed(`Go back to revision ${at}?`, "It becomes the newest revision. New turns use it.", "Go back")) return;
    apply(documentOf("agent", newer)).then(() => { toast("ok", `Revision ${at} is used again.`); done(); }, failed);
  };
  if (problem) return <Problem of={problem} />;
  return (
    <>
      <Table<AgentRow> label="Revisions" rows={rows} id={(r) => String(r.revision)} more={more} href={(r) => `/agents/${agent.id}?tab=revisions&rev=${r.revision}`}
        columns={[
          { name: "Revision", cell: (r) => <span class="whole">{r.revision}{r.revision === agent.revision && " (newest)"}</span> }, { name: "Model", cell: (r) => <code>{r.model || "default"}</code> },
          { name: "Tools", cell: (r) => r.tools.join(", ") }, { name: "When", cell: (r) => <When at={r.update_time} /> },
        ]} />
      {newer && (
        <section aria-label="Difference of revisions">
          <h3>{older ? `From revision ${against} to ${at}` : `Revision ${at}`}</h3>
          {older && <p class="flow dim">Against {rows!.filter((r) => r.revision !== at).slice(0, 12).map((r) => <a key={r.revision} href={`/agents/${agent.id}?tab=revisions&rev=${at}&against=${r.revision}`} aria-current={r.revision === against ? "true" : undefined}>{r.revision}</a>)}</p>}
          <Diff label="Difference" from={older ? documentOf("agent", older) : ""} to={documentOf("agent", newer)} />
          {at !== agent.revision && can("sessions.agents.apply") && <div class="buttons"><button type="button" class="quiet" onClick={restore}>Go back to revision {at}</button></div>}
        </section>
      )}
    </>
  );
}

/** Try asks what is stored and a change of it the same, side by side. The change is an agent of its own while it is tried. */
function Try({ agent, done }: { agent: AgentRow; done: () => void }) {
  const trial = `${agent.id.slice(0, 58)}-try`;
  const first = documentOf("agent", { ...agent, id: trial });
  const text = useSignal(first);
  const input = useSignal("");
  const turns = useSignal<[string, string] | null>(null);
  const problem = useSignal<Failed | null>(null);
  useEffect(() => () => { if (turns.value) remove(`/v1/agents/${trial}`).catch(() => { /* it is in the list of agents */ }); }, []);
  const ask = async (of: string) => {
    const s = await post<{ id: string }>("/v1/sessions", { agent_id: of });
    return (await post<{ id: string }>(`/v1/sessions/${s.id}/turns`, { input: input.value })).id;
  };
  const run = async () => {
    problem.value = null;
    try {
      await apply(text.value);
      turns.value = [await ask(agent.id), await ask(trial)];
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  const keep = async () => {
    try {
      await apply(text.value.replace(/^id: .*$/m, `id: ${agent.id}`));
      toast("ok", "The change is the newest revision.");
      done();
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  if (!can("sessions.agents.apply")) return <Problem of={new Failed(403, "", "You may not change agents.", "", "", "sessions.agents.apply")} />;
  return (
    <form aria-label="Try a change" onSubmit={(e) => { e.preventDefault(); void run(); }}>
      <p class="dim">The change is the agent <code>{trial}</code> while you try it, and is deleted when you leave this view. Calls are real ones.</p>
      <Editor label="Changed definition" text={text} />
      <Field label="Message for both"><textarea rows={2} required value={input.value} onInput={(e) => { input.value = e.currentTarget.value; }} /></Field>
      {problem.value && <Problem of={problem.value} />}
      <div class="buttons">
        {text.value !== first && <button type="button" class="quiet" onClick={keep}>Save the change</button>}
        <button type="submit">Ask both</button>
      </div>
      {turns.value && (
        <div class="columns">
          <Answer key={turns.value[0]} title={`Stored, revision ${agent.revision}`} turn={turns.value[0]} />
          <Answer key={turns.value[1]} title="Changed" turn={turns.value[1]} />
        </div>
      )}
    </form>
  );
}

function Answer({ title, turn }: { title: string; turn: string }) {
  const state = useSignal<TurnRow | null>(null);
  useEffect(() => {
    let open = true;
    const read = async () => {
      while (open) {
        try {
          const t = await get<TurnRow>(`/v1/turns/${turn}?wait=20s`);
          state.value = t;
          if (isOver(t.status) || t.status === "waiting") return;
        } catch (e) {
          failed(e);
          return;
        }
      }
    };
    void read();
    return () => { open = false; };
  }, []);
  const t = state.value;
  return (
    <section class="panel" aria-label={title}>
      <h3>{title}</h3>
      {!t ? <Loading /> : (
        <>
          <Facts of={[["Status", <Status of={t.status} />], ["Took", duration(millis(t.start_time, t.end_time) ?? 0)], ["Tokens", tokens(t.usage)], ["Cost", <Money micros={t.usage?.cost_micros} />], ["Tools", t.tools_used.join(", ")]]} />
          <pre class="answer-text">{visible((t.output || t.error?.message || "").slice(0, 50_000))}</pre>
          <p><a href={`/turns/${turn}`}>How it came to that</a></p>
        </>
      )}
    </section>
  );
}

function Tools({ agent }: { agent: AgentRow }) {
  const { data, problem } = useLoad<{ tools: ToolRow[] }>("/v1/tools?page_size=1000");
  if (problem) return <Problem of={problem} />;
  const rows = data && data.tools.filter((t) => globbed(t.name, agent.tools) || t.agent_id && globbed(t.agent_id, agent.agents));
  return (
    <Table<ToolRow> label="Its tools" rows={rows} id={(t) => t.name} href={(t) => `/tools/${t.name}`} empty="It is offered no tool."
      columns={[{ name: "Tool", cell: (t) => <code>{t.name}</code> }, { name: "What it does", cell: (t) => <span class="clip">{visible(t.title || t.description)}</span> }, { name: "Effect", cell: (t) => t.effect }]} />
  );
}

function Who({ agent }: { agent: AgentRow }) {
  const subjects = useSubjects();
  const { data } = useLoad<{ tools: ToolRow[] }>("/v1/tools?page_size=1000");
  if (!subjects || !data) return <Loading />;
  const names = data.tools.filter((t) => globbed(t.name, agent.tools)).map((t) => t.name);
  return (
    <>
      <p>Everybody with the permission <code>sessions.turns.create</code> may talk to it. In its turns each user may call what they may call themselves: {count(names.length, "tool")} of it, and <code>agent__{agent.id}</code> for agents that ask it.</p>
      <Matrix subjects={subjects} tools={[`agent__${agent.id}`, ...names].slice(0, 500)} />
      <p class="dim"><a href="/access?tab=policies">Change policies</a></p>
    </>
  );
}
