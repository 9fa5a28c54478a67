import { delimiter, sep } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Set by npm for its scripts (in small letters; `NPM_TOKEN` and the like are the user's), by Node's launcher, or by us;
 * none of it belongs to the user's own environment.
 */
const isOurs = (name: string) =>
  /^(CALLBOARD_|npm_)/.test(name) || ['INIT_CWD', 'NODE', 'NODE_CHANNEL_FD'].includes(name);

/**
 * npm gives its scripts a `COLOR` of its own, in place of the user's, and an `EDITOR`, which is the user's where there is one
 * (in the environment or in npm's settings) and else npm's own choice.
 */
const isFromNpm = (env: Environment, name: string) =>
  env.npm_lifecycle_event !== undefined && (name === 'COLOR' || (name === 'EDITOR' && env.EDITOR === NPM_EDITOR));
const NPM_EDITOR = 'vi';

/** `node_modules/.bin` folders and npm's own node-gyp folder, which npm puts in front of PATH. */
const isEntryOfNpm = (entry: string) =>
  entry.endsWith(`${sep}node_modules${sep}.bin`) || entry.endsWith(`${sep}node-gyp-bin`);

/**
 * The user's environment as it was before npm, for `claude`, git and set-up commands: otherwise every tool that Claude
 * runs would run on Callboard's own Node. Only the entries in front of PATH are npm's; a `node_modules/.bin` further
 * back was put there by the user and stays.
 */
export function userEnvironment(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !isOurs(name) && !isFromNpm(env, name)) kept[name] = value;
  if (kept.PATH !== undefined) {
    const entries = kept.PATH.split(delimiter);
    const firstOwn = entries.findIndex((entry) => !isEntryOfNpm(entry));
    kept.PATH = entries.slice(firstOwn === -1 ? entries.length : firstOwn).join(delimiter);
  }
  return kept;
}
