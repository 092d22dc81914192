// What can be done with a turn. What the server would refuse is not offered.
import { useSignal } from "@preact/signals";
import { part, post } from "../api";
import { go } from "../route";
import { models } from "../store";
import type { Timeline } from "../timeline";
import { can, Confirm, Field, Menu, toast } from "../ui";
import { stepsOf } from "./context";
import type { TurnDetail } from "./standing";

type Which = "" | "steer" | "cancel" | "rerun" | "fork";

export function Actions({ turn, t, reload }: { turn: TurnDetail; t: Timeline; version: number; reload: () => void }) {
  const which = useSignal<Which>("");
  const active = !t.ended && turn.status !== "completed" && turn.status !== "failed" && turn.status !== "cancelled";
  const close = () => { which.value = ""; };
  const show = (w: Which) => () => { which.value = w; };
  const forks = can("sessions.sessions.fork");
  const reruns = can("sessions.turns.create") && !active;
  return (
    <>
      {active && can("sessions.turns.steer") && <button type="button" onClick={show("steer")}>Steer…</button>}
      {active && can("sessions.turns.cancel") && <button type="button" class="quiet bad" onClick={show("cancel")}>Cancel…</button>}
      {reruns && <button type="button" class="quiet" onClick={show("rerun")}>Re-run…</button>}
      {!active && forks && <button type="button" class="quiet" onClick={show("fork")}>Fork…</button>}
      <Menu name="More" label="More of this turn">
        <a href={`/turns/${part(turn.id)}?tab=compare${turn.rerun_of ? `&with=${part(turn.rerun_of)}` : ""}`}>Compare…</a>
        {active && forks && <button type="button" onClick={show("fork")}>Fork…</button>}
        <a href={`/sessions/${part(turn.session_id)}`}>Conversation</a>
        {turn.parent_turn_id && <a href={`/turns/${part(turn.parent_turn_id)}`}>Parent turn</a>}
      </Menu>
      {which.value === "steer" && <Steer turn={turn} close={close} />}
      {which.value === "cancel" && <Cancel turn={turn} close={close} reload={reload} />}
      {which.value === "rerun" && <Rerun turn={turn} t={t} close={close} />}
      {which.value === "fork" && <Fork turn={turn} t={t} close={close} />}
    </>
  );
}

function Steer({ turn, close }: { turn: TurnDetail; close: () => void }) {
  const text = useSignal("");
  return (
    <Confirm title="Add to this turn" action="Steer" onNo={close} onYes={async () => {
      await post(`/v1/turns/${part(turn.id)}:steer`, { input: text.value });
      close();
      toast("ok", "The model reads it in its next step.");
    }}>
      <p>The turn goes on. The model reads what you add after the step that is in progress.</p>
      <Field label="What to add"><textarea rows={3} required value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} /></Field>
    </Confirm>
  );
}

function Cancel({ turn, close, reload }: { turn: TurnDetail; close: () => void; reload: () => void }) {
  const reason = useSignal("");
  return (
    <Confirm title="Cancel this turn?" action="Cancel the turn" bad onNo={close} onYes={async () => {
      await post(`/v1/turns/${part(turn.id)}:cancel`, { reason: reason.value });
      close();
      reload();
    }}>
      <p>Calls in progress are stopped. What is done stays done, and what was written so far is kept. Sub-agents are cancelled with it, unless they run in the background.</p>
      <Field label="Why" hint="For the journal; may be empty."><input type="text" maxLength={500} value={reason.value} onInput={(e) => { reason.value = e.currentTarget.value; }} /></Field>
    </Confirm>
  );
}

