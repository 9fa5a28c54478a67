import type { Exposure } from '@callboard/runtime/supervision';
import { z } from 'zod';
import {
  dataDir,
  type Flag,
  type Given,
  onOff,
  type PathBase,
  parseGiven,
  path,
  port,
  userName,
} from '../command-line/flags.ts';
import {
  databaseUrlFlags,
  databaseUrlSchemas,
  exposureFits,
  exposureFlags,
  exposureOf,
  exposureSchemas,
  type SharedStoreOptions,
  startFlags,
} from '../command-line/start-options.ts';

/** The options that `doctor` shares with `start`, with the same meaning. */
const SHARED = new Set([
  ...['port', 'orchestrator-port', 'data-dir', 'repo', 'claude', 'agent-user'],
  ...exposureFlags.map(({ name }) => name),
]);

/** The options of `callboard doctor`. */
export const doctorFlags: readonly Flag[] = [
  ...startFlags.filter(({ name }) => SHARED.has(name)),
  ...databaseUrlFlags,
  onOff('handshake', 'Try out claude on a scripted model, which takes seconds (yes).'),
  onOff('json', 'Print JSON (no).'),
];

export interface DoctorOptions {
  readonly port: number;
  readonly host: string;
  readonly exposure: Exposure;
  readonly orchestratorPort: number;
  /** Absolute, like all paths here. */
  readonly dataDir: string;
  readonly repos: readonly string[];
  /** Null to search for one; `from` is the flag or the variable that names it. */
  readonly claude: { readonly path: string; readonly from: string } | null;
  readonly agentUser: string | null;
  readonly sharedStore: Pick<SharedStoreOptions, 'url' | 'isPiped'>;
  readonly handshake: boolean;
  readonly json: boolean;
}

/** Paths need not exist: a missing one becomes a finding. */
const schema = (base: PathBase) =>
  z
    .object({
      port: port.default(3100),
      ...exposureSchemas(base),
      'orchestrator-port': port.default(3101),
      'data-dir': dataDir(base),
      repo: z.array(path(base)).default([]),
      claude: path(base).nullable().default(null),
      'agent-user': userName.nullable().default(null),
      ...databaseUrlSchemas,
      handshake: z.boolean().default(true),
      json: z.boolean().default(false),
    })
    .superRefine(exposureFits);

/** Validates the user's values. @throws UsageError with one line for each invalid value */
export function parseDoctorOptions(given: Given, base: PathBase): DoctorOptions {
  const options = parseGiven(schema(base), given);
  return {
    port: options.port,
    host: options.host,
    exposure: exposureOf(options),
    orchestratorPort: options['orchestrator-port'],
    dataDir: options['data-dir'],
    repos: options.repo,
    claude: options.claude === null ? null : { path: options.claude, from: given.get('claude')?.from ?? '--claude' },
    agentUser: options['agent-user'],
    sharedStore: { url: options['database-url'], isPiped: options['database-url-stdin'] },
    handshake: options.handshake,
    json: options.json,
  };
}
