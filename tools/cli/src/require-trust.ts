import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { boardOrigin } from './board-address.ts';
import { isLoopback } from './command-line/reach.ts';
import { makeFolder } from './data-folder.ts';
import type { Platform } from './edges.ts';
import { UsageError } from './errors.ts';
import type { SharedStore } from './shared-store.ts';
import type { StartOptions } from './start-options.ts';
import { runFolder } from './supervisor/control-socket.ts';

const Agreement = z.object({ agreedAt: z.iso.datetime() });

/** Something that a person has to agree to, once for a data directory, where no session can be isolated. */
interface Risk {
  /** What names it in a complaint: the option or variable that asks for it. */
  readonly option: string;
  /** The option that agrees to it on a command line. */
  readonly flag: string;
  /** The file of the agreement, where neither Claude's file tools nor commands in its sandbox can write. */
  readonly file: string;
  /** Who can then do what, as a sentence without its end. */
  readonly danger: string;
  /** What to do instead. */
  readonly instead: string;
}

/**
 * Makes sure that a person has agreed, once for a data directory, where a login from another machine is a shell on this one:
 * Claude runs what it is told to, and no session can be isolated. With a loopback address it only says so where a public URL
 * leads here.
 * @throws UsageError if nobody agrees, or nobody can be asked; the signal's reason if it aborts
 */
export async function requireTrustInLogins(
  options: StartOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const { host, dataDir, trustLogins, exposure } = options;
  const isOpen = !isLoopback(host);
  const isReached = exposure.publicUrl !== null && !isLoopback(new URL(exposure.publicUrl).hostname);
  if (!isOpen && !isReached) return;
  const risk: Risk = {
    option: '--host',
    flag: '--trust-logins',
    file: join(runFolder(dataDir), 'trusted-logins.json'),
    danger: `Whoever logs in at ${boardOrigin(options, options.port)} can run any command here as you`,
    instead: 'Leave it out to listen on this machine only.',
  };
  if (trustLogins || (isOpen && (await isAgreed(risk)))) return;
  const danger = await dangerOf(risk, platform, signal);
  if (danger === null) return;
  if (!isOpen) return platform.err(`callboard: warning: ${danger}. \`npx callboard doctor\` says what is missing.`);
  await askToAgree(risk, danger, platform, signal);
}

/**
 * Makes sure that a person has agreed, once for a data directory, to a shared store on a machine where no session can be
 * isolated: a command that Claude runs could read its URL there, and with it tell every machine of the store what to run.
 * @throws as `requireTrustInLogins`
 */
export async function requireTrustInSharedStore(
  { name }: SharedStore,
  { dataDir, sharedStore }: StartOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const risk: Risk = {
    option: 'the shared store',
    flag: '--trust-shared-store',
    file: join(runFolder(dataDir), 'trusted-shared-store.json'),
    danger: `A command that Claude runs can read the URL of the shared store (${name}), and whoever can read it can run any command as you, on every machine that shares it`,
    instead: 'Start without the URL to keep the store in the data directory.',
  };
  if (sharedStore.isTrusted || (await isAgreed(risk))) return;
  const danger = await dangerOf(risk, platform, signal);
  if (danger !== null) await askToAgree(risk, danger, platform, signal);
}

/** What the person has to know; null where sessions are isolated. */
async function dangerOf(
  { danger }: Risk,
  { inspectSandbox, env }: Platform,
  signal: AbortSignal,
): Promise<string | null> {
  const { state, why } = await inspectSandbox(env);
  signal.throwIfAborted();
  if (state === 'works') return null;
  return `no session can be isolated on this machine (${(why ?? 'the sandbox does not work').replace(/\.$/, '')}). ${danger}`;
}

async function askToAgree(
  { option, flag, file, instead }: Risk,
  danger: string,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const answer = await platform.ask(
    `callboard: ${danger}.\nStart anyway? Type yes to agree, once for this data directory: `,
    signal,
  );
  if (answer === null)
    throw new UsageError(
      `${option}: ${danger}. To agree, add ${flag}, or answer once in a terminal; \`npx callboard doctor\` says what is missing.`,
    );
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new UsageError(`${option}: not agreed, so nothing was started. ${instead}`);
  await saveAgreement(file, platform.now());
}

async function isAgreed({ file }: Risk): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    return Agreement.safeParse(JSON.parse(text)).success;
  } catch {
    return false; // cut off: it is asked again
  }
}

async function saveAgreement(file: string, now: Date): Promise<void> {
  await makeFolder(join(file, '..'));
  const agreement: z.infer<typeof Agreement> = { agreedAt: now.toISOString() };
  await writeFile(`${file}.new`, `${JSON.stringify(agreement)}\n`, { mode: 0o600 });
  await chmod(`${file}.new`, 0o600);
  await rename(`${file}.new`, file);
}
