// A bank: its documents with their state, adding some by drop, and searching it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Failed, patch, post, query, reach, remove } from "../api";
import { bytes, count, visible } from "../format";
import { number, type Bank, type Document } from "../model";
import { go, setParams, type PageProps } from "../route";
import { can, confirmed, Dialog, Facts, failed, Field, Loading, Page, Problem, Status, Table, Tabs, toast, useLoad, usePages, When } from "../ui";
import { modes } from "./knowledge";
import type * as schema from "../schema";

export default function BankPage({ id, params }: PageProps) {
  const path = `/v1/banks/${encodeURIComponent(id)}`;
  const { data: b, problem, reload } = useLoad<Bank>(path, 5000);
  const tab = params.get("tab") ?? "documents";
  const crumbs: [string, string][] = [["Knowledge", "/knowledge"]];
  if (!b) return <Page title={id} crumbs={crumbs}>{problem ? <Problem of={problem} /> : <Loading />}</Page>;
  const drop = async () => {
    if (!await confirmed(`Delete the bank ${id}?`, `${count(number(b.documents), "document")} and the index are deleted. This cannot be undone.`, "Delete", true)) return;
    remove(path).then(() => { toast("ok", `Bank ${id} was deleted.`); go("/knowledge"); }, failed);
  };
  return (
    <Page title={b.display_name || id} crumbs={crumbs} api={path} actions={can("knowledge.banks.delete") && <button type="button" class="quiet bad" onClick={drop}>Delete</button>}>
      {b.description && <p>{b.description}</p>}
      <Facts of={[["Documents that are found", <span class="figure">{number(b.documents)}</span>], ["Passages", <span class="figure">{number(b.chunks)}</span>], ["Searched", modes[b.mode] ?? b.mode], ["Made by", b.subject], ["Changed", <When at={b.update_time} />]]} />
      <Tabs at={tab} of={[["documents", "Documents"], ["search", "Search"], ["settings", "Settings"]]} />
      {tab === "documents" && <Documents bank={id} params={params} done={reload} />}
      {tab === "search" && <Passages bank={id} params={params} />}
      {tab === "settings" && <Settings bank={b} done={reload} />}
      {params.get("document") && <Text bank={id} params={params} />}
    </Page>
  );
}

const going = new Set(["queued", "ingesting"]);

function Documents({ bank, params, done }: { bank: string; params: URLSearchParams; done: () => void }) {
  const { rows, more, problem, reload } = usePages<Document>(`/v1/banks/${encodeURIComponent(bank)}/documents?page_size=200`, "documents", (all) => (all.some((d) => going.has(d.state)) ? 1500 : 0));
  const at = (d: Document) => `/v1/banks/${encodeURIComponent(bank)}/documents/${d.id}`;
  const act = (d: Document, verb: string, said: string) => post(`${at(d)}:${verb}`).then(() => { toast("ok", said); reload(); }, failed);
  const drop = async (d: Document) => {
    if (await confirmed(`Delete ${d.name}?`, "Searches do not find it any more, at once.", "Delete", true)) remove(at(d)).then(() => { reload(); done(); }, failed);
  };
  const only = params.get("state") ?? "";
  const counts = new Map<string, number>();
  for (const d of rows ?? []) counts.set(d.state, (counts.get(d.state) ?? 0) + 1);
  return (
    <>
      {can("knowledge.documents.create") && <Upload bank={bank} done={() => { reload(); done(); }} />}
      <p class="flow dim" role="status">{[...counts].map(([s, n]) => <a key={s} href={only === s ? "?" : `/knowledge/${bank}?state=${s}`} aria-current={only === s ? "true" : undefined}>{n} {s}</a>)}{only && <a href={`/knowledge/${bank}`}>all</a>}</p>
      {problem && <Problem of={problem} />}
      {(rows || !problem) && <Table<Document> label="Documents" rows={rows && (only ? rows.filter((d) => d.state === only) : rows)} id={(d) => d.id} href={(d) => `/knowledge/${bank}?document=${d.id}`} more={more}
        empty="There is no document yet. Drop files above."
        columns={[
          { name: "Name", cell: (d) => visible(d.name) }, { name: "State", cell: (d) => <><Status of={d.state} />{d.problem && <div class="note">{visible(d.problem)}</div>}</> },
          { name: "Type", cell: (d) => d.media_type, narrow: "hide" }, { name: "Size", cell: (d) => <span class="figure">{bytes(number(d.size))}</span> },
          { name: "Passages", cell: (d) => <span class="figure">{d.chunks}</span>, narrow: "hide" }, { name: "Labels", cell: (d) => d.labels.map((l) => <span key={l} class="tag">{l}</span>), narrow: "hide" },
          { name: "Stored", cell: (d) => <When at={d.update_time} /> },
          { name: "", cell: (d) => (
            <span class="flow">
              {(d.state === "failed" || d.state === "cancelled") && can("knowledge.documents.create") && <button type="button" class="quiet small" onClick={() => act(d, "retry", `${d.name} is read again.`)}>Retry</button>}
              {going.has(d.state) && can("knowledge.documents.create") && <button type="button" class="quiet small" onClick={() => act(d, "cancel", `${d.name} is not read.`)}>Cancel</button>}
              {can("knowledge.documents.delete") && <button type="button" class="quiet small" onClick={() => drop(d)}>Delete</button>}
            </span>
          ) },
        ]} />}
    </>
  );
}

