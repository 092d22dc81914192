// Reading from the API while a page is open.
import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { Failed, get } from "../api";

const asFailed = (e: unknown) => (e instanceof Failed ? e : new Failed(0, "", (e as Error).message));

export interface Load<T> { data: T | null; problem: Failed | null; reload: () => void }

/** useLoad reads a path, and again every so many milliseconds while the page is visible. It keeps the last data when that fails; another path
 *  begins anew. A null path reads nothing. */
export function useLoad<T>(path: string | null, every = 0): Load<T> {
  const data = useSignal<{ of: string; value: T } | null>(null);
  const problem = useSignal<Failed | null>(null);
  const current = useRef<AbortController | null>(null);
  const reload = useCallback(() => {
    current.current?.abort();
    if (path === null) return;
    const own = current.current = new AbortController();
    get<T>(path, own.signal).then((value) => {
      data.value = { of: path, value };
      problem.value = null;
    }, (e) => { if (!own.signal.aborted) problem.value = asFailed(e); });
  }, [path]);
  useEffect(() => {
    problem.value = null;
    reload();
    const timer = every ? setInterval(() => { if (!document.hidden) reload(); }, every) : 0;
    return () => {
      clearInterval(timer);
      current.current?.abort();
    };
  }, [reload, every]);
  return { data: data.value && data.value.of === path ? data.value.value : null, problem: problem.value, reload };
}

export interface Pages<T> { rows: T[] | null; more: (() => void) | null; problem: Failed | null; reload: () => void }

/** usePages reads a list page by page; `field` names the list in the answers. `more` is null when all has been read, or a page is being read.
 *  `reload` reads as many rows again as there are. */
export function usePages<T>(path: string | null, field: string): Pages<T> {
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
  return {
    rows: own, problem: problem.value, reload: () => void read(own?.length ?? 0, [], ""),
    more: own && next && !busy.value ? () => void read(0, own, next) : null,
  };
}
