// Turns: what agents do and have done, with search, filters and cancelling of several.
import { useSignal } from "@preact/signals";
import { post } from "../api";
import { count, money, visible } from "../format";
import { isOver, millis, number, tokens, type TurnRow } from "../model";
import type { PageProps } from "../route";
import { agents, approvals } from "../store";
import { can, confirmed, Filters, Money, Page, Problem, Status, Table, toast, Took, useFiltered, usePages, When, type Column, type Filter } from "../ui";

const statuses = ["queued", "running", "waiting", "completed", "failed", "cancelled"];
const orders: [string, string][] = [["", "newest first"], ["create_time", "oldest first"], ["cost desc", "most expensive first"], ["duration desc", "longest first"]];

export default function TurnsPage({ params }: PageProps) {
  const filters: Filter[] = [
    { key: "q", name: "Search", kind: "text" },
    { key: "status", name: "Status", kind: "choice", choices: statuses },
    { key: "agent_id", name: "Agent", kind: "choice", choices: agents.value?.map((a) => a.id) },
    { key: "label", name: "Label", kind: "text" },
    { key: "start_time", name: "Time", kind: "time" },
    { key: "order_by", name: "Order", kind: "choice", choices: orders },
  ];
  const rest = useFiltered(filters, params);
  const path = `/v1/turns?page_size=100${rest && `&${rest}`}`;
  const { rows, more, problem, reload } = usePages<TurnRow>(path, "turns", (all) => (all.length <= 200 ? 5000 : 0)); // one that reads a long list does not want it to move
  const chosen = useSignal<Set<string>>(new Set());
  const running = (rows ?? []).filter((t) => !isOver(t.status));
  const picked = running.filter((t) => chosen.value.has(t.id));
  const toggle = (id: string) => {
    const next = new Set(chosen.value);
    if (!next.delete(id)) next.add(id);
    chosen.value = next;
  };
  const columns: Column<TurnRow>[] = [
    { name: "Input", cell: (t) => <span class="clip">{visible(t.input) || <span class="dim">no text</span>}</span> },
    { name: "Status", cell: (t) => <><Status of={t.status} /><Why turn={t} /></> },
    { name: "Agent", cell: (t) => <a class="whole" href={`/agents/${t.agent_id}`}>{t.agent_id}</a> },
    { name: "User", cell: (t) => <span class="whole">{t.subject}</span>, narrow: "hide" },
    { name: "Duration", cell: (t) => <Took ms={millis(t.start_time, t.end_time)} /> },
    { name: "Tokens", cell: (t) => <span class="figure">{tokens(t.usage).toLocaleString()}</span> },
    { name: "Cost", cell: (t) => <Money micros={t.usage?.cost_micros} /> },
    { name: "Started", cell: (t) => <When at={t.create_time} /> },
  ];
  if (running.length > 0 && can("sessions.turns.cancel")) {
    columns.push({
      name: "Select", narrow: "hide", cell: (t) => (isOver(t.status) ? null
        : <input type="checkbox" aria-label={`Select ${t.input || t.id}`} checked={chosen.value.has(t.id)} onChange={() => toggle(t.id)} />),
    });
  }
  return (
    <Page title="Turns" api={path} wide actions={running.length > 0 && can("sessions.turns.cancel") && (
      <>
        <button type="button" class="quiet bad" onClick={() => cancel(picked.length ? picked : running, () => { chosen.value = new Set(); reload(); })}>
          Cancel {picked.length ? `${picked.length} selected` : count(running.length, "active turn")}
        </button>
      </>
    )}>
      <Filters of={filters} />
      <p class="dim flow"><span>{rows ? summary(rows, more !== null) : "Reading…"}</span> <a href="/sessions">Conversations and their sub-agents</a> <a href="/tools?tab=calls&errors=true">Calls that failed</a></p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table label="List of turns" columns={columns} rows={rows} id={(t) => t.id} href={(t) => `/turns/${t.id}`} more={more}
        empty={rest ? "No turn fits these filters." : <>No agent has done anything yet. <a href="/">Send a message</a>.</>} />}
    </Page>
  );
}

/** Why says in a few words why a turn does not go on, or why it failed. */
function Why({ turn: t }: { turn: TurnRow }) {
  if (t.status === "failed") return <div class="note">{t.error?.code}: {visible(t.error?.message ?? "")}</div>;
  if (t.status === "waiting" || t.waiting_for?.length) return <Waits turn={t} />;
  if (t.pending) return <div class="note">{t.pending.detail}</div>;
  if (t.status === "completed" && t.stop_reason && t.stop_reason !== "end") return <div class="note">{t.stop_reason.replaceAll("_", " ")}</div>;
  return null;
}

/** Waits says for what, as far as it is in the caller's inbox. */
function Waits({ turn: t }: { turn: TurnRow }) {
  const a = approvals.value.find((x) => x.turn_id === t.id || t.waiting_for?.includes(x.id));
  if (!a) return <div class="note">for somebody else</div>;
  const what = a.kind === "approval" ? `approval of ${a.tool}` : a.kind === "input" ? "an answer" : a.kind.replaceAll("_", " ");
  return <div class="note">for you: <a href={`/inbox/${a.id}`}>{what}</a>{a.approver_roles.length > 0 && ` (${a.approver_roles.join(" or ")})`}</div>;
}

function summary(rows: TurnRow[], more: boolean): string {
  const of = new Map<string, number>();
  for (const t of rows) of.set(t.status, (of.get(t.status) ?? 0) + 1);
  const cost = rows.reduce((sum, t) => sum + number(t.usage?.cost_micros), 0);
  const parts = statuses.filter((s) => of.has(s)).map((s) => `${of.get(s)} ${s}`);
  return `${more ? "First " : ""}${count(rows.length, "turn")}${parts.length ? `: ${parts.join(", ")}` : ""}${cost ? `, ${money(cost)}` : ""}.`;
}

/** cancel cancels turns one by one, and says which it could not. */
async function cancel(turns: TurnRow[], done: () => void) {
  if (!await confirmed(`Cancel ${count(turns.length, "turn")}?`, "Calls that were sent are not undone. What was said so far stays.", "Cancel them", true)) return;
  const lost: string[] = [];
  for (const t of turns) {
    try {
      await post(`/v1/turns/${t.id}:cancel`);
    } catch (e) {
      lost.push(`${t.id}: ${(e as Error).message}`);
    }
  }
  if (lost.length) toast("error", `${lost.length} of ${turns.length} could not be cancelled. ${lost[0]}`);
  else toast("ok", `${count(turns.length, "turn")} will be cancelled.`);
  done();
}
