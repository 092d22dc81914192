// Agents: what they run on, how they do, and making one from a template.
import { useSignal } from "@preact/signals";
import type { Failed } from "../api";
import { visible } from "../format";
import { number, type AgentRow, type UsageRow } from "../model";
import { go, setParams, type PageProps } from "../route";
import { loadInventory } from "../store";
import { can, Dialog, Field, Money, Page, Problem, Table, toast, useLoad, usePages, useTime, When } from "../ui";
import { apply, Editor } from "../view/editor";

export default function AgentsPage({ params }: PageProps) {
  const { rows, more, problem } = usePages<AgentRow>("/v1/agents?page_size=200", "agents");
  const since = useTime("24h");
  const usage = useLoad<{ rows: UsageRow[] }>(`/v1/usage?group_by=agent&since=${since}`);
  const of = new Map((usage.data?.rows ?? []).map((r) => [r.key, r]));
  const rate = (id: string) => { const u = of.get(id); return u && number(u.turns) ? number(u.failed) / number(u.turns) : 0; };
  const worst = params.get("order") === "failed";
  const sorted = rows && worst ? [...rows].sort((a, b) => rate(b.id) - rate(a.id)) : rows;
  return (
    <Page title="Agents" wide api="/v1/agents" actions={can("sessions.agents.create") && <button type="button" onClick={() => setParams({ new: "1" })}>New agent</button>}>
      <p class="dim flow"><span>Turns, failures and cost are of the last 24 hours.</span> <a href={worst ? "/agents" : "/agents?order=failed"}>{worst ? "Order by name" : "Most failures first"}</a></p>
      {problem && <Problem of={problem} />}
      {usage.problem && <p class="note">The figures cannot be read: {usage.problem.message}</p>}
      {(rows || !problem) && <Table<AgentRow> label="List of agents" rows={sorted} id={(a) => a.id} href={(a) => `/agents/${a.id}`} more={more} empty="There is no agent yet. Make one from a template."
        columns={[
          { name: "Agent", cell: (a) => <span class="whole">{a.display_name || a.id}</span> },
          { name: "What it does", cell: (a) => <span class="clip">{visible(a.description)}</span>, narrow: "hide" },
          { name: "Model", cell: (a) => <code class="whole">{a.model || "default"}</code> },
          { name: "Tools", cell: (a) => <span class="clip">{[...a.tools, ...a.agents.map((x) => `agent ${x}`)].join(", ") || <span class="dim">none</span>}</span> },
          { name: "Revision", cell: (a) => <span class="figure">{a.revision}</span>, narrow: "hide" },
          { name: "Turns", cell: (a) => <a class="figure" href={`/turns?agent_id=${a.id}`}>{of.has(a.id) ? number(of.get(a.id)!.turns) : usage.problem ? "show" : 0}</a> },
          { name: "Failed", cell: (a) => (rate(a.id) ? <a class="bad-text figure" href={`/turns?agent_id=${a.id}&status=failed`}>{number(of.get(a.id)!.failed)} ({Math.round(rate(a.id) * 100)} %)</a> : <span class="dim">–</span>) },
          { name: "Cost", cell: (a) => <Money micros={of.get(a.id)?.cost_micros} />, narrow: "hide" },
          { name: "Changed", cell: (a) => <When at={a.update_time} /> },
        ]} />}
      {params.get("new") && <New onClose={() => setParams({ new: "" })} />}
    </Page>
  );
}

const templates: [name: string, about: string, text: string][] = [
  ["Assistant", "Answers, with tools that only read.", "description: Answers questions.\ninstructions: |\n  Be brief. Say when you do not know.\ntools: [\"calculator__*\"]\n"],
  ["Careful worker", "Asks a person before each call that changes something.", "description: Does what it is asked, and asks a person first where it changes something.\ntools: [\"*\"]\non_unknown_outcome: park\napprovals:\n- name: changes\n  effects: [idempotent, once]\n  reason: It changes something.\n  allow_requester: true\n"],
  ["Answers from documents", "Searches banks and cites them.", "description: Answers from documents, with citations.\ninstructions: |\n  Answer only from what you find, and cite it.\nbanks: []  # ids of banks, see the page Knowledge\n"],
  ["Front desk", "Passes on to other agents.", "description: Finds the agent that fits.\nstrategy: route\nagents: []  # ids of agents\n"],
  ["JSON answers", "Answers in a form that programs read.", "description: Answers as JSON.\noutput_schema:\n  type: object\n  required: [answer]\n  properties:\n    answer: {type: string}\n"],
];

const begin = (id: string, at: number) => `kind: agent\nid: ${id}\n${templates[at]![2]}`;

function New({ onClose }: { onClose: () => void }) {
  const at = useSignal(0);
  const id = useSignal("my-agent");
  const text = useSignal(begin("my-agent", 0));
  const problem = useSignal<Failed | null>(null);
  const save = async () => {
    problem.value = null;
    try {
      const { applied } = await apply(text.value);
      const made = applied.find((a) => a.kind === "agent") ?? applied[0]!;
      toast("ok", `${made.kind} ${made.id} was ${made.action}.${made.warning ? ` ${made.warning}` : ""}`);
      void loadInventory();
      go(`/agents/${made.id}`);
    } catch (e) {
      problem.value = e as Failed;
    }
  };
  return (
    <Dialog title="New agent" wide onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); void save(); }}>
        <Field label="Template" hint={templates[at.value]![1]}>
          <select onChange={(e) => { at.value = e.currentTarget.selectedIndex; text.value = begin(id.value, at.value); }}>{templates.map(([n]) => <option key={n}>{n}</option>)}</select>
        </Field>
        <Field label="Id" hint="Lower-case letters, digits, - and _. It cannot be changed."><input required pattern="[a-z][a-z0-9_\-]*" maxLength={63} value={id.value} onInput={(e) => {
          text.value = text.value.replace(/^id: .*$/m, `id: ${e.currentTarget.value}`);
          id.value = e.currentTarget.value;
        }} /></Field>
        <Editor label="Definition of the agent" text={text} />
        {problem.value && <Problem of={problem.value} />}
        <div class="buttons"><button type="button" class="quiet" onClick={onClose}>Cancel</button><button type="submit">Create</button></div>
      </form>
    </Dialog>
  );
}
