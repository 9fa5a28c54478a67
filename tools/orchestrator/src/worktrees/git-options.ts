/** How a call of git is given configuration of its own. */
export interface CallOptions {
  /** Before everything else. */
  args: string[];
  env: Record<string, string>;
}

/**
 * By variables, which keep the command line as it is; by `-c` for git 2.30, which does not know them. What the user gives
 * git that way stays, and gives way.
 */
export function callOptions(
  config: readonly (readonly [string, string])[],
  user: Readonly<Record<string, string>>,
  knowsVariables: boolean,
): CallOptions {
  if (!knowsVariables) return { args: config.flatMap(([key, value]) => ['-c', `${key}=${value}`]), env: {} };
  const first = countOf(user);
  const variables = config.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${first + at}`, key],
    [`GIT_CONFIG_VALUE_${first + at}`, value],
  ]);
  return { args: [], env: { ...Object.fromEntries(variables), GIT_CONFIG_COUNT: String(first + config.length) } };
}

/** Shell text that takes the configuration of a call back, and leaves the user's. */
export const withoutCallOptions = (user: Readonly<Record<string, string>>): string =>
  `unset GIT_CONFIG_PARAMETERS; ${countOf(user) === 0 ? 'unset GIT_CONFIG_COUNT' : `GIT_CONFIG_COUNT=${countOf(user)}`}`;

const countOf = ({ GIT_CONFIG_COUNT = '' }: Readonly<Record<string, string>>): number =>
  /^\d{1,6}$/.test(GIT_CONFIG_COUNT) ? Number(GIT_CONFIG_COUNT) : 0;

/** Whether the git of this version takes configuration from variables (2.31 and newer). */
export function takesVariables(version: string): boolean {
  const [, major = '2', minor = '31'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 31);
}
