import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@callboard/runtime/environment';
import { z } from 'zod';

export interface LoginSources {
  /** The user's own environment, which `claude` gets. */
  readonly env: Environment;
  readonly home: string;
  /** Runs `claude auth status`; null if that does not answer, or there is no `claude`. */
  readonly askClaude: () => Promise<{ loggedIn: boolean; authMethod: string } | null>;
}

/** Where `claude` would get its login from. Never holds a secret. */
export interface FoundLogin {
  /** `unknown`: none was found, but there may be one that cannot be checked here. */
  state: 'found' | 'none' | 'unknown';
  /** What was found, for people; null if nothing was. */
  what: string | null;
  /** The host that requests go to instead of Anthropic's; null without one. */
  gateway: string | null;
}

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

const configFolder = ({ env, home }: Pick<LoginSources, 'env' | 'home'>) =>
  env.CLAUDE_CONFIG_DIR || join(home, '.claude');

/** The files that change when a person logs in or sets a key. */
export function loginFiles(sources: Pick<LoginSources, 'env' | 'home'>): string[] {
  const folder = configFolder(sources);
  const account = join(sources.env.CLAUDE_CONFIG_DIR || sources.home, '.claude.json');
  return [join(folder, 'settings.json'), join(folder, '.credentials.json'), account];
}

/** Looks for the login of `claude`, as far as that can be told without the network. Asks the program only if it must. */
export async function findLogin({ env, home, askClaude }: LoginSources): Promise<FoundLogin> {
  const folder = configFolder({ env, home });
  const settings = Settings.safeParse(await readJson(join(folder, 'settings.json'))).data;
  const all = { ...env, ...settings?.env };
  const gateway = isSet(all.ANTHROPIC_BASE_URL) ? hostOf(String(all.ANTHROPIC_BASE_URL)) : null;
  const found = (what: string): FoundLogin => ({ state: 'found', what, gateway });

  const variable = VARIABLES.find(([name]) => isSet(all[name]));
  if (variable !== undefined) {
    const [name, what] = variable;
    return found(`${what} (${name}${isSet(env[name]) ? '' : ` in ${join(folder, 'settings.json')}`})`);
  }
  if (settings?.apiKeyHelper !== undefined) return found('a program that returns an API key (apiKeyHelper)');
  const credentials = join(folder, '.credentials.json');
  if (Credentials.safeParse(await readJson(credentials)).success) return found(`a login in ${credentials}`);

  const status = await askClaude();
  if (status?.loggedIn) return found(`claude says that it is logged in (${status.authMethod})`);
  return { state: status === null || gateway !== null ? 'unknown' : 'none', what: null, gateway };
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
