// Knowledge: banks of documents, search over them, and what agents remember of the user.
import { useSignal } from "@preact/signals";
import { patch, post, query, remove } from "../api";
import { count, visible } from "../format";
import { number, type Bank, type Fact } from "../model";
import { go, type PageProps } from "../route";
import { can, Confirm, confirmed, failed, Field, Filters, Page, Problem, Status, Table, Tabs, toast, useFiltered, useLoad, usePages, When, type Filter } from "../ui";
import { Passages } from "./bank";

const apis: Record<string, string> = { banks: "/v1/banks", memory: "/v1/memory" };

export default function KnowledgePage({ params }: PageProps) {
  const tab = params.get("tab") ?? "banks";
  return (
    <Page title="Knowledge" wide api={apis[tab] ?? "/v1/banks"}>
      <Tabs at={tab} of={[["banks", "Banks"], ["search", "Search"], ["memory", "Memory"]]} />
      {tab === "banks" && <Banks />}
      {tab === "search" && <Passages bank="" params={params} />}
      {tab === "memory" && <Memory params={params} />}
    </Page>
  );
}

function Banks() {
  const { rows, more, problem, reload } = usePages<Bank>("/v1/banks?page_size=200", "banks");
  const making = useSignal(false);
  const id = useSignal("");
  const about = useSignal("");
  const create = async () => {
    await post("/v1/banks", { id: id.value, description: about.value });
    making.value = false;
    toast("ok", `Bank ${id.value} was created.`);
    reload();
    go(`/knowledge/${id.value}`);
  };
  return (
    <>
      <p class="flow"><span class="dim grow">A bank is a set of documents that agents search and cite.</span>
        {can("knowledge.banks.create") && <button type="button" onClick={() => { making.value = true; }}>New bank</button>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Bank> label="Banks" rows={rows} id={(b) => b.id} href={(b) => `/knowledge/${b.id}`} more={more} empty="There is no bank yet that you may read."
        columns={[
          { name: "Bank", cell: (b) => b.display_name || b.id }, { name: "About", cell: (b) => <span class="clip">{b.description}</span> },
          { name: "Documents", cell: (b) => <span class="figure">{number(b.documents)}</span> }, { name: "Passages", cell: (b) => <span class="figure">{number(b.chunks)}</span>, narrow: "hide" },
          { name: "Searched", cell: (b) => modes[b.mode] ?? b.mode }, { name: "Changed", cell: (b) => <When at={b.update_time} />, narrow: "hide" },
        ]} />}
      {making.value && (
        <Confirm title="New bank" action="Create" onYes={create} onNo={() => { making.value = false; }}>
          <Field label="Id" hint="Lower-case letters, digits, - and _. It cannot be changed."><input required pattern="[a-z][a-z0-9_\-]*" value={id.value} onInput={(e) => { id.value = e.currentTarget.value; }} /></Field>
          <Field label="What the documents are about" hint="Models read it when they choose where to search."><input value={about.value} onInput={(e) => { about.value = e.currentTarget.value; }} /></Field>
        </Confirm>
      )}
    </>
  );
}

export const modes: Record<string, string> = { lexical: "by words", vector: "by meaning", semantic: "by meaning", hybrid: "by words and meaning" };

function Memory({ params }: { params: URLSearchParams }) {
  const filters: Filter[] = [{ key: "q", name: "Search", kind: "text" }, { key: "state", name: "State", kind: "choice", choices: ["active", "proposed", "superseded", "rejected"] }];
  const { rows, more, problem, reload } = usePages<Fact>(`/v1/memory${query({ page_size: 200 })}&${useFiltered(filters, params)}`.replace(/&$/, ""), "facts");
  const settings = useLoad<{ off: boolean }>("/v1/memory/settings");
  const edited = useSignal<Fact | "new" | null>(null);
  const then = (text: string) => () => { toast("ok", text); reload(); };
  const forget = async (f: Fact) => {
    if (await confirmed("Forget this?", f.text, "Forget", true)) remove(`/v1/memory/${f.id}`).then(then("It was forgotten."), failed);
  };
  const all = async () => {
    if (await confirmed("Forget everything?", "All facts about you are deleted. This cannot be undone.", "Forget everything", true)) post("/v1/memory:forget").then(then("Everything was forgotten."), failed);
  };
  const toggle = () => patch("/v1/memory/settings", { off: !settings.data?.off }).then(settings.reload, failed);
  return (
    <>
      <div class="flow">
        <span class="dim grow">What agents know of you from conversations. Nobody else reads it.</span>
        {settings.data && <label class="check"><input type="checkbox" checked={!settings.data.off} onChange={toggle} /> <span>Remember</span></label>}
        {can("knowledge.memory.create") && <button type="button" onClick={() => { edited.value = "new"; }}>Add a fact</button>}
        {(rows?.length ?? 0) > 0 && can("knowledge.memory.delete") && <button type="button" class="quiet bad" onClick={all}>Forget everything</button>}
      </div>
      <Filters of={filters} />
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Fact> label="Facts" rows={rows} id={(f) => f.id} more={more} empty="Nothing is remembered."
        columns={[
          { name: "Fact", cell: (f) => visible(f.text) }, { name: "State", cell: (f) => <Status of={f.state} /> },
          { name: "Whose word", cell: (f) => ({ user: "yours", model: "a model's", proposal: "a model's proposal" }[f.trust] ?? f.trust) },
          { name: "Agent", cell: (f) => f.agent_id || <span class="dim">all of yours</span>, narrow: "hide" },
          { name: "From", cell: (f) => (f.source?.turn_id ? <a href={`/turns/${f.source.turn_id}`}>turn</a> : <span class="dim">you</span>), narrow: "hide" },
          { name: "Since", cell: (f) => <When at={f.create_time} /> },
          { name: "", cell: (f) => (
            <span class="flow">
              {f.state === "proposed" && can("knowledge.memory.update") && <button type="button" class="quiet small" onClick={() => patch(`/v1/memory/${f.id}`, { state: "active" }).then(then("It is used from now on."), failed)}>Accept</button>}
              {can("knowledge.memory.update") && <button type="button" class="quiet small" onClick={() => { edited.value = f; }}>Correct</button>}
              {can("knowledge.memory.delete") && <button type="button" class="quiet small" onClick={() => forget(f)}>Forget</button>}
            </span>
          ) },
        ]} />}
      {edited.value && <EditFact of={edited.value === "new" ? null : edited.value} onClose={(done) => { edited.value = null; if (done) then("It was saved.")(); }} />}
    </>
  );
}

function EditFact({ of, onClose }: { of: Fact | null; onClose: (done: boolean) => void }) {
  const text = useSignal(of?.text ?? "");
  const value = useSignal(of?.value ?? "");
  const save = async () => {
    if (of) await patch(`/v1/memory/${of.id}`, { text: text.value, ...(of.attribute ? { value: value.value } : {}) });
    else await post("/v1/memory", { text: text.value });
    onClose(true);
  };
  return (
    <Confirm title={of ? "Correct a fact" : "Add a fact"} action="Save" onYes={save} onNo={() => onClose(false)}>
      <Field label="As a sentence" hint="For example: Your home town is Bonn."><textarea rows={2} required value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} /></Field>
      {of?.attribute && <Field label={`${of.entity}: ${of.attribute}`}><input value={value.value} onInput={(e) => { value.value = e.currentTarget.value; }} /></Field>}
      {of && <p class="dim">{count(1, "fact")} of {of.entity || "you"}.</p>}
    </Confirm>
  );
}