function Rerun({ turn, t, close }: { turn: TurnDetail; t: Timeline; close: () => void }) {
  const steps = stepsOf(t);
  const form = useSignal({ from: t.status === "failed" ? "failed" : "1", tools: t.status === "failed" ? "live" : "recorded", missing: "fail", model: "" });
  const f = form.value;
  const set = (change: Partial<typeof f>) => { form.value = { ...form.value, ...change }; };
  return (
    <Confirm title="Run this turn again" action="Re-run" onNo={close} onYes={async () => {
      const made = await post<{ id: string }>(`/v1/turns/${part(turn.id)}:rerun`, {
        from_step: f.from, tools: f.tools, ...(f.tools === "recorded" ? { missing: f.missing } : {}), ...(f.model ? { model: f.model } : {}),
      });
      close();
      go(`/turns/${part(made.id)}`);
    }}>
      <p>It is a new turn in a new conversation of yours, with the newest revision of the agent. Nothing of this one changes.</p>
      <Field label="From">
        <select value={f.from} onChange={(e) => set({ from: e.currentTarget.value })}>
          {t.status === "failed" && <option value="failed" selected={f.from === "failed"}>the step that failed</option>}
          {(steps.length ? steps : [1]).map((n) => <option key={n} value={String(n)} selected={f.from === String(n)}>{n === 1 ? "the start" : `infer #${n}`}</option>)}
        </select>
      </Field>
      <fieldset class="tl-choice">
        <legend>Tools</legend>
        <label class="check"><input type="radio" name="tools" checked={f.tools === "recorded"} onChange={() => set({ tools: "recorded" })} /> Recorded: a call that this turn made gets the same result, and no tool is called.</label>
        <label class="check"><input type="radio" name="tools" checked={f.tools === "live"} onChange={() => set({ tools: "live" })} /> Live: tools are called, with all their effects.</label>
      </fieldset>
      {f.tools === "recorded" && (
        <Field label="A call that this turn did not make">
          <select value={f.missing} onChange={(e) => set({ missing: e.currentTarget.value })}>
            <option value="fail" selected={f.missing === "fail"}>is not made: the model reads an error</option>
            <option value="live_read" selected={f.missing === "live_read"}>is made if its tool only reads</option>
          </select>
        </Field>
      )}
      <Field label="Model" hint={`Empty: that of the agent. This turn had ${turn.model || "none"}.`}>
        <input type="text" list="tl-models" placeholder="provider/model" value={f.model} onInput={(e) => set({ model: e.currentTarget.value })} />
      </Field>
      <datalist id="tl-models">{models.value.map((m) => <option key={m.name} value={m.name} />)}</datalist>
    </Confirm>
  );
}

function Fork({ turn, t, close }: { turn: TurnDetail; t: Timeline; close: () => void }) {
  const ends = [...t.rows.values()].filter((r) => r.model && r.to && !r.call);
  const seq = useSignal(t.ended ? t.seq : ends.at(-1)?.endSeq ?? 0);
  const title = useSignal("");
  return (
    <Confirm title="Fork the conversation" action="Fork" onNo={close} onYes={async () => {
      const made = await post<{ id: string }>(`/v1/sessions/${part(turn.session_id)}:fork`, { seq: seq.value, ...(title.value ? { title: title.value } : {}) });
      close();
      go(`/sessions/${part(made.id)}`);
    }}>
      <p>A new conversation of yours begins with the messages up to the point that you choose. This one goes on as it is.</p>
      <Field label="Up to">
        <select value={String(seq.value)} onChange={(e) => { seq.value = Number(e.currentTarget.value); }}>
          {t.ended > 0 && <option value={String(t.seq)} selected={seq.value === t.seq}>the end of this turn</option>}
          {ends.map((r) => <option key={r.id} value={String(r.endSeq)} selected={seq.value === r.endSeq}>after {r.name}</option>)}
          <option value="0" selected={seq.value === 0}>the end of the last turn that has ended</option>
        </select>
      </Field>
      <Field label="Title" hint="Empty: the same title."><input type="text" maxLength={200} value={title.value} onInput={(e) => { title.value = e.currentTarget.value; }} /></Field>
    </Confirm>
  );
}
