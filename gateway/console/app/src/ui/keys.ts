// The keys that work on every page.
import { go } from "../route";
import { openHelp } from "./help";
import { openPalette } from "./palette";

const targets: Record<string, string> = { c: "/", t: "/turns", i: "/inbox", a: "/agents", o: "/tools", k: "/knowledge", u: "/usage", s: "/system" };
let after = 0; // when g was pressed

export function onKey(e: KeyboardEvent) {
  if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    openPalette();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || (e.target as Element).closest?.("input, textarea, select, dialog, [contenteditable]")) return;
  const to = targets[e.key];
  if (to && Date.now() - after < 1500) {
    e.preventDefault();
    after = 0;
    go(to);
    return;
  }
  after = e.key === "g" ? Date.now() : 0;
  if (e.key === "?") openHelp();
  else if (e.key === "n") go("/");
  else if (e.key === "/") {
    const field = document.querySelector<HTMLElement>(".composer textarea, .filters input");
    if (!field) return;
    field.focus();
  } else return;
  e.preventDefault();
}
