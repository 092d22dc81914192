// What waits for a person, oldest first.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { part, type Approval } from "../api";
import type { PageProps } from "../route";
import { approvals, approvalsMore, approvalsProblem, approvalsRead } from "../store";
import { Empty, Filters, Id, Loading, Page, Problem, useLoad, When, type Filter } from "../ui";
import { notifications } from "../ui/notify";
import { AskCard, ofApproval } from "../view/ask";
import { titles } from "../view/titles";

export default function InboxPage({ id, params }: PageProps) {
  const kind = params.get("kind") ?? "", agent = params.get("agent") ?? "";
  const all = [...approvals.value].sort((a, b) => a.create_time.localeCompare(b.create_time));
  const listed = all.filter((a) => (!kind || a.kind === kind) && (!agent || a.agent_id === agent) && a.id !== id);
  const one = all.find((a) => a.id === id);
  const named = useLoad<Approval>(id && !one ? `/v1/approvals/${part(id)}` : null, (a) => (a && a.status !== "pending" ? 0 : 5000));
  const first = one ?? named.data;
  const filters: Filter[] = [
    { key: "kind", name: "Kind", kind: "choice", choices: Object.entries(titles) },
    { key: "agent", name: "Agent", kind: "choice", choices: [...new Set(all.map((a) => a.agent_id))] },
  ];
  const keys = useKeys([...(first ? [first.id] : []), ...listed.map((a) => a.id)], id);
  return (
    <Page title="Inbox" api={id ? `/v1/approvals/${part(id)}` : "/v1/approvals?status=pending"} actions={<Notify />} crumbs={id ? [["Inbox", "/inbox"]] : undefined} head={id ? <>Inbox <Id of={id} /></> : undefined}>
      {approvalsProblem.value && <Problem of={approvalsProblem.value} />}
      {(all.length > 1 || kind || agent) && <Filters of={filters} />}
      <div ref={keys.box} class="entries">
        {id && named.problem && !first && <Problem of={named.problem} />}
        {first && <Entry approval={first} keys={keys} />}
        {id && first && listed.length > 0 && <h3>Also waiting</h3>}
        {listed.map((a) => <Entry key={a.id} approval={a} keys={keys} />)}
      </div>
      {approvalsMore.value && <p class="note">These are the first {all.length}. More come when some of them are decided.</p>}
      {!approvalsRead.value && !approvalsProblem.value && <Loading />}
      {approvalsRead.value && all.length === 0 && !first && <Empty>Nothing waits for you. Approvals, questions, and calls with an unknown outcome come here by themselves.</Empty>}
      {all.length > 0 && listed.length === 0 && !first && <Empty>Nothing of this kind waits for you.</Empty>}
    </Page>
  );
}

type Keys = ReturnType<typeof useKeys>;

function Entry({ approval: a, keys }: { approval: Approval; keys: Keys }) {
  return (
    <div class={keys.at.value === a.id ? "entry at" : "entry"} data-entry={a.id} tabIndex={-1} onFocusCapture={() => { keys.at.value = a.id; }}>
      <p class="dim">
        {a.agent_id} · <When at={a.create_time} /> · <a href={`/sessions/${part(a.session_id)}`}>Conversation</a>{" "}
        <a href={`/turns/${part(a.turn_id)}?call=${part(a.call_id)}`}>Timeline</a> <a href={`/inbox/${part(a.id)}`}>Link</a>
      </p>
      <AskCard ask={ofApproval(a)} />
    </div>
  );
}

/** useKeys chooses an entry by j and k, decides it by a and d, and keeps the focus in the list when an entry goes. */
function useKeys(ids: string[], start: string) {
  const box = useRef<HTMLDivElement>(null);
  const at = useSignal(start);
  const before = useRef(ids);
  const held = useRef(false);
  const focus = (id: string | undefined) => {
    at.value = id ?? "";
    const e = id && box.current?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(id)}"]`);
    if (e) {
      e.focus({ preventScroll: true });
      e.scrollIntoView({ block: "nearest" });
    } else document.getElementById("main")?.focus();
  };
  // An entry that is decided takes the focus with it: the next one gets it.
  useLayoutEffect(() => {
    const was = before.current;
    before.current = ids;
    if (at.value && !ids.includes(at.value) && was.includes(at.value)) {
      const rest = was.slice(was.indexOf(at.value)).concat(was.slice(0, was.indexOf(at.value)).reverse()).find((i) => ids.includes(i));
      if (held.current || document.activeElement === document.body) focus(rest);
      else at.value = rest ?? "";
    }
  }, [ids.join()]);
  useEffect(() => {
    const within = () => { held.current = box.current?.contains(document.activeElement) ?? false; };
    const key = (e: KeyboardEvent) => {
      if ((e.target as Element).closest("input, textarea, select, dialog") || e.ctrlKey || e.metaKey || e.altKey) return;
      const list = before.current, i = list.indexOf(at.value);
      if (e.key === "j" || e.key === "k") {
        e.preventDefault();
        focus(list[Math.max(0, Math.min(list.length - 1, i < 0 ? 0 : i + (e.key === "j" ? 1 : -1)))]);
      } else if (e.key === "a" || e.key === "d") {
        const b = at.value && box.current?.querySelector<HTMLButtonElement>(`[data-entry="${CSS.escape(at.value)}"] [data-key=${e.key}]`);
        if (!b) return;
        e.preventDefault();
        b.focus();
        b.click();
      } else if (e.key === "Enter" && (document.activeElement as HTMLElement | null)?.dataset.entry) {
        document.activeElement!.querySelector<HTMLElement>("input, select, button")?.focus();
        e.preventDefault();
      }
    };
    addEventListener("focusin", within);
    addEventListener("keydown", key);
    return () => {
      removeEventListener("focusin", within);
      removeEventListener("keydown", key);
    };
  }, []);
  return { box, at };
}

function Notify() {
  if (!notifications.offered.value) return null;
  return <button type="button" class="quiet" onClick={notifications.ask}>Notify me</button>;
}
