// Reading from the API while a page is open.
import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { asFailed, get, type Failed } from "../api";

interface Load<T> { data: T | null; problem: Failed | null; reload: () => void }

/** refused tells whether the server would give the same answer again: nothing is asked again by itself then. */
const refused = (problem: Failed | null) => problem?.status === 403 || problem?.status === 404;

/** useTicks calls f every so many milliseconds, 0 for never, while the page is visible. */
function useTicks(every: number, f: () => void) {
  const last = useRef(f);
  last.current = f;
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(() => { if (!document.hidden) last.current(); }, every);
    return () => clearInterval(timer);
  }, [every]);
}

/** useLoad reads a path, and again every so many milliseconds while the page is visible, until that is refused. It keeps the last data when that
 *  fails; another path begins anew. A null path reads nothing. `every` can depend on what was read, which is null before: 0 ends it. */
export function useLoad<T>(path: string | null, every: number | ((data: T | null) => number) = 0): Load<T> {
  const data = useSignal<{ of: string; value: T } | null>(null);
  const problem = useSignal<Failed | null>(null);
  const current = useRef<AbortController | null>(null); // of the read that runs
  const reload = useCallback(() => {
    current.current?.abort();
    if (path === null) return;
    const own = current.current = new AbortController();
    get<T>(path, own.signal).then((value) => {
      if (own.signal.aborted) return;
      data.value = { of: path, value };
      problem.value = null;
    }, (e) => { if (!own.signal.aborted) problem.value = asFailed(e); }).finally(() => { if (current.current === own) current.current = null; });
  }, [path]);
  useEffect(() => {
    problem.value = null;
    reload();
    return () => current.current?.abort();
  }, [reload]);
  const own = data.value && data.value.of === path ? data.value.value : null;
  useTicks(typeof every === "number" ? every : every(own), () => { if (!current.current && !refused(problem.peek())) reload(); });
  return { data: own, problem: problem.value, reload };
}

interface Pages<T> { rows: T[] | null; more: (() => void) | null; problem: Failed | null; reload: () => void }

/** usePages reads a list page by page; `field` names the list in the answers. `more` is null when all has been read, or a page is being read.
 *  `reload` reads as many rows again as there are, and that is done every so many milliseconds, as useLoad does it. */
export function usePages<T>(path: string | null, field: string, every: (rows: T[]) => number = () => 0): Pages<T> {
  const state = useSignal<{ of: string | null; rows: T[] | null; next: string }>({ of: null, rows: null, next: "" });
  const problem = useSignal<Failed | null>(null);
  const busy = useSignal(false);
  const current = useRef<AbortController | null>(null);
  const read = useCallback(async (want: number, rows: T[], token: string) => {
    current.current?.abort();
    if (path === null) return;
    const own = current.current = new AbortController();
    busy.value = true;
    try {
      let next = token;
      do {
        const at = path + (next ? `${path.includes("?") ? "&" : "?"}page_token=${encodeURIComponent(next)}` : "");
        const answer = await get<Record<string, unknown>>(at, own.signal);
        rows = rows.concat((answer[field] as T[] | undefined) ?? []);
        next = String(answer.next_page_token ?? "");
      } while (next && rows.length < want);
      state.value = { of: path, rows, next };
      problem.value = null;
    } catch (e) {
      if (own.signal.aborted) return;
      problem.value = asFailed(e);
    }
    busy.value = false;
  }, [path, field]);
  useEffect(() => {
    problem.value = null;
    void read(0, [], "");
    return () => current.current?.abort();
  }, [read]);
  const { of, rows, next } = state.value;
  const own = of === path ? rows : null;
  const reload = () => void read(own?.length ?? 0, [], "");
  useTicks(every(own ?? []), () => { if (!busy.peek() && !refused(problem.peek())) reload(); });
  return {
    rows: own, problem: problem.value, reload,
    more: own && next && !busy.value ? () => void read(0, own, next) : null,
  };
}