function Upload({ bank, done }: { bank: string; done: () => void }) {
  const over = useSignal(false);
  const sent = useSignal<[number, number] | null>(null);
  const send = async (files: File[]) => {
    const lost: string[] = [];
    for (const [i, f] of files.entries()) {
      sent.value = [i, files.length];
      const form = new FormData();
      form.set("file", f, f.name);
      try {
        await reach(`/v1/banks/${encodeURIComponent(bank)}/documents`, { method: "POST", body: form });
      } catch (e) {
        lost.push(`${f.name}: ${(e as Failed).message}`);
      }
    }
    sent.value = null;
    if (lost.length) toast("error", `${lost.length} of ${files.length} were not stored. ${lost[0]}`);
    if (lost.length < files.length) toast("ok", `${count(files.length - lost.length, "document")} stored. Reading begins.`);
    done();
  };
  return (
    <label class={over.value ? "drop over" : "drop"} onDragOver={(e) => { e.preventDefault(); over.value = true; }} onDragLeave={() => { over.value = false; }}
      onDrop={(e) => { e.preventDefault(); over.value = false; void send([...e.dataTransfer?.files ?? []]); }}>
      <span>{sent.value ? `Sending ${sent.value[0] + 1} of ${sent.value[1]}…` : "Drop files here, or choose some"}</span>
      <input type="file" multiple disabled={!!sent.value} onChange={(e) => { const files = [...e.currentTarget.files ?? []]; e.currentTarget.value = ""; void send(files); }} />
    </label>
  );
}

type Found = schema.SearchBankResponse & Partial<schema.SearchBanksResponse>; // of one bank, or of all

