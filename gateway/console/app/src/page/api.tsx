// API: every operation of the OpenAPI document, explained and to try. #operationId leads to one.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { hash } from "../route";
import { Copy, Loading, Page, Problem, useLoad } from "../ui";
import { found, group, operations, type Document, type Operation } from "./api/document";
import { OperationView, Prose } from "./api/operation";

export default function ApiPage() {
  const { data, problem } = useLoad<Document>("/openapi.json");
  const at = hash.value.slice(1);
  const all = useMemo(() => (data ? operations(data) : []), [data]);
  const shown = all.find((o) => o.id === at);
  return (
    <Page title={shown ? shown.summary || shown.id : "API"} crumbs={shown ? [["API", "/api"]] : undefined} api="/openapi.json" wide>
      {problem && !data && <Problem of={problem} />}
      {!data && !problem && <Loading lines={8} />}
      {data && (
        <div class={shown ? "api-page api-one" : "api-page"}>
          <Operations all={all} at={at} />
          <div class="api-main">
            {shown ? <OperationView key={shown.id} of={shown} document={data} />
              : at ? <p class="note bad" role="alert">There is no operation <code>{at}</code>.</p>
              : <Overview of={data} all={all} />}
          </div>
        </div>
      )}
    </Page>
  );
}

/** Operations is the list at the side, with its search. */
function Operations({ all, at }: { all: Operation[]; at: string }) {
  const text = useSignal("");
  const nav = useRef<HTMLElement>(null);
  const hits = found(all, text.value);
  const tags = [...new Set(hits.map((o) => o.tag))];
  const open = all.find((o) => o.id === at)?.tag;
  useEffect(() => { nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }); }, [at]);
  return (
    <nav class="api-list" aria-label="Operations" ref={nav}>
      <input type="search" aria-label="Search operations" placeholder="Search, as: post session" value={text.value} onInput={(e) => { text.value = e.currentTarget.value; }} />
      <p class="unseen" role="status">{text.value ? `${hits.length} operations` : ""}</p>
      {!hits.length && <p class="hint">No operation has these words.</p>}
      {tags.map((tag) => (
        <details key={tag} open={text.value !== "" || tag === open}>
          <summary>{group(tag)}</summary>
          <ul>
            {hits.filter((o) => o.tag === tag).map((o) => (
              <li key={o.id}>
                <a href={`#${o.id}`} title={o.summary} aria-current={o.id === at ? "page" : undefined}><Method of={o.method} /> <span>{shortPath(o.path)}</span></a>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </nav>
  );
}

const Method = ({ of }: { of: string }) => <span class={`api-method ${of.toLowerCase()}`}>{of === "DELETE" ? "DEL" : of}</span>;
const shortPath = (path: string) => path.replace(/^\/v1/, "");

/** Overview is what is worth to know before the first call. */
function Overview({ of, all }: { of: Document; all: Operation[] }) {
  const first = `curl ${location.origin}/v1/agents`;
  return (
    <>
      <p>{of.info.description}</p>
      <p>
        There are {all.length} operations. Each can be tried here, as the user of this page. Programs find the same in{" "}
        <a href="/openapi.json" target="_blank">/openapi.json</a>, generators of clients in{" "}
        <a href="/openapi.client.json" target="_blank">/openapi.client.json</a>. <a href="/docs/reference/api">How the API behaves</a>: pages,
        retries, errors, streams.
      </p>
      <figure class="api-code"><pre tabIndex={0}>{first}</pre><Copy text={first} /></figure>
      <h3>Services</h3>
      <dl class="api-services">
        {of.tags.filter((t) => all.some((o) => o.tag === t.name)).map((t) => (
          <div key={t.name}><dt>{group(t.name)}</dt><dd><Prose of={(t.description ?? "").split("\n\n")[0] ?? ""} /></dd></div>
        ))}
      </dl>
    </>
  );
}
