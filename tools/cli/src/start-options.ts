import { createHash } from 'node:crypto';
import type { Exposure } from '@callboard/runtime/supervision';
import { z } from 'zod';
import { dataDir, dataDirFlag } from './command-line/data-dir.ts';
import { type Flag, type Given, parseGiven } from './command-line/flags.ts';
import { exposureFits, exposureFlags, exposureOf, exposureSchemas } from './command-line/reach.ts';
import {
  type SharedStoreOptions,
  sharedStoreFlags,
  sharedStoreOf,
  sharedStoreSchemas,
} from './command-line/shared-store.ts';
import { count, countOrNone, folder, type PathBase, port, program, sha256, userName } from './command-line/values.ts';

const value = (name: string, placeholder: string, variable: string | null, help: string): Flag => ({
  kind: 'value',
  name,
  placeholder,
  repeatable: false,
  variable,
  help,
});

/** The options of `callboard start`. */
export const startFlags: readonly Flag[] = [
  value('port', 'PORT', 'CALLBOARD_PORT', 'Port of the board; 0 for any free one (3100).'),
  ...exposureFlags,
  {
    kind: 'switch',
    name: 'trust-logins',
    help: 'Agree that whoever logs in can run commands as you, where no session can be isolated and --host is not this machine alone (asks).',
  },
  value(
    'orchestrator-port',
    'PORT',
    'CALLBOARD_ORCHESTRATOR_PORT',
    'Port between the two servers; 0 for any free one (3101).',
  ),
  dataDirFlag,
  {
    kind: 'value',
    name: 'repo',
    placeholder: 'PATH',
    repeatable: true,
    variable: null,
    help: 'A git repository to add as a project; may be repeated.',
  },
  value('claude', 'PATH', 'CALLBOARD_CLAUDE_PATH', 'The claude to run (the one on PATH).'),
  { kind: 'switch', name: 'open', help: 'Open the board in a browser (on a desktop: yes).' },
  value(
    'max-parallel',
    'NUMBER',
    'CALLBOARD_MAX_PARALLEL',
    'How many stages may run at once when started automatically; manual starts are not limited (4).',
  ),
  value(
    'disk-reserve-mb',
    'NUMBER',
    'CALLBOARD_DISK_RESERVE_MB',
    'Below this much free disk space (MB), nothing starts and no message is delivered; 0 for no limit (200).',
  ),
  value(
    'attention-after-minutes',
    'NUMBER',
    'CALLBOARD_ATTENTION_AFTER_MINUTES',
    'How long a working session may be silent before it asks for attention; nothing is ended (10).',
  ),
  value(
    'agent-user',
    'NAME',
    'CALLBOARD_AGENT_USER',
    'The account to run claude as. Not supported yet: refused at start.',
  ),
  {
    kind: 'variable',
    name: 'token-sha256',
    variable: 'CALLBOARD_TOKEN_SHA256',
    help: 'SHA-256, in hex, of an API token.',
  },
  {
    kind: 'variable',
    name: 'token',
    variable: 'CALLBOARD_TOKEN',
    help: 'An API token; other programs can read it, so start prints a warning.',
  },
  ...sharedStoreFlags,
];

export interface StartOptions {
  readonly port: number;
  readonly host: string;
  readonly exposure: Exposure;
  /** Whether the command line agrees that a login from elsewhere is a shell on this machine. */
  readonly trustLogins: boolean;
  readonly orchestratorPort: number;
  /** Absolute, like all paths here. */
  readonly dataDir: string;
  readonly repos: readonly string[];
  /** Null to search for one. */
  readonly claudePath: string | null;
  /** Null if the user chose neither; then it depends on the desktop. */
  readonly open: boolean | null;
  readonly maxParallel: number;
  /** 0 for no reserve. */
  readonly diskReserveMb: number;
  readonly attentionAfterMinutes: number;
  readonly agentUser: string | null;
  readonly tokenSha256: string | null;
  /** Whether the environment holds the token itself. */
  readonly isTokenExposed: boolean;
  readonly sharedStore: SharedStoreOptions;
}

const schema = (base: PathBase) =>
  z
    .object({
      port: port.default(3100),
      ...exposureSchemas(base),
      'trust-logins': z.boolean().default(false),
      'orchestrator-port': port.default(3101),
      'data-dir': dataDir(base),
      repo: z.array(folder(base)).default([]),
      claude: program(base).nullable().default(null),
      open: z.boolean().nullable().default(null),
      'max-parallel': count.default(4),
      'disk-reserve-mb': countOrNone.default(200),
      'attention-after-minutes': count.default(10),
      'agent-user': userName.nullable().default(null),
      'token-sha256': sha256.nullable().default(null),
      token: z.string().nullable().default(null),
      ...sharedStoreSchemas,
    })
    .refine((given) => given.port === 0 || given.port !== given['orchestrator-port'], {
      path: ['orchestrator-port'],
      error: 'is the port of the board; each server needs its own',
    })
    .refine((given) => given.token === null || given['token-sha256'] === null, {
      path: ['token'],
      error: 'CALLBOARD_TOKEN_SHA256 is set too; set one of them',
    })
    .superRefine(exposureFits);

/** Validates the user's values. @throws UsageError with one line for each invalid value */
export function parseStartOptions(given: Given, base: PathBase): StartOptions {
  const options = parseGiven(schema(base), given);
  return {
    port: options.port,
    host: options.host,
    exposure: exposureOf(options),
    trustLogins: options['trust-logins'],
    orchestratorPort: options['orchestrator-port'],
    dataDir: options['data-dir'],
    repos: options.repo,
    claudePath: options.claude,
    open: options.open,
    maxParallel: options['max-parallel'],
    diskReserveMb: options['disk-reserve-mb'],
    attentionAfterMinutes: options['attention-after-minutes'],
    agentUser: options['agent-user'],
    tokenSha256: options.token === null ? options['token-sha256'] : hash(options.token),
    isTokenExposed: options.token !== null,
    sharedStore: sharedStoreOf(options),
  };
}

const hash = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');
