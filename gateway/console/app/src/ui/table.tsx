// A list as a table; on a phone each row is a card.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Skeleton } from "./page";

export interface Column<T> { name: string; cell: (row: T) => ComponentChildren; narrow?: "hide" }

interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  /** rows are null while they are read. */
  rows: T[] | null;
  id: (row: T) => string;
  /** href is where a row leads: its first cell is the link, and a click anywhere in the row follows it. */
  href?: (row: T) => string;
  empty?: ComponentChildren;
  /** more reads further rows. */
  more?: (() => void) | null;
}

/** many is the number of rows from which only those in view are in the document. */
const many = 200;

export function Table<T>({ label, columns, rows, id, href, empty, more }: TableProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ first: 0, shown: 60, height: 41 });
  const virtual = (rows?.length ?? 0) > many;
  const measure = () => {
    const b = box.current;
    if (!b || !virtual) return;
    const row = b.querySelector<HTMLElement>("[data-row]");
    const height = Math.max(20, row?.offsetHeight ?? 41);
    const first = Math.max(0, Math.floor(b.scrollTop / height) - 20);
    const shown = Math.ceil(b.clientHeight / height) + 40;
    const v = view.value;
    if (v.first !== first || v.shown !== shown || v.height !== height) view.value = { first, shown, height };
  };
  useLayoutEffect(measure, [virtual, rows?.length]);
  if (rows === null) return <div role="status"><span class="unseen">Reading {label}…</span><Skeleton lines={6} /></div>;
  if (!rows.length) return <div class="nothing">{empty ?? "Nothing is here."}</div>;
  const { first, shown, height } = view.value;
  const from = virtual ? Math.min(first, rows.length - 1) : 0;
  const to = virtual ? Math.min(rows.length, from + shown) : rows.length;
  return (
    <>
      <div ref={box} class={virtual ? "rows-box virtual" : "rows-box"} onScroll={measure} tabIndex={0} role="region" aria-label={label}>
        <table class="rows" role="table" aria-label={label} aria-rowcount={virtual ? rows.length + 1 : undefined}>
          <thead role="rowgroup">
            <tr role="row">{columns.map((c) => <th key={c.name} role="columnheader" scope="col" class={c.narrow}>{c.name || <span class="unseen">Actions</span>}</th>)}</tr>
          </thead>
          <tbody role="rowgroup">
            {from > 0 && <tr class="gap" aria-hidden="true"><td style={{ height: `${from * height}px` }} /></tr>}
            {rows.slice(from, to).map((r, i) => <Row key={id(r)} row={r} columns={columns} href={href?.(r)} at={virtual ? from + i + 2 : undefined} />)}
            {to < rows.length && <tr class="gap" aria-hidden="true"><td style={{ height: `${(rows.length - to) * height}px` }} /></tr>}
          </tbody>
        </table>
      </div>
      {more && <p class="more"><button type="button" class="quiet" onClick={more}>Show more</button></p>}
    </>
  );
}

function Row<T>({ row, columns, href, at }: { row: T; columns: Column<T>[]; href?: string; at?: number }) {
  return (
    <tr role="row" data-row aria-rowindex={at} class={href ? "leads" : ""}>
      {columns.map((c, i) => (
        <td key={c.name} role="cell" data-name={c.name} class={c.narrow}>
          {href && i === 0 ? <a class="row-link" href={href}>{c.cell(row)}</a> : c.cell(row)}
        </td>
      ))}
    </tr>
  );
}
