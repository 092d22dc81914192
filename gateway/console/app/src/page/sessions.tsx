// Conversations, with those of sub-agents below the ones that started them.
import { visible } from "../format";
import { nested, type SessionRow } from "../model";
import type { PageProps } from "../route";
import { agents } from "../store";
import { Filters, Page, Problem, Status, Table, useFiltered, usePages, When, type Filter } from "../ui";

interface Line { row: SessionRow; depth: number }

export default function SessionsPage({ params }: PageProps) {
  const filters: Filter[] = [
    { key: "q", name: "Search", kind: "text" },
    { key: "agent_id", name: "Agent", kind: "choice", choices: agents.value?.map((a) => a.id) },
    { key: "status", name: "Status", kind: "choice", choices: ["running", "waiting", "completed", "failed", "cancelled"] },
    { key: "label", name: "Label", kind: "text" },
    { key: "archived", name: "Archive", kind: "choice", choices: [["", "archived or not"], ["false", "not archived"], ["true", "archived"]] },
    { key: "pinned", name: "Pins", kind: "choice", choices: [["", "pinned or not"], ["true", "pinned"]] },
  ];
  const rest = useFiltered(filters, params);
  const path = `/v1/sessions?page_size=200${rest && `&${rest}`}`;
  const { rows, more, problem } = usePages<SessionRow>(path, "sessions");
  const lines = rows && nested(rows, (s) => s.id, (s) => s.parent_session_id);
  return (
    <Page title="Conversations" crumbs={[["Turns", "/turns"]]} api={path} wide>
      <Filters of={filters} />
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Line> label="List of conversations" rows={lines} id={(l) => l.row.id} href={(l) => `/sessions/${l.row.id}`} more={more}
        empty={rest ? "No conversation fits these filters." : <>There is no conversation yet. <a href="/">Begin one</a>.</>}
        columns={[
          { name: "Title", cell: ({ row, depth }) => <span class={`clip deep-${Math.min(depth, 6)}`}>{depth > 0 && <span class="unseen">sub-agent: </span>}{row.pinned && "★ "}{visible(row.title || row.id)}</span> },
          { name: "Agent", cell: ({ row }) => <a class="whole" href={`/agents/${row.agent_id}`}>{row.agent_id}</a> },
          { name: "Status", cell: ({ row }) => <Status of={row.active_turn_id ? "running" : "done"} /> },
          { name: "User", cell: ({ row }) => <span class="whole">{row.subject}</span>, narrow: "hide" },
          { name: "Labels", cell: ({ row }) => Object.entries(row.labels ?? {}).map(([k, v]) => <span key={k} class="tag">{k}={v}</span>), narrow: "hide" },
          { name: "Turns", cell: ({ row }) => (row.active_turn_id ? <a href={`/turns/${row.active_turn_id}`}>active turn</a> : <span class="dim">ended</span>), narrow: "hide" },
          { name: "Changed", cell: ({ row }) => <When at={row.update_time} /> },
        ]} />}
    </Page>
  );
}
