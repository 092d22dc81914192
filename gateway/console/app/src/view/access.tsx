// Who may call what, and why.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { asFailed, post, type Failed } from "../api";
import type { Cell, Decision, Explained, Policy } from "../model";
import { me } from "../store";
import { Dialog, Facts, Loading, Problem, Status, useLoad } from "../ui";

/** usePost is what a POST answers that only reads: it is sent again when its body changes. */
function usePost<T>(path: string, body: unknown | null): { data: T | null; problem: Failed | null } {
  const state = useSignal<{ of: string; data: T | null; problem: Failed | null }>({ of: "", data: null, problem: null });
  const of = body === null ? "" : JSON.stringify(body);
  useEffect(() => {
    if (!of) return;
    let open = true;
    const keep = (data: T | null, problem: Failed | null) => { if (open) state.value = { of, data, problem }; };
    post<T>(path, body).then((data) => keep(data, null), (e) => keep(null, asFailed(e)));
    return () => { open = false; };
  }, [path, of]);
  return state.value.of === of ? state.value : { data: null, problem: null };
}

/** useSubjects are the users of whom decisions were made lately, and the caller: policy knows their roles. */
export function useSubjects(): string[] | null {
  const { data, problem } = useLoad<{ decisions: Decision[] }>("/v1/decisions?page_size=200");
  if (!data && !problem) return null;
  const own = me.value ? [me.value.subject] : [];
  return [...new Set([...own, ...(data?.decisions ?? []).map((d) => d.subject)])].filter(Boolean).slice(0, 20);
}

/** RuleOf names what decided. */
export function RuleOf({ rule }: { rule: string }) {
  const name = rule.startsWith("policy:") ? rule.slice(7) : "";
  if (!rule) return <span class="dim">no rule</span>;
  return name ? <a href={`/access?policy=${encodeURIComponent(name)}`}>policy {name}</a> : <>rule {rule}</>;
}

interface MatrixProps { subjects: string[]; tools: string[]; draft?: Policy | null }

const marks: Record<string, string> = { allow: "✓", deny: "✕", ask: "?" };

/** Matrix says for each user and tool whether a call is allowed, denied or asked about; a cell says why. Tools are rows: there are more of them. */
export function Matrix({ subjects, tools, draft }: MatrixProps) {
  const why = useSignal<Cell | null>(null);
  const body = subjects.length && tools.length ? { subjects, tools, ...(draft ? { draft } : {}) } : null;
  const { data, problem } = usePost<{ cells: Cell[] }>("/v1/access-policies:matrix", body);
  if (problem) return <Problem of={problem} />;
  if (!body) return <p class="nothing">Choose users and tools.</p>;
  if (!data) return <Loading />;
  const cells = new Map(data.cells.map((c) => [`${c.subject} ${c.tool}`, c]));
  return (
    <>
      <div class="rows-box" tabIndex={0} role="region" aria-label="Who may call what">
        <table class="matrix" aria-label="Who may call what">
          <thead><tr><th scope="col">Tool</th>{subjects.map((s) => <th key={s} scope="col">{s}</th>)}</tr></thead>
          <tbody>
            {tools.map((t) => (
              <tr key={t}>
                <th scope="row"><a href={`/tools/${t}`}>{t}</a></th>
                {subjects.map((s) => {
                  const c = cells.get(`${s} ${t}`);
                  if (!c) return <td key={s}>–</td>;
                  return (
                    <td key={s}>
                      <button type="button" class={`cell ${c.decision}`} data-subject={s} data-tool={t} data-decision={c.decision}
                        aria-label={`${s}, ${t}: ${c.decision}${c.rule ? ` by ${c.rule}` : ""}. Why?`} onClick={() => { why.value = c; }}>
                        <span aria-hidden="true">{marks[c.decision] ?? c.decision}</span>
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="dim">✓ allowed, ✕ denied, ? needs an approval. Choose a cell to see why.</p>
      {why.value && <Dialog wide title={`${why.value.subject} and ${why.value.tool}`} onClose={() => { why.value = null; }}>
        <Explanation subject={why.value.subject} tool={why.value.tool} draft={draft} />
      </Dialog>}
    </>
  );
}

/** Explanation says why a user may or may not call a tool now. Without a subject it is about the caller. */
export function Explanation({ subject, tool, permission, draft }: { subject: string; tool?: string; permission?: string; draft?: Policy | null }) {
  const own = me.value && me.value.subject === subject;
  const body = { ...(tool ? { tool } : { permission }), ...(own ? {} : { subject }), ...(draft ? { draft } : {}) };
  const { data, problem } = usePost<Explained>("/v1/access-policies:explain", tool || permission ? body : null);
  if (problem) return <Problem of={problem} />;
  if (!data) return <Loading />;
  const decision = data.decision || (data.allowed ? "allow" : "deny");
  return (
    <div class="explanation" data-decision={decision}>
      <p><Status of={decision} /> {data.reason}.</p>
      <Facts of={[["Decided by", <RuleOf rule={data.rule} />], ["Approval rule", data.approval_rule], ["Revision of the policies", data.policy_revision]]} />
      {data.explained.map((p) => (
        <details key={p.name} open={p.matches && p.covers}>
          <summary>{p.name} ({p.effect}): {p.message}</summary>
          <p><a href={`/access?policy=${encodeURIComponent(p.name)}`}>Open the policy</a></p>
          <ul>{p.matchers.map((m, i) => <li key={i}><b>{m.matches ? "yes" : "no"}</b> <code>{m.path} {m.operator.replaceAll("_", " ")} {m.values.join(", ")}</code> <span class="dim">{m.message}</span></li>)}</ul>
        </details>
      ))}
      {!data.explained.length && <p class="dim">No access policy is about this; rules of the configuration decide.</p>}
    </div>
  );
}

/** WhyDecided shows what a recorded decision was, and what it would be now. */
export function WhyDecided({ of: d }: { of: Decision }) {
  const [tool, permission] = d.kind === "tool" ? [d.resource, undefined] : [undefined, d.resource];
  return (
    <>
      <h3>Then</h3>
      <p><Status of={d.allowed ? "allowed" : "denied"} /> {d.reason}</p>
      <Facts of={[
        ["Decided by", <RuleOf rule={d.rule} />], ["Policies", d.policies.join(", ")], ["Groups that would allow it", d.needed_groups.join(", ")],
        ["Turn", d.turn_id && <a href={`/turns/${d.turn_id}${d.call_id ? `?call=${encodeURIComponent(d.call_id)}` : ""}`}>{d.turn_id}</a>],
      ]} />
      {d.kind !== "secret" && <><h3>Now</h3><Explanation subject={d.subject} tool={tool} permission={permission} /></>}
    </>
  );
}
