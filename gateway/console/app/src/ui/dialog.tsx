// What comes over a page: dialogs, and messages that say what has happened.
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Toast { id: number; kind: "ok" | "error"; text: string; action?: ToastAction }
interface ToastAction { name: string; run: () => void; ms?: number }

const toasts = signal<Toast[]>([]);
let last = 0;

const close = (id: number) => { toasts.value = toasts.value.filter((t) => t.id !== id); };

/** toast says what has happened. Errors stay until they are closed; others go after some seconds, or after the action's time. */
export function toast(kind: "ok" | "error", text: string, action?: ToastAction): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-4), { id, kind, text, action }];
  if (kind === "ok") setTimeout(() => close(id), action?.ms ?? 6000);
}

export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label="Messages of this page">
      {toasts.value.map((t) => (
        <div key={t.id} class={`toast ${t.kind}`} role={t.kind === "error" ? "alert" : "status"}>
          <span>{t.text}</span>
          {t.action && <button type="button" class="quiet" onClick={() => { t.action!.run(); close(t.id); }}>{t.action.name}</button>}
          <button type="button" class="icon" aria-label="Close" onClick={() => close(t.id)}>×</button>
        </div>
      ))}
    </div>
  );
}

/** failed shows an error that a handler cannot show anywhere better. */
export const failed = (e: unknown) => toast("error", (e as Error).message);

/** copy puts text on the clipboard, and says so. */
export function copy(text: string): void {
  const done = () => toast("ok", text.length > 60 ? "Copied." : `Copied ${text}`);
  (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))).then(done, () => {
    const area = document.createElement("textarea"); // pages of plain HTTP have no clipboard
    area.value = text;
    document.body.append(area);
    area.select();
    const ok = document.execCommand("copy");
    area.remove();
    if (ok) done();
    else toast("error", `This browser does not let the page copy: ${text}`);
  });
}

/** Dialog is modal: Escape and a click beside it close it, and the focus returns to where it was. */
export function Dialog({ title, onClose, wide, children }: { title: string; onClose: () => void; wide?: boolean; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current!.showModal();
    return () => before?.isConnected ? before.focus() : undefined;
  }, []);
  return (
    <dialog ref={dialog} class={wide ? "wide" : ""} aria-label={title} onCancel={(e) => { e.preventDefault(); onClose(); }}
      onClick={(e) => { if (e.target === dialog.current) onClose(); }}>
      <div class="dialog">
        <div class="dialog-head"><h2>{title}</h2><button type="button" class="icon" aria-label="Close" onClick={onClose}>×</button></div>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** action is the verb on the button. */
  action: string;
  bad?: boolean;
  /** onYes does it: the dialog shows its error and stays open, so that nothing is lost. */
  onYes: () => unknown;
  onNo: () => void;
  children?: ComponentChildren;
}

/** Confirm asks before something that is hard to undo, and around a small form. The caller closes it, in onYes too. */
export function Confirm({ title, action, bad, onYes, onNo, children }: ConfirmProps) {
  const problem = useSignal("");
  const busy = useSignal(false);
  const yes = async () => {
    busy.value = true;
    problem.value = "";
    try {
      await onYes();
    } catch (e) {
      problem.value = (e as Error).message;
    }
    busy.value = false;
  };
  return (
    <Dialog title={title} onClose={onNo}>
      <form onSubmit={(e) => { e.preventDefault(); void yes(); }}>
        {children}
        {problem.value && <p class="note bad" role="alert">{problem.value}</p>}
        <div class="buttons">
          <button type="button" class="quiet" onClick={onNo}>Cancel</button>
          <button type="submit" class={bad ? "danger" : ""} disabled={busy.value} autofocus>{action}</button>
        </div>
      </form>
    </Dialog>
  );
}

const question = signal<{ title: string; text: string; action: string; bad: boolean; answer: (yes: boolean) => void } | null>(null);

/** confirmed asks a question in a dialog, and is whether the answer was yes. */
export const confirmed = (title: string, text: string, action: string, bad = false) => new Promise<boolean>((resolve) => {
  question.value = { title, text, action, bad, answer: (yes) => { question.value = null; resolve(yes); } };
});

export function Questions() {
  const q = question.value;
  if (!q) return null;
  return <Confirm key={q.title} title={q.title} action={q.action} bad={q.bad} onYes={() => q.answer(true)} onNo={() => q.answer(false)}><p>{q.text}</p></Confirm>;
}
