import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { descendants } from '../../../../e2e/support/processes.ts';
import { claudeFamily, type Partner } from './partner.ts';
import { post } from './post.ts';

/** How Callboard started its `claude`; the others are started the same way. */
export interface Launch {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
}

const RELAY = fileURLToPath(new URL('./relay.ts', import.meta.url));
const Line = z.looseObject({ type: z.string(), request_id: z.string().optional() });
const Wrote = z.object({ writtenAt: z.number(), syncMs: z.number() });

/** The message as Callboard writes it: a person's message may name files, so it is not marked as composed. */
export const message = (text: string) => ({
  type: 'user',
  uuid: randomUUID(),
  origin: { kind: 'human' },
  message: { role: 'user', content: text },
});
const answer = (request_id: string) => ({
  type: 'control_response',
  response: { subtype: 'success', request_id, response: { behavior: 'allow' } },
});

/** Tells the partner what a line of `claude` reports. */
export function take(partner: Partner, text: string): void {
  const { type, request_id } = Line.parse(JSON.parse(text));
  if (type === 'control_request') partner.onAsk?.(request_id ?? '');
  if (type === 'result') partner.onEnd?.();
}

/** Creates a partner that is one `claude`. @param write writes a line to it */
export const createPartner = (pid: number, write: (line: object) => Promise<null>): Partner => ({
  families: [claudeFamily(pid)],
  claude: pid,
  send: (text) => write(message(text)),
  allow: (requestId) => write(answer(requestId)),
  onAsk: null,
  onEnd: null,
});

/** `claude` on plain pipes, with nothing between it and the bench. */
export function startRaw({ command, args, env, cwd }: Launch): Partner & { end(): void } {
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const write = async (line: object) => {
    child.stdin.write(`${JSON.stringify(line)}\n`);
    return null;
  };
  const partner = createPartner(child.pid ?? -1, write);
  createInterface({ input: child.stdout }).on('line', (text) => take(partner, text));
  return Object.assign(partner, { end: () => void child.kill('SIGKILL') });
}

/** The relay, and a client of it. */
export async function startRelay(
  { command, args, env, cwd }: Launch,
  database: string,
): Promise<Partner & { end(): void }> {
  const child = spawn(process.execPath, [RELAY, database, command, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  const [claude = -1] = await descendants(child.pid ?? -1);
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  await once(socket, 'open');
  const say = async (line: object) => Wrote.parse(JSON.parse(await post(`http://127.0.0.1:${port}/`, line)));
  const relayFamily = { processes: async () => new Map([[child.pid ?? -1, 'relay']]), children: 'its children' };
  const partner: Partner = {
    families: [relayFamily, claudeFamily(claude)],
    claude,
    send: (text) => say(message(text)),
    allow: (requestId) => say(answer(requestId)),
    onAsk: null,
    onEnd: null,
  };
  socket.on('message', (data) => take(partner, String(data)));
  return Object.assign(partner, { end: () => void child.kill('SIGTERM') });
}
