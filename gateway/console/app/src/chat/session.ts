// What one can do with a conversation.
import { Failed, get, part, patch, post, reach, remove, type Session } from "../api";
import { parse } from "../json";
import { go, path } from "../route";
import { failed, toast } from "../ui/dialog";
import { refreshList } from "./side";

export const formats: [string, string][] = [["markdown", "Markdown"], ["json", "JSON"], ["pdf", "PDF"]];

/** exportSession saves a conversation as a file. */
export async function exportSession(id: string, format: string) {
  if (!formats.some(([f]) => f === format)) throw new Error(`There is no format "${format}". There are: ${formats.map(([f]) => f).join(", ")}.`);
  let r: Response;
  try {
    r = await reach(`/v1/sessions/${part(id)}:export?format=${part(format)}`);
  } catch (e) {
    if (format !== "pdf" || !(e instanceof Failed) || e.status !== 400) throw e;
    return printSession(id); // a server that writes no PDF leaves it to the browser
  }
  let blob = await r.blob();
  if (format === "markdown" && r.headers.get("Content-Type")?.includes("json")) {
    const { text, content } = JSON.parse(await blob.text()) as { text?: string; content?: string };
    blob = new Blob([text ?? content ?? ""], { type: "text/markdown" });
  }
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = `${id}.${format === "markdown" ? "md" : format}`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

/** importSession makes a conversation of a file that an export has written as JSON, and opens it. */
export async function importSession(file: File) {
  let body: { session?: unknown; messages?: unknown } | null;
  try {
    body = parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON: choose a file that was exported as JSON.`);
  }
  const s = await post<Session>("/v1/sessions:import", { session: body?.session, messages: body?.messages }); // nothing reads turns and events
  toast("ok", "The conversation was imported: it begins with the messages of the file.");
  refreshList();
  go(`/sessions/${s.id}`);
}

/** printSession opens a conversation and the browser's dialog for printing it, also to a file. */
function printSession(id: string) {
  const to = `/sessions/${id}`;
  const open = path.value === to;
  if (!open) go(to);
  setTimeout(() => print(), open ? 0 : 1500);
}

/** change changes a conversation, and the list that shows it. */
export async function change(id: string, what: Partial<Pick<Session, "title" | "pinned" | "archived">>, done = "") {
  try {
    await patch(`/v1/sessions/${part(id)}`, what);
    if (done) toast("ok", done);
    refreshList();
  } catch (e) {
    failed(e);
  }
}

/** deleteSession deletes a conversation. It can be taken back for as long as the message is there. */
export async function deleteSession(s: Session) {
  try {
    if (s.active_turn_id) { // it can be deleted once its turn has ended
      await post(`/v1/turns/${part(s.active_turn_id)}:cancel`);
      await get(`/v1/turns/${part(s.active_turn_id)}?wait=30s`);
    }
    const { restore_until: until } = await remove<{ restore_until?: string }>(`/v1/sessions/${part(s.id)}`);
    if (path.value === `/sessions/${s.id}`) go("/");
    refreshList();
    const ms = until ? Date.parse(until) - Date.now() : 0;
    const undo = () => { post(`/v1/sessions/${part(s.id)}:restore`).then(() => { refreshList(); go(`/sessions/${s.id}`); }, failed); };
    toast("ok", `Deleted “${s.title || s.agent_id}”.`, ms > 2000 ? { name: "Undo", run: undo, ms: Math.min(ms, 30_000) } : undefined);
  } catch (e) {
    failed(e);
  }
}
