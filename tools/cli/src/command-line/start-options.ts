import { createHash } from 'node:crypto';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { shellQuote } from '@callboard/contract';
import { addressList, isAddressEntry, loopbackAddresses } from '@callboard/runtime/address-list';
import { DatabaseUrlError, parseDatabaseUrl } from '@callboard/runtime/database-url';
import type { Exposure } from '@callboard/runtime/supervision';
import { z } from 'zod';
import {
  complain,
  count,
  countOrNone,
  dataDir,
  dataDirFlag,
  dataDirSuffix,
  type Flag,
  folder,
  type Given,
  onOff,
  option,
  type PathBase,
  parseGiven,
  path,
  port,
  program,
  sha256,
  userName,
  variable,
} from './flags.ts';

/** The options that say how people reach the board from other machines. */
export const exposureFlags: readonly Flag[] = [
  option(
    'host',
    'ADDRESS',
    'Address to listen on; beyond this machine only with a certificate or behind a proxy (127.0.0.1).',
    'CALLBOARD_HOST',
  ),
  option(
    'public-url',
    'URL',
    'The address that people open, if it is not that of --host and --port.',
    'CALLBOARD_PUBLIC_URL',
  ),
  option(
    'behind-proxy',
    'ADDRESSES',
    'Addresses or networks of the proxies in front, separated by commas; needs --public-url.',
    'CALLBOARD_BEHIND_PROXY',
  ),
  option(
    'tls-cert',
    'FILE',
    'Certificate with its chain, in PEM: the board speaks HTTPS. A new one is taken while it runs.',
    'CALLBOARD_TLS_CERT',
  ),
  option('tls-key', 'FILE', 'The key of the certificate, in PEM.', 'CALLBOARD_TLS_KEY'),
];

const host = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text),
    complain('is not an address'),
  );

const publicUrl = z
  .string()
  .refine(isSite, {
    ...complain('is not the address of a site: write https://, the name, and the port and the path if there are any'),
    abort: true, // there is no origin to go on with
  })
  .transform((text) => new URL(text).href.replace(/\/$/, ''));

const entriesOf = (text: string): string[] => text.split(/[\s,]+/).filter((entry) => entry !== '');

const proxies = z
  .string()
  .refine(
    (text) => entriesOf(text).length > 0 && entriesOf(text).every(isAddressEntry),
    complain('is not a list of addresses (127.0.0.1,10.0.0.0/8)'),
  )
  .transform(entriesOf);

/** The schemas of these options. */
export const exposureSchemas = (base: PathBase) => ({
  host: host.default('127.0.0.1'),
  'public-url': publicUrl.nullable().default(null),
  'behind-proxy': proxies.default([]),
  'tls-cert': path(base).nullable().default(null),
  'tls-key': path(base).nullable().default(null),
});

type ExposureOptions = z.infer<z.ZodObject<ReturnType<typeof exposureSchemas>>>;
type Complaint = (option: keyof ExposureOptions, text: string) => void;

/** Whether only this machine can reach an address to listen on. */
export const isLoopback = (address: string): boolean => address === 'localhost' || loopbackAddresses.has(address);

const everyAddress = addressList(['0.0.0.0', '::']);

/** Checks, for a schema, that the options fit together, and that no login crosses a network unencrypted. */
export const exposureFits = (given: ExposureOptions, context: z.RefinementCtx): void =>
  check(given, (option, message) => context.addIssue({ code: 'custom', path: [option], message }));

function check(given: ExposureOptions, complaint: Complaint): void {
  const { 'public-url': url, 'behind-proxy': behind, 'tls-cert': cert, 'tls-key': key } = given;
  if (cert !== null && key === null) complaint('tls-cert', 'needs --tls-key, the key of this certificate');
  if (key !== null && cert === null) complaint('tls-key', 'needs --tls-cert, the certificate of this key');
  if (behind.length > 0 && url === null)
    complaint(
      'behind-proxy',
      'needs --public-url, the address that people open, for example https://callboard.example.com',
    );
  if (url !== null) checkPublicUrl(new URL(url), given, complaint);
  if (isLoopback(given.host)) return;
  if (behind.length === 0 && cert === null)
    complaint(
      'host',
      `${JSON.stringify(given.host)} can be reached from other machines, and logins would cross the network unencrypted. ` +
        'Give Callboard a certificate (--tls-cert, --tls-key), or put a proxy in front (--behind-proxy, --public-url). ' +
        'Without either, use 127.0.0.1 and an SSH tunnel',
    );
  else if (url === null && everyAddress.has(given.host))
    complaint(
      'host',
      `${JSON.stringify(given.host)} needs --public-url: Callboard answers only under names that it knows`,
    );
}

