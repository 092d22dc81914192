// The sheet of components: each as it looks and behaves, for those who write pages.
import { useSignal } from "@preact/signals";
import { Failed } from "../api";
import { parse } from "../json";
import type { PageProps } from "../route";
import { Confirm, Copy, Empty, Facts, Field, Filters, Id, Json, Loading, Menu, Money, Page, Problem, SchemaForm, Status, Table, Tabs, toast, Took, Tree, When } from "../ui";

const schema = {
  type: "object", required: ["text", "count"],
  properties: {
    text: { type: "string", description: "some words" }, count: { type: "integer", description: "as it is written, however large" },
    colour: { enum: ["red", "blue"] }, loud: { type: "boolean" }, tags: { type: "array", items: { type: "string" } },
    inner: { type: "object", properties: { depth: { type: "number" } } }, free: { anyOf: [{ type: "string" }, { type: "number" }] },
  },
};

interface Row { id: string; status: string; took: number }

const words = ["running", "waiting", "completed", "failed", "cancelled", "queued", "degraded", "approved", "denied", "expired"];

export default function Sheet({ params }: PageProps) {
  const asked = useSignal(false);
  const form = useSignal<unknown>({ text: "hello" });
  const size = Number(params.get("rows") || 5);
  const rows: Row[] = Array.from({ length: size }, (_, i) => ({ id: `row_${i}`, status: words[i % words.length]!, took: i * 37 }));
  const tab = params.get("tab") ?? "one";
  return (
    <Page title="Components" crumbs={[["System", "/system"]]} api="/v1/me" actions={<button type="button" class="quiet">An action</button>}>
      <h3>Status, time and figures</h3>
      <p class="flow">{words.map((w) => <Status key={w} of={w} />)}</p>
      <Facts of={[["When", <When at={new Date(Date.now() - 3_700_000).toISOString()} />], ["Took", <Took ms={12_345} />], ["Money", <Money micros="1234567" />],
        ["Id", <Id of="trn_0123456789" />], ["Linked", <Id of="trn_0123456789" href="/turns" />]]} />
      <h3>Filters and tabs</h3>
      <Filters of={[{ key: "q", name: "Text", kind: "text" }, { key: "status", name: "Status", kind: "choice", choices: words }, { key: "since", name: "Time", kind: "time" }]} />
      <Tabs at={tab} of={[["one", "One"], ["two", "Two"]]} />
      <h3>Table</h3>
      <Table<Row> label="Rows" rows={rows} id={(r) => r.id} href={(r) => `/ui?row=${r.id}`} more={size < 500 ? () => undefined : null} columns={[
        { name: "Id", cell: (r) => r.id }, { name: "Status", cell: (r) => <Status of={r.status} /> }, { name: "Took", cell: (r) => <Took ms={r.took} />, narrow: "hide" },
        { name: "Copy", cell: (r) => <Id of={r.id} /> },
      ]} />
      <Table<Row> label="None" rows={[]} id={(r) => r.id} columns={[]} empty="Nothing is here yet." />
      <h3>JSON</h3>
      <Json value={parse('{"exact": 12345678901234567890, "text": "left \u202e right", "list": [1, true, null, {"deep": {"deeper": "x"}}]}')} />
      <h3>Form of a schema</h3>
      <SchemaForm schema={schema} value={form.value} onInput={(v) => { form.value = v; }} />
      <Json label="What the form gives" value={form.value} />
      <Field label="A field" hint="A hint" error="An error"><input type="text" /></Field>
      <h3>Tree</h3>
      <Tree label="A tree" of={[{ id: "a", head: "a session", children: [{ id: "b", head: "its sub-agent" }, { id: "c", head: "another", closed: true, children: [{ id: "d", head: "its own" }] }] }]} />
      <h3>Messages</h3>
      <p class="flow">
        <button type="button" onClick={() => toast("ok", "It was saved.", { name: "Undo", run: () => toast("ok", "It was undone.") })}>Say that it worked</button>
        <button type="button" class="quiet" onClick={() => toast("error", "It was not saved: the name is taken.")}>Say that it failed</button>
        <button type="button" class="danger" onClick={() => { asked.value = true; }}>Ask first</button>
        <Menu name="More"><button type="button">One</button><button type="button">Two</button></Menu>
        <Copy text="copied" />
      </p>
      {asked.value && <Confirm title="Delete this?" action="Delete" bad onYes={() => { asked.value = false; }} onNo={() => { asked.value = false; }}><p>It cannot be undone.</p></Confirm>}
      <Problem of={new Failed(403, "permission_denied", 'permission "agent.write" is missing: no rule grants it', "", "req_example", "agent.write")} />
      <Problem of={new Failed(404, "not_found", 'turn "trn_nope" does not exist', "", "req_example")} />
      <Empty>No agent yet. <a href="/agents">Create one</a>.</Empty>
      <Loading lines={3} />
    </Page>
  );
}
