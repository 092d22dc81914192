// Links to a conversation.
import { useSignal } from "@preact/signals";
import { part, post, remove, type Session } from "../api";
import { can } from "../store";
import { useLoad } from "../ui/load";
import { copy, Dialog, failed, toast } from "../ui/dialog";
import { Field } from "../ui/form";
import { Problem, WhomToAsk } from "../ui/page";
import { When } from "../ui/show";
import type * as schema from "../schema";

export type Share = schema.Share;

const lasts: [string, string][] = [["86400", "a day"], ["604800", "a week"], ["2592000", "30 days"], ["31536000", "a year"]];

export function ShareDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const shares = useLoad<{ shares: Share[] }>(`/v1/sessions/${part(session.id)}/shares`);
  const access = useSignal("read");
  const audience = useSignal("tenant");
  const subjects = useSignal("");
  const lasting = useSignal("604800");
  const live = useSignal(false);
  const redact = useSignal(true);
  const made = useSignal("");
  const problem = useSignal("");
  const make = async () => {
    problem.value = "";
    try {
      const share = await post<schema.CreateShareResponse>(`/v1/sessions/${part(session.id)}/shares`, {
        access: access.value, audience: audience.value, live: live.value, redact_tool_results: redact.value,
        ...(audience.value === "named" && { subjects: subjects.value.split(/[\s,]+/).filter(Boolean) }),
        ttl_seconds: Number(lasting.value),
      });
      made.value = new URL(share.url, location.origin).href;
      shares.reload();
    } catch (e) {
      problem.value = (e as Error).message;
    }
  };
  const revoke = (id: string) => remove(`/v1/sessions/${part(session.id)}/shares/${part(id)}`).then(() => {
    toast("ok", "The link is revoked: it opens nothing from now on.");
    shares.reload();
  }, failed);
  return (
    <Dialog title="Share this conversation" onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); void make(); }}>
        <div class="columns">
          <Field label="Who may open the link">
            <select value={audience.value} onChange={(e) => { audience.value = e.currentTarget.value; }}>
              <option value="anyone">anyone who has it</option><option value="tenant">users of your tenant</option><option value="named">named users</option>
            </select>
          </Field>
          <Field label="What they may do">
            <select value={access.value} onChange={(e) => { access.value = e.currentTarget.value; }}>
              <option value="read">read</option><option value="continue">read and continue</option>
            </select>
          </Field>
        </div>
        {audience.value === "named" && <Field label="Users" hint="Subjects, separated by spaces."><input type="text" required value={subjects.value} onInput={(e) => { subjects.value = e.currentTarget.value; }} /></Field>}
        <Field label="It lasts">
          <select value={lasting.value} onChange={(e) => { lasting.value = e.currentTarget.value; }}>{lasts.map(([v, name]) => <option key={v} value={v} selected={v === lasting.value}>{name}</option>)}</select>
        </Field>
        <label class="check"><input type="checkbox" checked={live.value} onChange={(e) => { live.value = e.currentTarget.checked; }} /> <span>Later messages are shown too</span></label>
        <label class="check"><input type="checkbox" checked={redact.value} onChange={(e) => { redact.value = e.currentTarget.checked; }} /> <span>Results of tools are left out</span></label>
        {problem.value && <p class="note bad" role="alert">{problem.value}</p>}
        {made.value ? (
          <p class="made" role="status">
            <input type="text" readOnly aria-label="Link" value={made.value} onFocus={(e) => e.currentTarget.select()} />
            <button type="button" onClick={() => copy(made.value)}>Copy link</button>
            <span class="dim">It is shown only now.</span>
          </p>
        ) : can("sessions.shares.create") ? <div class="buttons"><button type="submit">Create link</button></div>
          : <p class="dim">You may not create links. <WhomToAsk permission="sessions.shares.create" /></p>}
      </form>
      {shares.problem && <Problem of={shares.problem} />}
      {(shares.data?.shares.length ?? 0) > 0 && (
        <>
          <h3>Links</h3>
          <ul class="plain">
            {shares.data!.shares.map((s) => (
              <li key={s.id} class="flow">
                <span class="grow">{s.audience === "named" ? (s.subjects ?? []).join(", ") : s.audience}, {s.access}{s.live ? ", live" : ""} <span class="dim">made <When at={s.create_time} />{s.expire_time && <>, ends <When at={s.expire_time} /></>}</span></span>
                {can("sessions.shares.revoke") && <button type="button" class="quiet small bad" onClick={() => void revoke(s.id)}>Revoke</button>}
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}
