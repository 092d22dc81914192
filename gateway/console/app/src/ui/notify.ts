// Notifications of the browser about what waits, while the page is not in view.
import { effect, signal } from "@preact/signals";
import { approvals, approvalsRead } from "../store";
import { titles } from "../view/titles";

const allowed = signal(typeof Notification === "undefined" ? "denied" : Notification.permission);
let known: Set<string> | null = null;

effect(() => {
  if (!approvalsRead.value) return;
  const all = approvals.value;
  const fresh = known ? all.filter((a) => !known!.has(a.id)) : [];
  known = new Set(all.map((a) => a.id));
  if (allowed.value !== "granted" || !document.hidden) return;
  for (const a of fresh.slice(0, 3)) {
    const n = new Notification(titles[a.kind] ?? "Something waits for you", { body: `${a.agent_id}: ${a.tool}`, tag: a.id, icon: "/assets/icon.svg" });
    n.onclick = () => {
      window.focus();
      location.assign(`/inbox/${encodeURIComponent(a.id)}`);
    };
  }
});

export const notifications = {
  offered: { get value() { return allowed.value === "default"; } },
  ask: () => { void Notification.requestPermission().then((p) => { allowed.value = p; }); },
};
