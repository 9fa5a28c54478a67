import { DatabaseUrlError, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { z } from 'zod';
import type { Flag } from './flags.ts';
import { isLoopback } from './reach.ts';
import { complain, count } from './values.ts';

/** The options that say where the URL of the database is. Everybody can read a command line, so none of them holds it. */
export const databaseUrlFlags: readonly Flag[] = [
  {
    kind: 'variable',
    name: 'database-url',
    variable: 'CALLBOARD_DATABASE_URL',
    help: 'postgres:// URL of a shared store. Or in the file database-url of the data directory, for its owner alone (0600).',
  },
  {
    kind: 'switch',
    name: 'database-url-stdin',
    help: 'Read the URL of the shared store from standard input (no).',
  },
];

/** The options of `start` for a store that machines share. */
export const sharedStoreFlags: readonly Flag[] = [
  ...databaseUrlFlags,
  {
    kind: 'switch',
    name: 'trust-shared-store',
    help: 'Agree that whoever can read the URL of the shared store can run commands as you, where no session can be isolated (asks).',
  },
  {
    kind: 'variable',
    name: 'machine-name',
    variable: 'CALLBOARD_MACHINE_NAME',
    help: 'With a shared store: what this machine is called (its host name).',
  },
  {
    kind: 'variable',
    name: 'machine-url',
    variable: 'CALLBOARD_MACHINE_URL',
    help: 'With a shared store: wss:// address at which the other machines reach this one, for live text.',
  },
  {
    kind: 'variable',
    name: 'end-sessions-after-minutes',
    variable: 'CALLBOARD_END_SESSIONS_AFTER_MINUTES',
    help: 'With a shared store: this machine ends its sessions after not reaching the store for this many minutes (never).',
  },
];

/** What the command line and the variables say about a shared store. */
export interface SharedStoreOptions {
  /** With its password; null if no variable holds it. */
  readonly url: string | null;
  /** Whether standard input holds it. */
  readonly isPiped: boolean;
  /** Whether the command line agrees that its readers can run commands here. */
  readonly isTrusted: boolean;
  readonly machineName: string | null;
  readonly machineUrl: string | null;
  readonly endSessionsAfterMinutes: number | null;
}

/** A URL of a database. Complaints repeat no part of it. */
const databaseUrl = z.string().superRefine((text, context) => {
  try {
    parseDatabaseUrl(text);
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
});

const machineName = z
  .string()
  .trim()
  .regex(/^[^\p{Cc}]{1,64}$/u, { error: 'is not a name: one line of at most 64 characters' });

const machineUrl = z
  .string()
  .refine(
    isSocketUrl,
    complain('is not an address for other machines: write wss://, the name, and the port if there is one'),
  );

/** The schemas of the options that say where the URL is. */
export const databaseUrlSchemas = {
  'database-url': databaseUrl.nullable().default(null),
  'database-url-stdin': z.boolean().default(false),
};

/** The schemas of the options of `start`. */
export const sharedStoreSchemas = {
  ...databaseUrlSchemas,
  'trust-shared-store': z.boolean().default(false),
  'machine-name': machineName.nullable().default(null),
  'machine-url': machineUrl.nullable().default(null),
  'end-sessions-after-minutes': count.nullable().default(null),
};

/** Returns what was given, by its meaning. */
export const sharedStoreOf = (given: z.infer<z.ZodObject<typeof sharedStoreSchemas>>): SharedStoreOptions => ({
  url: given['database-url'],
  isPiped: given['database-url-stdin'],
  isTrusted: given['trust-shared-store'],
  machineName: given['machine-name'],
  machineUrl: given['machine-url'],
  endSessionsAfterMinutes: given['end-sessions-after-minutes'],
});

/** Unencrypted only within this machine: the secret of the machines goes over it. */
function isSocketUrl(text: string): boolean {
  if (!/^wss?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false;
  return protocol === 'wss:' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}
