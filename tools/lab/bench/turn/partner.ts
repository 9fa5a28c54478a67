import { prompt } from '@callboard/scripted-model';
import { waitedForCpu } from '../../../../e2e/support/processes.ts';
import { clock } from './clock.ts';
import { cpuMs, type Family } from './cpu.ts';

/** The layer between a person and their `claude`: nothing, files, the relay, or Callboard. */
export interface Partner {
  /** All processes that a turn keeps busy, and what they start. */
  readonly families: readonly Family[];
  /** Its `claude`. */
  readonly claude: number;
  send(text: string): Promise<Written | null>;
  allow(requestId: string): Promise<Written | null>;
  /** Called when a request reaches the client; null until someone listens. */
  onAsk: ((requestId: string) => void) | null;
  /** Called when the end of the turn reaches the client. */
  onEnd: (() => void) | null;
}

/** When the line was in the pipe of `claude`, and how long the commit before it took, if the partner reports it. */
export interface Written {
  writtenAt: number;
  syncMs: number;
}

/** When each step of a turn reached the client. */
export interface Turn {
  sentAt: number;
  askedAt: number;
  endedAt: number;
  message: Written | null;
  answer: Written | null;
  /** The CPU time that its `claude` used, and for how long its main thread was ready to run but had no CPU. */
  claude: { cpuMs: number; waitedMs: number };
  /** The CPU time of the client, which is this process: for a partner without a process of its own, that is all it costs. */
  clientMs: number;
}

/** A `claude`, and the tools that it runs. */
export const claudeFamily = (pid: number): Family => ({
  processes: async () => new Map([[pid, 'claude']]),
  children: 'its tools',
});

const script = (n: number) =>
  prompt({
    steps: [
      { tools: [{ name: 'Bash', input: { command: `touch f${n}`, description: 'Touch' } }] },
      { text: `done ${n}` },
    ],
  });

const claudeTimes = async (pid: number) => ({ cpuMs: await cpuMs(pid), waitedMs: await waitedForCpu(pid) });

/** A message, the request at the client, its immediate answer, the tool, and the end of the turn at the client. */
export async function permissionTurn(partner: Partner, n: number): Promise<Turn> {
  const asked = Promise.withResolvers<{ requestId: string; at: number }>();
  const ended = Promise.withResolvers<number>();
  partner.onAsk = (requestId) => asked.resolve({ requestId, at: clock() });
  partner.onEnd = () => ended.resolve(clock());
  const text = script(n);
  const before = await claudeTimes(partner.claude);
  const client = process.cpuUsage();
  const sentAt = clock();
  const sending = partner.send(text);
  // Nothing waits for the reply to the message, but it must not fail.
  const { requestId, at: askedAt } = await Promise.race([asked.promise, sending.then(() => asked.promise)]);
  const [endedAt, message, answer] = await Promise.all([ended.promise, sending, partner.allow(requestId)]);
  const { user, system } = process.cpuUsage(client);
  const after = await claudeTimes(partner.claude);
  const claude = { cpuMs: after.cpuMs - before.cpuMs, waitedMs: after.waitedMs - before.waitedMs };
  return { sentAt, askedAt, endedAt, message, answer, claude, clientMs: (user + system) / 1_000 };
}
