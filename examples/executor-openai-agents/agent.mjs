// An agent written with the OpenAI Agents SDK (npm: @openai/agents), hosted by Windlass as a process. The SDK runs the loop and asks the model;
// Windlass runs the tools. Each tool asks for approval in the SDK's sense, so that a run stops at its calls with its state on hand: the
// calls go to Windlass, the state into a file, and the next round goes on from there with the results.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Agent, OpenAIProvider, RunState, Runner, assistant, setTracingDisabled, tool, user } from '@openai/agents';

const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const invocation = JSON.parse((await lines.next()).value);
if (invocation.schema !== 'windlass.executor/v1') {
  say({ type: 'error', code: 'schema_unsupported', message: `this executor speaks windlass.executor/v1, not ${invocation.schema}` });
  process.exit(0);
}

setTracingDisabled(true);
const session = invocation.executor_session_id ?? 'oai-' + randomUUID();
const file = join(process.env.STATE_DIR, session.replace(/[^A-Za-z0-9-]/g, '_') + '.json');
const results = new Map(invocation.tool_results.map((r) => [r.id, r]));

const agent = new Agent({
  name: invocation.agent.id,
  instructions: invocation.agent.instructions,
  model: invocation.agent.model.split('/').slice(1).join('/') || process.env.MODEL,
  tools: invocation.agent.tools.map((t) => tool({
    name: t.name,
    description: t.description,
    parameters: { additionalProperties: true, required: [], properties: {}, ...t.input_schema },
    strict: false,
    needsApproval: true,
    execute: (_input, _context, details) => results.get(details.toolCall.callId)?.text ?? 'the call was not run',
  })),
});

// items is a conversation as the SDK has it.
const items = (conversation) => conversation.flatMap((m) => {
  switch (m.role) {
    case 'user': return [user(m.text)];
    case 'tool': return [{
      type: 'function_call_result', callId: m.tool_result.id, name: m.tool_result.name, status: 'completed', output: { type: 'text', text: m.text },
    }];
    default: return [
      ...(m.text ? [assistant(m.text)] : []),
      ...(m.tool_calls ?? []).map((c) => ({
        type: 'function_call', callId: c.id, name: c.name, arguments: JSON.stringify(c.arguments), status: 'completed',
      })),
    ];
  }
});

// start is what the run begins with: the state it stopped in, or a conversation.
async function start() {
  if (invocation.mode === 'start') return items(invocation.conversation);
  let kept;
  try {
    kept = JSON.parse(await readFile(file, 'utf8'));
  } catch {
    say({ type: 'error', code: 'session_not_found', message: `no session ${session}` });
    process.exit(0);
  }
  if (results.size === 0 || !kept.state) return items(invocation.conversation);
  const state = await RunState.fromString(agent, kept.state);
  const calls = state.getInterruptions();
  if (!calls.every((c) => results.has(c.rawItem.callId))) return items(invocation.conversation); // an attempt that broke off kept it
  for (const call of calls) state.approve(call);
  return state;
}

const input = await start();
say({ type: 'session', executor_session_id: session });
const runner = new Runner({
  modelProvider: new OpenAIProvider({ apiKey: process.env.OPENAI_API_KEY, baseURL: process.env.OPENAI_BASE_URL, useResponses: false }),
});
try {
  const before = input instanceof RunState ? input.usage : undefined;
  const [inputBefore, outputBefore] = [before?.inputTokens ?? 0, before?.outputTokens ?? 0];
  const run = await runner.run(agent, input, { stream: true, maxTurns: 2 });
  for await (const event of run) {
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') say({ type: 'text.delta', text: event.data.delta });
  }
  await run.completed;
  await writeFile(file + '.new', JSON.stringify({ state: run.interruptions.length ? run.state.toString() : '' }));
  await rename(file + '.new', file);
  const usage = run.state.usage;
  say({ type: 'usage', input_tokens: usage.inputTokens - inputBefore, output_tokens: usage.outputTokens - outputBefore, model_calls: 1 });
  for (const { rawItem } of run.interruptions) {
    say({ type: 'tool_call', id: rawItem.callId, name: rawItem.name, arguments: JSON.parse(rawItem.arguments || '{}') });
  }
  if (run.interruptions.length === 0) say({ type: 'answer', text: String(run.finalOutput ?? '') });
  say({ type: 'end' });
} catch (e) {
  say({ type: 'error', code: 'model', message: String(e.message ?? e), retryable: !(e.status >= 400 && e.status < 500 && e.status !== 429) });
}