/** Passages searches a bank, or all that the caller may read. */
export function Passages({ bank, params }: { bank: string; params: URLSearchParams }) {
  const q = params.get("q") ?? "";
  const typed = useSignal(q);
  const banks = useLoad<{ banks: Bank[] }>(bank ? null : "/v1/banks?page_size=200");
  const state = useSignal<{ of: string; found: Found | null; problem: Failed | null }>({ of: "", found: null, problem: null });
  const ids = (banks.data?.banks ?? []).map((b) => b.id).join(" ");
  useEffect(() => {
    if (!q || !bank && !ids) return;
    let open = true;
    const keep = (found: Found | null, problem: Failed | null) => { if (open) state.value = { of: q, found, problem }; };
    const [path, body] = bank ? [`/v1/banks/${encodeURIComponent(bank)}:search`, { query: q, page_size: 20 }] : ["/v1/banks:search", { bank_ids: ids.split(" "), query: q, page_size: 20 }];
    post<Found>(path, body).then((f) => keep(f, null), (e) => keep(null, e as Failed));
    return () => { open = false; };
  }, [q, bank, ids]);
  const { of, found, problem } = state.value;
  return (
    <>
      <form class="flow" role="search" aria-label="Search documents" onSubmit={(e) => { e.preventDefault(); setParams({ q: typed.value.trim() }); }}>
        <input type="search" class="grow" aria-label="What to find" placeholder="What to find" value={typed.value} onInput={(e) => { typed.value = e.currentTarget.value; }} />
        <button type="submit">Search</button>
      </form>
      {problem && <Problem of={problem} />}
      {q && of !== q && <Loading />}
      {found && of === q && (
        <>
          <p class="dim" role="status">{count(found.results.length, "passage")}, searched {modes[found.mode] ?? found.mode}{found.mode === "lexical" && ": texts that say the same in other words are not found"}.
            {(found.skipped_bank_ids?.length ?? 0) > 0 && ` Left out: ${found.skipped_bank_ids!.join(", ")}.`}</p>
          <ol class="plain">
            {found.results.map((r) => (
              <li key={`${r.document_id} ${r.start}`} class="panel passage">
                <p class="flow"><a href={`/knowledge/${r.bank_id}${query({ document: r.document_id, version: r.version, start: r.start, end: r.end })}`}>{visible(r.document_name)}</a>
                  {r.heading.length > 0 && <span class="dim">{r.heading.join(" › ")}</span>}{r.page > 0 && <span class="dim">page {r.page}</span>}<span class="tag" title="The higher, the better it fits. Scores of different searches cannot be compared.">score {Number(r.score).toFixed(2)}</span></p>
                <pre>{visible(r.text)}</pre>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}

type Read = schema.ReadDocumentResponse;

/** Text shows a document, or a passage of it with what is around it. */
function Text({ bank, params }: { bank: string; params: URLSearchParams }) {
  const id = params.get("document")!;
  const [start, end] = [Number(params.get("start") || 0), Number(params.get("end") || 0)];
  const from = Math.max(0, start - 2000);
  const close = () => setParams({ document: "", version: "", start: "", end: "" });
  const { data, problem } = useLoad<Read>(`/v1/banks/${encodeURIComponent(bank)}/documents/${id}/text${query({ version: params.get("version"), start: from, end: end ? end + 4000 : "" })}`);
  const utf8 = data ? new TextEncoder().encode(data.text) : new Uint8Array();
  const cut = (a: number, b: number) => visible(new TextDecoder().decode(utf8.subarray(Math.max(0, a), Math.max(0, b))));
  const at = data ? number(data.start) : 0;
  return (
    <Dialog title={data?.document?.name ?? "Document"} wide onClose={close}>
      {problem && <Problem of={problem} />}
      {!data && !problem && <Loading />}
      {data && (
        <>
          <p class="dim">{end ? `Bytes ${start} to ${end}` : `Bytes ${at} to ${number(data.end)}`} of {number(data.text_bytes)}</p>
          <pre class="document-text" tabIndex={0} role="region" aria-label="Text of the document">{end ? <>{cut(0, start - at)}<mark>{cut(start - at, end - at)}</mark>{cut(end - at, utf8.length)}</> : visible(data.text)}</pre>
        </>
      )}
    </Dialog>
  );
}

function Settings({ bank, done }: { bank: Bank; done: () => void }) {
  const name = useSignal(bank.display_name);
  const about = useSignal(bank.description);
  const save = () => patch(`/v1/banks/${encodeURIComponent(bank.id)}`, { display_name: name.value, description: about.value }).then(() => { toast("ok", "The bank was saved."); done(); }, failed);
  return (
    <form class="panel" aria-label="Settings" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <Field label="Name"><input value={name.value} onInput={(e) => { name.value = e.currentTarget.value; }} /></Field>
      <Field label="What the documents are about" hint="Models read it when they choose where to search."><textarea rows={3} value={about.value} onInput={(e) => { about.value = e.currentTarget.value; }} /></Field>
      {can("knowledge.banks.update") && <div class="buttons"><button type="submit">Save</button></div>}
      <p class="dim">Who may read it: its maker, and whoever has the permission <code>knowledge.bank.{bank.id}</code> (<a href="/access?tab=policies">policies</a>).</p>
    </form>
  );
}
