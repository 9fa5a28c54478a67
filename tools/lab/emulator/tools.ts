import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from './input.ts';
import type { Printer, ToolUse } from './printer.ts';

export interface ToolOutcome {
  text: string;
  isError: boolean;
}

/** Whether the CLI would ask a person before it runs this tool. */
export const asksFirst = ({ name }: ToolUse): boolean => name !== 'Flood' && name !== 'Tick';

/** The input in the request for permission. `Paste` generates a text of any length, so that a script need not contain it. */
const askedInput = ({ name, input }: ToolUse): Record<string, unknown> =>
  name === 'Paste' ? { ...input, text: 'x'.repeat(Number(input.chars)) } : input;

/** Runs an allowed tool call. `Flood`, `Tick` and `Paste` are the emulator's own; of the CLI's tools it has those that the chaos tests need. */
export async function runTool(tool: ToolUse, printer: Printer, signal: AbortSignal): Promise<ToolOutcome> {
  switch (tool.name) {
    case 'Bash':
      return bash(String(tool.input.command), signal);
    case 'AskUserQuestion':
      return { text: answersText(tool.input), isError: false };
    case 'Flood':
      return flood(tool.input, printer, signal);
    case 'Tick':
      return tick(tool.input, printer, signal);
    default:
      return { text: `The emulator has no tool ${tool.name}.`, isError: true };
  }
}

