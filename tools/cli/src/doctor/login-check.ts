import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@callboard/runtime/environment';
import { z } from 'zod';
import { type Finding, ok, problem, warning } from './report.ts';

export interface LoginSources {
  /** The user's own environment, which `claude` gets. */
  readonly env: Environment;
  readonly home: string;
  /** Runs `claude auth status`; null if that does not answer, or there is no `claude`. */
  readonly askClaude: () => Promise<{ loggedIn: boolean; authMethod: string } | null>;
}

const LOG_IN = 'Run `claude` in a terminal and log in, or set ANTHROPIC_API_KEY';
const UNTESTED = 'the first message will show whether it is valid';

const Settings = z.object({
  apiKeyHelper: z.string().optional(),
  env: z.record(z.string(), z.unknown()).default({}),
});
const Credentials = z.object({ claudeAiOauth: z.looseObject({ accessToken: z.string().min(1) }) });

/** The variables that give `claude` a login, with what people call that login. */
const VARIABLES: readonly [string, string][] = [
  ['ANTHROPIC_API_KEY', 'an API key'],
  ['ANTHROPIC_AUTH_TOKEN', 'a token'],
  ['CLAUDE_CODE_OAUTH_TOKEN', 'a long-lived login'],
  ['CLAUDE_CODE_USE_BEDROCK', 'the account of Amazon Bedrock'],
  ['CLAUDE_CODE_USE_VERTEX', 'the account of Google Vertex'],
  ['CLAUDE_CODE_USE_FOUNDRY', 'the account of Microsoft Foundry'],
];

/** Checks whether `claude` has a login, as far as that can be told without the network. Never shows a secret. */
export async function checkLogin({ env, home, askClaude }: LoginSources): Promise<Finding> {
  const folder = env.CLAUDE_CONFIG_DIR || join(home, '.claude');
  const settings = Settings.safeParse(await readJson(join(folder, 'settings.json'))).data;
  const all = { ...env, ...settings?.env };
  const gateway = isSet(all.ANTHROPIC_BASE_URL) ? `, through ${hostOf(String(all.ANTHROPIC_BASE_URL))}` : '';
  const found = (what: string) => ok(`${what}${gateway}; ${UNTESTED}`);

  const variable = VARIABLES.find(([name]) => isSet(all[name]));
  if (variable !== undefined) {
    const [name, what] = variable;
    return found(`${what} (${name}${isSet(env[name]) ? '' : ` in ${join(folder, 'settings.json')}`})`);
  }
  if (settings?.apiKeyHelper !== undefined) return found(`a program that returns an API key (apiKeyHelper)`);
  const credentials = join(folder, '.credentials.json');
  if (Credentials.safeParse(await readJson(credentials)).success) return found(`a login in ${credentials}`);

  const status = await askClaude();
  if (status?.loggedIn) return found(`claude says that it is logged in (${status.authMethod})`);
  if (gateway !== '')
    return warning(`no key${gateway}; the gateway may not need one, which cannot be checked here`, LOG_IN);
  if (status === null) return warning('no login was found; there may be one that cannot be checked here', LOG_IN);
  return problem('claude is not logged in, and there is no API key', LOG_IN);
}

const isSet = (value: unknown) => value !== undefined && value !== '' && value !== '0' && value !== 'false';

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'an ANTHROPIC_BASE_URL that is not a URL');

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
}
