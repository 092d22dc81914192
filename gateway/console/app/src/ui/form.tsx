// Forms, also those that a JSON schema describes.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Schema } from "../api";
import { parse, pretty } from "../json";

/** Field is one control with its label; an error is read out when it appears. */
export function Field({ label, hint, error, children }: { label: ComponentChildren; hint?: ComponentChildren; error?: ComponentChildren; children: ComponentChildren }) {
  return (
    <label class={error ? "field wrong" : "field"}>
      <span class="field-label">{label}</span>
      {children}
      {hint && <span class="hint">{hint}</span>}
      {error && <span class="error" role="alert">{error}</span>}
    </label>
  );
}

interface FormProps { schema: Schema | null | undefined; value: unknown; onInput: (value: unknown) => void }

type Fields = Record<string, unknown>;
const asFields = (v: unknown) => (v && typeof v === "object" && !Array.isArray(v) ? v as Fields : {});

/** typeOf is the one type of a schema, "" if it is none of those that a form shows. Null beside a type means that it can be left out. */
function typeOf(s: Schema): string {
  if (s.anyOf || s.oneOf || s.allOf || s.$ref) return "";
  if (s.enum) return "enum";
  const types = (Array.isArray(s.type) ? s.type : [s.type ?? (s.properties ? "object" : "")]).filter((t) => t !== "null");
  return types.length === 1 ? types[0]! : "";
}

/** SchemaForm is a form of what a schema describes; what it cannot show is JSON text. Values that are left empty are left out. */
export function SchemaForm({ schema, value, onInput }: FormProps) {
  const fields = Object.entries(schema?.properties ?? {});
  if (!schema || typeOf(schema) !== "object" || !fields.length && schema.additionalProperties !== false) {
    return <JsonField label="JSON" value={value} onInput={onInput} />;
  }
  const values = asFields(value);
  const set = (name: string, v: unknown) => {
    const next = { ...values, [name]: v };
    if (v === undefined) delete next[name];
    onInput(next);
  };
  return (
    <div class="schema-form">
      {!fields.length && <p class="dim">It takes no arguments.</p>}
      {fields.map(([name, s]) => (
        <Property key={name} name={name} schema={s} required={schema.required?.includes(name) ?? false} value={values[name]} onInput={(v) => set(name, v)} />
      ))}
    </div>
  );
}

interface PropertyProps { name: string; schema: Schema; required: boolean; value: unknown; onInput: (value: unknown) => void }

function Property({ name, schema, required, value, onInput }: PropertyProps) {
  const type = typeOf(schema);
  const label = <>{schema.title || name}{required && <span class="required" title="required"> *</span>}</>;
  const hint = schema.description;
  if (type === "object" && schema.properties) {
    return <fieldset><legend>{label}</legend>{hint && <p class="hint">{hint}</p>}<SchemaForm schema={schema} value={value} onInput={onInput} /></fieldset>;
  }
  if (type === "boolean") {
    return <label class="check"><input type="checkbox" checked={value === true} onChange={(e) => onInput(e.currentTarget.checked)} /> <span>{label}{hint && <span class="hint"> {hint}</span>}</span></label>;
  }
  if (type === "enum") {
    const all = schema.enum!;
    return (
      <Field label={label} hint={hint}>
        <select required={required} onChange={(e) => onInput(e.currentTarget.selectedIndex ? all[e.currentTarget.selectedIndex - 1] : undefined)}>
          <option value="">Choose…</option>
          {all.map((v) => <option key={String(v)} selected={v === value}>{String(v)}</option>)}
        </select>
      </Field>
    );
  }
  if (type === "number" || type === "integer") return <Field label={label} hint={hint}><NumberInput whole={type === "integer"} required={required} value={value} onInput={onInput} /></Field>;
  if (type === "string") return <Field label={label} hint={hint}><TextInput schema={schema} required={required} value={value} onInput={onInput} /></Field>;
  if (type === "array" && schema.items && typeOf(schema.items) === "string") return <Lines label={label} hint={hint} value={value} onInput={onInput} />;
  return <JsonField label={label} hint={hint} value={value} onInput={onInput} />;
}

function TextInput({ schema, required, value, onInput }: { schema: Schema; required: boolean; value: unknown; onInput: (v: unknown) => void }) {
  const text = typeof value === "string" ? value : "";
  const change = (e: { currentTarget: { value: string } }) => onInput(e.currentTarget.value || (required ? "" : undefined));
  if ((schema.maxLength ?? 0) > 200 || text.length > 80 || text.includes("\n")) return <textarea rows={4} required={required} value={text} onInput={change} />;
  return <input type="text" required={required} value={text} onInput={change} />;
}

/** NumberInput keeps a number as it is typed: JavaScript would round large ones. */
function NumberInput({ whole, required, value, onInput }: { whole: boolean; required: boolean; value: unknown; onInput: (v: unknown) => void }) {
  const text = useSignal(value === undefined ? "" : String(value));
  const pattern = whole ? "-?(0|[1-9][0-9]*)" : "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+\\-]?[0-9]+)?";
  return (
    <input type="text" inputMode="decimal" pattern={pattern} title="A number" required={required} value={text.value} onInput={(e) => {
      text.value = e.currentTarget.value.trim();
      onInput(text.value && new RegExp(`^${pattern}$`).test(text.value) ? parse(text.value) : undefined);
    }} />
  );
}

function Lines({ label, hint, value, onInput }: { label: ComponentChildren; hint?: string; value: unknown; onInput: (v: unknown) => void }) {
  const text = useSignal(Array.isArray(value) ? value.join("\n") : "");
  return (
    <Field label={label} hint={[hint, "One a line."].filter(Boolean).join(" ")}>
      <textarea rows={3} value={text.value} onInput={(e) => {
        text.value = e.currentTarget.value;
        const lines = text.value.split("\n").filter(Boolean);
        onInput(lines.length ? lines : undefined);
      }} />
    </Field>
  );
}

/** JsonField is JSON as text. While it cannot be read, the value stays what it was before. */
export function JsonField({ label, hint, value, onInput }: { label: ComponentChildren; hint?: string; value: unknown; onInput: (v: unknown) => void }) {
  const text = useSignal(value === undefined ? "" : pretty(value));
  const problem = useSignal("");
  return (
    <Field label={label} hint={hint} error={problem.value}>
      <textarea class="code" rows={6} spellcheck={false} value={text.value} onInput={(e) => {
        text.value = e.currentTarget.value;
        try {
          onInput(text.value.trim() ? parse(text.value) : undefined);
          problem.value = "";
        } catch (err) {
          problem.value = `This is not JSON: ${(err as Error).message}`;
        }
      }} />
    </Field>
  );
}
