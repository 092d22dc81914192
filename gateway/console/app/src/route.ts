// Each view has its own URL.
import { signal } from "@preact/signals";

export const path = signal(location.pathname);

addEventListener("popstate", () => { path.value = location.pathname; });

export function go(to: string, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", to);
  path.value = location.pathname;
}

/** follow handles clicks on links within the console. */
export function follow(e: MouseEvent) {
  const a = (e.target as Element).closest?.("a");
  if (!a || a.target || e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0 || a.origin !== location.origin) return;
  if (!/^\/($|inbox$|sessions\/|turns\/)/.test(a.pathname)) return;
  e.preventDefault();
  go(a.pathname);
}
