import { delimiter, join, sep } from 'node:path';

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Set by npm for its scripts (in small letters; `NPM_TOKEN` and the like are the user's), by Node's launcher, or by
 * Callboard. None of these belong to the user's own environment.
 */
const isOurs = (name: string) =>
  /^(CALLBOARD_|npm_)/.test(name) || ['INIT_CWD', 'NODE', 'NODE_CHANNEL_FD'].includes(name);

/** Settings of the servers' own memory and start, which no program of the user gets: with what the user has set for them, if anything. */
const SETTINGS = ['MALLOC_ARENA_MAX', 'NODE_COMPILE_CACHE'] as const;
const SAVED = 'CALLBOARD_USERS_';

/**
 * Returns the environment for a server of ours, from which `userEnvironment` makes the user's again. glibc keeps memory apart for each
 * thread, and a server has ten of them that rarely work; what Node has compiled it finds again in the folder, if there is one.
 */
export function serverEnvironment(env: Environment, compileCache: string | undefined): Environment {
  const saved = SETTINGS.map((name) => [`${SAVED}${name}`, env[name] ?? '']);
  return { ...env, ...Object.fromEntries(saved), MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: compileCache };
}

/**
 * npm replaces the user's `COLOR` for its scripts. It also sets `EDITOR`: to the user's own, if the environment or npm's
 * settings name one, and otherwise to npm's default.
 */
const isFromNpm = (env: Environment, name: string) =>
  env.npm_lifecycle_event !== undefined && (name === 'COLOR' || (name === 'EDITOR' && env.EDITOR === NPM_EDITOR));
const NPM_EDITOR = 'vi';

/** `node_modules/.bin` folders and npm's node-gyp folder, which npm puts at the front of PATH. */
const isEntryOfNpm = (entry: string) =>
  entry.endsWith(`${sep}node_modules${sep}.bin`) || entry.endsWith(`${sep}node-gyp-bin`);

/**
 * Returns the user's environment as it was before npm, for `claude`, git and set-up commands: otherwise every tool that
 * Claude runs would run on Callboard's Node. Only the entries at the front of PATH are npm's; the user put a
 * `node_modules/.bin` further back there, and it stays.
 */
export function userEnvironment(env: Environment): Record<string, string> {
  const saved: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !isOurs(name) && !isFromNpm(env, name)) saved[name] = value;
  for (const name of SETTINGS) {
    const before = env[`${SAVED}${name}`];
    if (before === '') delete saved[name];
    else if (before !== undefined) saved[name] = before;
  }
  if (saved.PATH !== undefined) {
    const entries = saved.PATH.split(delimiter);
    const firstOwn = entries.findIndex((entry) => !isEntryOfNpm(entry));
    saved.PATH = entries.slice(firstOwn === -1 ? entries.length : firstOwn).join(delimiter);
  }
  return saved;
}

const LEVELS = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);

/** Returns the log level of a server: that of `CALLBOARD_LOG_LEVEL`, or `warn`. */
export function logLevel({ CALLBOARD_LOG_LEVEL: level = '' }: Environment): string {
  return LEVELS.has(level) ? level : 'warn';
}

/**
 * Returns the folders that may hold the token of `callboard login`, all of which are hidden from Claude. The token is kept in the
 * first one; the others are where a terminal with other variables would keep it.
 */
export function terminalLoginFolders(env: Environment, home: string): string[] {
  const usual = join(home, '.config', 'callboard');
  const { XDG_CONFIG_HOME: config = '' } = env;
  return config.startsWith('/') && join(config, 'callboard') !== usual ? [join(config, 'callboard'), usual] : [usual];
}

/** Returns the file with the token of `callboard login`. */
export const terminalLoginFile = (env: Environment, home: string): string =>
  join(terminalLoginFolders(env, home)[0] ?? '', 'credentials.json');