function checkPublicUrl({ protocol, hostname }: URL, given: ExposureOptions, complaint: Complaint): void {
  const isEncrypted = given['tls-cert'] !== null;
  if (protocol === 'https:') {
    if (!isEncrypted && given['behind-proxy'].length === 0)
      complaint(
        'public-url',
        'is HTTPS: name the proxy that speaks it (--behind-proxy), or a certificate (--tls-cert, --tls-key)',
      );
  } else if (isEncrypted || given['behind-proxy'].length > 0 || !isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')))
    complaint(
      'public-url',
      'must begin with https://, or logins cross the network unencrypted; http:// is for a tunnel to localhost',
    );
}

/** Returns how the board is reached. Call it with options that were checked. */
export function exposureOf(given: ExposureOptions): Exposure {
  const { 'public-url': url, 'behind-proxy': behind, 'tls-cert': cert, 'tls-key': key } = given;
  return { publicUrl: url, proxies: behind, tls: cert === null || key === null ? null : { cert, key } };
}

/** A path goes into cookies and pages as it is. */
const PATH = /^(?:\/[\w.~-]+)*\/?$/;

function isSite(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { origin, pathname, href } = new URL(text);
  return href === origin + pathname && PATH.test(pathname);
}

/** The options that say where the URL of the database is. Everybody can read a command line, so none of them holds it. */
export const databaseUrlFlags: readonly Flag[] = [
  variable(
    'database-url',
    'CALLBOARD_DATABASE_URL',
    'postgres:// URL of a shared store. Or in the file database-url of the data directory, for its owner alone (0600).',
  ),
  onOff('database-url-stdin', 'Read the URL of the shared store from standard input (no).'),
];

/** The options of `start` for a store that machines share. */
const sharedStoreFlags: readonly Flag[] = [
  ...databaseUrlFlags,
  onOff(
    'trust-shared-store',
    'Agree that whoever can read the URL of the shared store can run commands as you, where no session can be isolated (asks).',
  ),
  variable(
    'machine-name',
    'CALLBOARD_MACHINE_NAME',
    'With a shared store: what this machine is called (its host name).',
  ),
  variable(
    'machine-url',
    'CALLBOARD_MACHINE_URL',
    'With a shared store: wss:// address at which the other machines reach this one, for live text.',
  ),
  variable(
    'end-sessions-after-minutes',
    'CALLBOARD_END_SESSIONS_AFTER_MINUTES',
    'With a shared store: this machine ends its sessions after not reaching the store for this many minutes (never).',
  ),
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
const sharedStoreSchemas = {
  ...databaseUrlSchemas,
  'trust-shared-store': z.boolean().default(false),
  'machine-name': machineName.nullable().default(null),
  'machine-url': machineUrl.nullable().default(null),
  'end-sessions-after-minutes': count.nullable().default(null),
};

/** Returns what was given, by its meaning. */
const sharedStoreOf = (given: z.infer<z.ZodObject<typeof sharedStoreSchemas>>): SharedStoreOptions => ({
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

/** The options of `callboard start`. */
export const startFlags: readonly Flag[] = [
  option('port', 'PORT', 'Port of the board; 0 for any free one (3100).', 'CALLBOARD_PORT'),
  ...exposureFlags,
  onOff(
    'trust-logins',
    'Agree that whoever logs in can run commands as you, where no session can be isolated and --host is not this machine alone (asks).',
  ),
  option(
    'orchestrator-port',
    'PORT',
    'Port between the two servers; 0 for any free one (3101).',
    'CALLBOARD_ORCHESTRATOR_PORT',
  ),
  dataDirFlag,
  {
    kind: 'value',
    name: 'repo',
    placeholder: 'PATH',
    help: 'A git repository to add as a project; may be repeated.',
    repeatable: true,
  },
  option('claude', 'PATH', 'The claude to run (the one on PATH).', 'CALLBOARD_CLAUDE_PATH'),
  onOff('open', 'Open the board in a browser (on a desktop: yes).'),
  option(
    'max-parallel',
    'NUMBER',
    'How many stages may run at once when started automatically; manual starts are not limited (4).',
    'CALLBOARD_MAX_PARALLEL',
  ),
  option(
    'disk-reserve-mb',
    'NUMBER',
    'Below this much free disk space (MB), nothing starts and no message is delivered; 0 for no limit (200).',
    'CALLBOARD_DISK_RESERVE_MB',
  ),
  option(
    'attention-after-minutes',
    'NUMBER',
    'How long a working session may be silent before it asks for attention; nothing is ended (10).',
    'CALLBOARD_ATTENTION_AFTER_MINUTES',
  ),
  option(
    'agent-user',
    'NAME',
    'The account to run claude as. Not supported yet: refused at start.',
    'CALLBOARD_AGENT_USER',
  ),
  variable('token-sha256', 'CALLBOARD_TOKEN_SHA256', 'SHA-256, in hex, of an API token.'),
  variable('token', 'CALLBOARD_TOKEN', 'An API token; other programs can read it, so start prints a warning.'),
  ...sharedStoreFlags,
];

export interface StartOptions {
  /** The folder in which a person started it; null for a demo, which has a repository of its own. */
  readonly startedIn: string | null;
  /** The command that starts it again, without its port and the options of how it is reached; null for a demo. */
  readonly startCommand: string | null;
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
    startedIn: base.cwd,
    startCommand: startCommandOf(given, options['data-dir'], base.home),
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

/** Variables stay set, `--repo` has done its work, and how the board is reached is what a person is about to change. */
const NOT_REPEATED = new Set([...exposureFlags.map(({ name }) => name), 'port', 'data-dir', 'repo']);

function startCommandOf(given: Given, dataDir: string, home: string): string {
  const options = [...given].flatMap(([name, { value, from }]) => {
    if (!from.startsWith('--') || NOT_REPEATED.has(name)) return [];
    if (typeof value === 'boolean') return [value ? ` --${name}` : ` --no-${name}`];
    return [value].flat().map((one) => ` --${name} ${shellQuote(one)}`);
  });
  return `npx callboard start${dataDirSuffix(dataDir, home)}${options.join('')}`;
}

const hash = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

/** A Callboard on this machine answers within milliseconds; another program may never answer. */
const TIMEOUT_MS = 1_500;
/** The API's answer to a request without a login. */
const Problem = z.object({ type: z.string().startsWith('urn:callboard:') });

/** Formats a host and a port for a URL. */
export const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Returns an address at which only this machine reaches what listens on a host, or would. */
export const loopbackHost = (host: string): string => (isLoopback(host) ? host : '127.0.0.1');

/** Returns the address under which people open the board, without a slash at its end. */
export const boardOrigin = ({ host, exposure }: { host: string; exposure: Exposure }, port: number): string =>
  exposure.publicUrl ?? `${exposure.tls === null ? 'http' : 'https'}://${authority(host, port)}`;

/** Whether a Callboard's board listens on a port, with HTTPS or without. Never rejects. */
export async function isCallboard(host: string, port: number): Promise<boolean> {
  // Who listens on all addresses is asked at one of them.
  const board = `${authority(['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host, port)}/api/board`;
  for (const ask of [askPlainly, askEncrypted]) {
    const answer = await ask(board).catch(() => null);
    if (Problem.safeParse(answer).success) return true;
  }
  return false;
}

async function askPlainly(board: string): Promise<unknown> {
  const response = await fetch(`http://${board}`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
  return response.json();
}

/** Says nothing secret, and believes nothing but that a Callboard is there: whose certificate it is does not matter. */
async function askEncrypted(board: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  request(`https://${board}`, { signal, rejectUnauthorized: false, agent: false }, (response) => {
    text(response).then(resolve, reject);
  })
    .once('error', reject)
    .end();
  return JSON.parse(await promise);
}