/** Has its own process group, as with the CLI: it survives a killed emulator. */
async function bash(command: string, signal: AbortSignal): Promise<ToolOutcome> {
  const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  signal.addEventListener('abort', end);
  const said: string[] = [];
  child.stdout.on('data', (data) => said.push(String(data)));
  child.stderr.on('data', (data) => said.push(String(data)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  signal.removeEventListener('abort', end);
  const text = said.join('').trimEnd();
  if (code !== 0) return { text: `Exit code ${code}\n${text}`.trimEnd(), isError: true };
  return { text: text === '' ? '(Bash completed with no output)' : text, isError: false };
}

function answersText({ answers }: Record<string, unknown>): string {
  const given = Object.entries(isRecord(answers) ? answers : {}).map(
    ([question, answer]) => `"${question}"="${answer}"`,
  );
  if (given.length === 0) return 'The user did not answer the questions.';
  return `Your questions have been answered: ${given.join(', ')}. You can now continue with these answers in mind.`;
}

const SLICE_MS = 20;

/**
 * Prints `texts` texts of `chars` characters, each streamed in deltas of `deltaChars` and then whole, at
 * `bytesPerSecond` at most; its result has `resultChars` characters. Prints in seconds what a session prints in hours.
 */
async function flood(input: Record<string, unknown>, printer: Printer, signal: AbortSignal): Promise<ToolOutcome> {
  const [texts = 0, chars = 0, deltaChars = 0, resultChars = 0, bytesPerSecond = 0] = [
    'texts',
    'chars',
    'deltaChars',
    'resultChars',
    'bytesPerSecond',
  ].map((name) => Number(input[name] ?? 0));
  const begun = performance.now();
  let bytes = 0;
  for (let n = 0; n < texts && !signal.aborted; n++) {
    printer.reply({ text: filler(`${n}: `, chars), ...(deltaChars > 0 ? { chunkChars: deltaChars } : {}) });
    bytes += chars + (deltaChars > 0 ? (chars / deltaChars) * (deltaChars + DELTA_LINE) : 0);
    const aheadMs = bytesPerSecond > 0 ? (bytes / bytesPerSecond) * 1_000 - (performance.now() - begun) : 0;
    if (aheadMs > SLICE_MS) await sleep(aheadMs, undefined, { signal }).catch(() => undefined);
  }
  return { text: filler('flooded ', resultChars), isError: false };
}

/** The approximate size of a delta line without its text. */
const DELTA_LINE = 300;

const filler = (begin: string, chars: number): string => begin + 'flood '.repeat(chars / 6);

/** The lines of a reply besides its deltas: the beginning and end of the message and of its text, and the whole text. */
const FRAME_LINES = 5;
const NUMBER = '@numb';
const NOW = '@now ';
/** The parts that differ between two replies of the same length. */
const OWN = /@numb|@now |msg_[0-9a-f]{32}|(?<="uuid":")[0-9a-f-]{36}/g;

/**
 * Prints a reply of `lines` lines each second for so many `seconds`, one line after another in equal steps: deltas, and the whole text,
 * which begins with the number of the second. Each delta, and the end of the whole text, says when it was printed (`Date.now()`).
 */
async function tick(input: Record<string, unknown>, printer: Printer, signal: AbortSignal): Promise<ToolOutcome> {
  const [seconds, lines] = [Number(input.seconds), Number(input.lines)];
  const text = NUMBER + NOW.repeat(lines - FRAME_LINES - 1);
  const reply = printer.linesOf({ text, chunkChars: NOW.length });
  let id = '';
  for await (const n of beats(1_000 / lines, signal)) {
    const second = Math.floor(n / lines);
    if (second >= seconds) return { text: 'ticked', isError: false };
    if (n % lines === 0) id = `msg_${randomUUID().replaceAll('-', '')}`;
    const own = (part: string) => {
      if (part === NUMBER) return `#${second} `;
      if (part === NOW) return `${Date.now()} `;
      return part.startsWith('msg_') ? id : randomUUID();
    };
    printer.line((reply[n % lines] ?? '').replace(OWN, own));
  }
  return { text: '', isError: true };
}

/** Counts from zero, on average once every `everyMs`; late counts follow at once. Ends when the signal aborts. */
async function* beats(everyMs: number, signal: AbortSignal): AsyncGenerator<number> {
  const begun = performance.now();
  for (let n = 0; !signal.aborted; ) {
    for (; n * everyMs <= performance.now() - begun; n++) yield n;
    await sleep(everyMs);
  }
}

/** The answer of the host; null for a request that was withdrawn, or answered with an interrupt. */
type Answer = Record<string, unknown> | null;

/** The requests for permission that wait for the host. */
export interface PermissionRequests {
  /** Asks the host, and resolves with its answer. Withdraws the request when the signal aborts. */
  ask(tool: ToolUse, signal: AbortSignal): Promise<Answer>;
  /** Accepts an answer, unless it is unknown, late or the second one. Returns whether it interrupts the turn. */
  settle(id: string, response: Record<string, unknown>): boolean;
  /** The lines of the open requests, as `initialize` lists them again. */
  lines(): object[];
}

export function createPermissionRequests(printer: Printer): PermissionRequests {
  const open = new Map<string, { line: object; settle: (answer: Answer) => void }>();
  return {
    ask(tool, signal) {
      const request_id = randomUUID();
      const line = { type: 'control_request', request_id, request: requestFor(tool) };
      return new Promise((resolve) => {
        const withdraw = () => {
          open.delete(request_id);
          printer.frame({ type: 'control_cancel_request', request_id });
          resolve(null);
        };
        signal.addEventListener('abort', withdraw, { once: true });
        const settle = (answer: Answer) => {
          signal.removeEventListener('abort', withdraw);
          resolve(answer);
        };
        open.set(request_id, { line, settle });
        printer.frame(line);
      });
    },
    settle(id, response) {
      const asked = open.get(id);
      if (asked === undefined) return false;
      open.delete(id);
      printer.frame({ type: 'control_response', response }); // the echo of the answer that takes effect
      const answer = isRecord(response.response) ? response.response : {};
      const isInterrupt = answer.behavior === 'deny' && answer.interrupt === true;
      asked.settle(isInterrupt ? null : answer);
      return isInterrupt;
    },
    lines: () => [...open.values()].map(({ line }) => line),
  };
}

function requestFor(tool: ToolUse): object {
  const { id, name } = tool;
  const input = askedInput(tool);
  return {
    subtype: 'can_use_tool',
    tool_name: name,
    display_name: name,
    input,
    tool_use_id: id,
    ...(name === 'AskUserQuestion'
      ? { requires_user_interaction: true }
      : { description: input.description, permission_suggestions: [] }),
  };
}
