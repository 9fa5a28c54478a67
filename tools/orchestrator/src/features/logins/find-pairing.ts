import { hostname, userInfo } from 'node:os';
import type { Pairing } from '@callboard/contract';
import { z } from 'zod';
import { type Job, type Ran, run } from '../../platform/processes.ts';

/** It answers within a tenth of a second, unless its service hangs. */
const TIMEOUT_MS = 1_500;

const Status = z.object({
  BackendState: z.string(),
  /** With a dot at its end. Empty without MagicDNS. */
  Self: z.object({ DNSName: z.string().regex(/^[\w.-]*$/) }),
});

const ServeStatus = z.object({
  /** All that is served, by port. */
  TCP: z.record(z.string(), z.unknown()).default({}),
  /** Sites, by `name:port`, then by path. */
  Web: z
    .record(z.string(), z.object({ Handlers: z.record(z.string(), z.object({ Proxy: z.string().optional() })) }))
    .default({}),
  /** Sites that the whole internet reaches. */
  AllowFunnel: z.record(z.string(), z.boolean()).default({}),
});

interface PairingDeps {
  /** The user's environment. */
  env: Record<string, string>;
  startCommand: string | null;
}

/** Finds out what could lead other devices to this machine. Asks programs of this machine only, and never rejects. */
export async function findPairing({ env, startCommand }: PairingDeps): Promise<Pairing> {
  const ask = (...args: string[]): Promise<Ran> => {
    const job: Job = { command: 'tailscale', args, env, timeoutMs: TIMEOUT_MS, graceMs: 0 };
    return run(job);
  };
  const [status, serves] = await Promise.all([ask('status', '--json'), ask('serve', 'status', '--json')]);
  return { sshTarget: `${userName(env)}@${hostname()}`, startCommand, tailscale: tailscaleOf(status, serves) };
}

type Answer = Pick<Ran, 'failed' | 'stdout'>;

/** Reads what `tailscale status --json` and `tailscale serve status --json` print; null if it is not logged in. */
export function tailscaleOf(status: Answer, serve: Answer): Pairing['tailscale'] {
  const found = parseAnswer(Status, status);
  const name = found?.Self.DNSName.replace(/\.$/, '') ?? '';
  if (found?.BackendState !== 'Running' || name === '') return null;
  const { TCP = {}, Web = {}, AllowFunnel = {} } = parseAnswer(ServeStatus, serve) ?? {};
  const serves = Object.keys(TCP).map((port) => {
    const site = `${name}:${port}`;
    return { port: Number(port), target: AllowFunnel[site] === true ? '' : (Web[site]?.Handlers['/']?.Proxy ?? '') };
  });
  return { name, serves };
}

/** Null for a program that failed, or printed something else: another version of it may. */
function parseAnswer<T>(schema: z.ZodType<T>, { failed, stdout }: Answer): T | null {
  if (failed) return null;
  try {
    return schema.safeParse(JSON.parse(stdout)).data ?? null;
  } catch {
    return null;
  }
}

/** An account without an entry in the system's list has a name at most in its environment. */
function userName(env: PairingDeps['env']): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER ?? 'you';
  }
}
