import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { boardOrigin } from './board-address.ts';
import { isLoopback } from './command-line/reach.ts';
import { makeFolder } from './data-folder.ts';
import type { Edges } from './edges.ts';
import { UsageError } from './errors.ts';
import type { StartOptions } from './start-options.ts';
import { runFolder } from './supervisor/control-socket.ts';

/** Kept where neither Claude's file tools nor commands in its sandbox can write. */
const agreementFile = (dataDir: string): string => join(runFolder(dataDir), 'trusted-logins.json');
const Agreement = z.object({ agreedAt: z.iso.datetime() });

/**
 * Makes sure that a person has agreed, once for a data directory, where a login from another machine is a shell on this one:
 * Claude runs what it is told to, and no session can be isolated. With a loopback address it only says so where a public URL
 * leads here.
 * @throws UsageError if nobody agrees, or nobody can be asked; the signal's reason if it aborts
 */
export async function requireTrustInLogins(options: StartOptions, edges: Edges, signal: AbortSignal): Promise<void> {
  const { host, dataDir, trustLogins, reach } = options;
  const isOpen = !isLoopback(host);
  const isReached = reach.publicUrl !== null && !isLoopback(new URL(reach.publicUrl).hostname);
  if (!isOpen && !isReached) return;
  if (trustLogins || (isOpen && (await isAgreed(dataDir)))) return;
  const { state, why } = await edges.inspectSandbox(edges.env);
  signal.throwIfAborted();
  if (state === 'works') return;
  const danger =
    `no session can be isolated on this machine (${(why ?? 'the sandbox does not work').replace(/\.$/, '')}). ` +
    `Whoever logs in at ${boardOrigin(options, options.port)} can run any command here as you`;
  if (!isOpen) return edges.err(`callboard: warning: ${danger}. \`npx callboard doctor\` says what is missing.`);
  const answer = await edges.ask(
    `callboard: ${danger}.\nStart all the same? Type yes to agree, once for this data directory: `,
    signal,
  );
  if (answer === null)
    throw new UsageError(
      `--host: ${danger}. To agree, add --trust-logins, or answer once in a terminal; \`npx callboard doctor\` says what is missing.`,
    );
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new UsageError('--host: not agreed, so nothing was started. Leave it out to listen on this machine only.');
  await saveAgreement(dataDir, edges.now());
}

async function isAgreed(dataDir: string): Promise<boolean> {
  const text = await readFile(agreementFile(dataDir), 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    return Agreement.safeParse(JSON.parse(text)).success;
  } catch {
    return false; // cut off: it is asked again
  }
}

async function saveAgreement(dataDir: string, now: Date): Promise<void> {
  await makeFolder(runFolder(dataDir));
  const file = agreementFile(dataDir);
  const agreement: z.infer<typeof Agreement> = { agreedAt: now.toISOString() };
  await writeFile(`${file}.new`, `${JSON.stringify(agreement)}\n`, { mode: 0o600 });
  await chmod(`${file}.new`, 0o600);
  await rename(`${file}.new`, file);
}
