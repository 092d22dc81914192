// What one sees before the first message: what needs them, what runs, and what to try.
import { useSignal } from "@preact/signals";
import { post, type Agent, type Turn } from "../api";
import { agents, agentsProblem, approvals, can, loadInventory, models } from "../store";
import { useLoad } from "../ui/load";
import { Problem, WhomToAsk } from "../ui/page";
import { Status, When } from "../ui/show";
import { AskCard, ofApproval } from "../view/ask";
import { chosenAgent, chooseAgent } from "./agents";
import { compose } from "./composer";

const has = (a: Agent | undefined, word: string) => a?.tools?.some((t) => t === "*" || t.startsWith(word)) ?? false;

/** examples are three messages to begin with, of what the agent can do. */
function examples(a: Agent | undefined): string[] {
  const all = [];
  if (has(a, "calculator")) all.push("What is 17 * 23?");
  if (has(a, "notes")) all.push("Make a note: the release is on Friday.");
  return [...all, "What can you do?", "Summarize what we know about our orders.", "Write a short greeting in three languages."].slice(0, 3);
}

export function Home() {
  const all = agents.value;
  const agent = all?.find((a) => a.id === chosenAgent());
  return (
    <div class="home">
      <Needs />
      <div class="start">
        <h3>Start a conversation</h3>
        {agentsProblem.value && <Problem of={agentsProblem.value} />}
        {all?.length === 0 ? <NoAgent /> : <Picker agent={agent} all={all ?? []} />}
        {agent && <div class="prompts">{examples(agent).map((e) => <button key={e} type="button" class="quiet" onClick={() => compose({ text: e })}>{e}</button>)}</div>}
        <p class="dim">Send a message: the answer, its tools and their results appear as they happen. Everything here is on the <a href="/api">REST API</a> too.</p>
      </div>
      <Runs />
    </div>
  );
}

function Picker({ agent, all }: { agent: Agent | undefined; all: Agent[] }) {
  const model = agent?.model || models.value.find((m) => m.default)?.name || "";
  return (
    <>
      <div class="picker">
        <label>Agent{" "}
          <select value={agent?.id ?? ""} disabled={!all.length} onChange={(e) => chooseAgent(e.currentTarget.value)}>
            {all.map((a) => <option key={a.id} value={a.id} selected={a.id === agent?.id}>{a.display_name || a.id}</option>)}
          </select>
        </label>
        {agent && <span class="dim">{agent.description}</span>}
      </div>
      {agent && (
        <p class="dim">
          {model && <>Model <b>{model}</b>{model === "builtin/scripted" && " (scripted answers, no AI)"} · </>}
          {agent.tools?.length ? <>tools {agent.tools.slice(0, 4).map((t, i) => <span key={t}>{i > 0 && ", "}<code>{t}</code></span>)}{agent.tools.length > 4 && ` and ${agent.tools.length - 4} more`}</> : "no tools"}
          {agent.agents?.length > 0 && <> · sub-agents {agent.agents.join(", ")}</>} · <a href={`/agents/${agent.id}`}>change it</a>
        </p>
      )}
    </>
  );
}

function NoAgent() {
  const problem = useSignal("");
  const make = () => post("/v1/agents", { id: "assistant", description: "A first agent with all tools.", tools: ["*"] })
    .then(loadInventory).catch((e) => { problem.value = e.message; });
  return (
    <>
      <p>There is no agent yet. {can("sessions.agents.create")
        ? <button type="button" onClick={make}>Create “assistant” with all tools</button> : <WhomToAsk permission="sessions.agents.create" />}</p>
      {problem.value && <p class="note bad" role="alert">{problem.value}</p>}
    </>
  );
}

/** Needs are the oldest things that wait for the user. */
function Needs() {
  const all = [...approvals.value].sort((a, b) => a.create_time.localeCompare(b.create_time));
  if (!all.length) return null;
  return (
    <div class="needs">
      <h3>Needs you</h3>
      {all.slice(0, 3).map((a) => <AskCard key={a.id} ask={ofApproval(a)} />)}
      {all.length > 3 && <p><a href="/inbox">All {all.length} in the inbox</a></p>}
    </div>
  );
}

/** Runs are the turns that run, and those that failed not long ago. */
function Runs() {
  const running = useLoad<{ turns: Turn[] }>("/v1/turns?page_size=5&status=running", 5000);
  const broken = useLoad<{ turns: Turn[] }>("/v1/turns?page_size=3&status=failed", 15_000);
  const day = Date.now() - 86_400_000;
  const turns = [...running.data?.turns ?? [], ...(broken.data?.turns ?? []).filter((t) => Date.parse(t.create_time) > day)];
  const problem = running.problem ?? broken.problem;
  if (!turns.length && !problem) return null;
  return (
    <div class="runs">
      <h3>Now</h3>
      {problem && <Problem of={problem} />}
      <ul class="plain">
        {turns.map((t) => (
          <li key={t.id} class="flow"><Status of={t.status} /><a class="grow" href={`/turns/${t.id}`}>{(t as Turn & { input: string }).input || t.id}</a><span class="dim">{t.agent_id} · <When at={t.create_time} /></span></li>
        ))}
      </ul>
      <p><a href="/turns">All turns</a></p>
    </div>
  );
}
