import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { REAL_CLAUDE } from '../../../test-support/real-claude.ts';
import { waitFor } from '../../../test-support/until.ts';

/** A line of the CLI, with the few fields that tests read. */
const Line = z.looseObject({
  type: z.string(),
  subtype: z.string().optional(),
  session_id: z.string().optional(),
  request_id: z.string().optional(),
  state: z.unknown().optional(),
  error: z.unknown().optional(),
  result: z.string().optional(),
  request: z.looseObject({ subtype: z.string(), tool_name: z.string().optional() }).optional(),
  response: z.looseObject({ request_id: z.string().optional() }).optional(),
  event: z.looseObject({ delta: z.looseObject({ text: z.string().optional() }).optional() }).optional(),
});
export type Line = z.infer<typeof Line>;

/** A running `claude`, driven the way an orchestrator drives it. */
export type Claude = {
  lines: readonly Line[];
  /** The first line at or after index `from` that fits, past or future. */
  waitFor: (predicate: (line: Line) => boolean, from?: number) => Promise<Line>;
  /** Sends a message; returns its uuid. */
  say: (content: string) => string;
  request: (request: object) => void;
  /** Sends a control request; resolves with the reply, even if it is a refusal. */
  ask: (request: object) => Promise<Record<string, unknown>>;
  /** Answers a `can_use_tool` request. */
  answer: (asked: Line, response: object) => void;
  /** Closes stdin and waits for the end; resolves with the exit code. */
  finish: () => Promise<number | null>;
  kill: () => Promise<void>;
};

const FLAGS = [
  ...['-p', '--input-format=stream-json', '--output-format=stream-json', '--permission-prompt-tool=stdio', '--verbose'],
  ...['--include-partial-messages', '--replay-user-messages'],
];

/** Starts the real CLI in a directory with exactly the given environment. */
export function startClaude(cwd: string, env: Record<string, string>, args: readonly string[] = []): Claude {
  const child = spawn(REAL_CLAUDE, [...FLAGS, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: Line[] = [];
  const watchers = new Set<() => void>();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    errors += part;
  });
  const exited = once(child, 'close');
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(Line.parse(JSON.parse(line)));
    for (const watch of watchers) watch();
  });

  function firstLine(predicate: (line: Line) => boolean, from = 0): Promise<Line> {
    const { promise, resolve, reject } = Promise.withResolvers<Line>();
    const check = () => {
      const found = lines.slice(from).find(predicate);
      if (found !== undefined) resolve(found);
    };
    const lastSeen = () => [...lines.slice(-5).map((line) => JSON.stringify(line).slice(0, 400)), errors].join('\n');
    const giveUp = () => reject(new Error(`claude ended before a line that fits ${predicate}: ${lastSeen()}`));
    watchers.add(check);
    child.once('close', giveUp);
    check();
    if (child.exitCode !== null) giveUp();
    return waitFor(`a line that fits ${predicate}`, promise, { lastSeen }).finally(() => {
      watchers.delete(check);
      child.off('close', giveUp);
    });
  }

  const write = (line: object) => void child.stdin.write(`${JSON.stringify(line)}\n`);
  return {
    lines,
    waitFor: firstLine,
    say(content) {
      const uuid = randomUUID();
      write({ type: 'user', message: { role: 'user', content }, uuid });
      return uuid;
    },
    request: (request) => write({ type: 'control_request', request_id: randomUUID(), request }),
    async ask(request) {
      const id = randomUUID();
      write({ type: 'control_request', request_id: id, request });
      const { response } = await firstLine((line) => line.response?.request_id === id);
      return response ?? {};
    },
    answer: ({ request_id }, response) =>
      write({ type: 'control_response', response: { subtype: 'success', request_id, response } }),
    async finish() {
      child.stdin.end();
      await waitFor('the end of claude', exited);
      return child.exitCode;
    },
    kill: () => end(child, exited),
  };
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await waitFor('the end of claude', exited);
}
