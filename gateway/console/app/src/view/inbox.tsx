// What waits for a person, oldest first.
import { ago } from "../format";
import { approvals } from "../store";
import { AskCard, ofApproval } from "./ask";

export function Inbox() {
  const all = [...approvals.value].sort((a, b) => a.create_time.localeCompare(b.create_time));
  return (
    <section class="page" aria-label="Inbox">
      <h2 class="title">Inbox</h2>
      {all.length === 0 && <p class="note">Nothing waits for you.</p>}
      {all.map((a) => (
        <div key={a.id} class="entry">
          <p class="dim">{a.agent_id} · {ago(a.create_time)} · <a href={`/sessions/${a.session_id}`}>Conversation</a>{" "}
            <a href={`/turns/${a.turn_id}`}>Timeline</a></p>
          <AskCard ask={ofApproval(a)} />
        </div>
      ))}
    </section>
  );
}
