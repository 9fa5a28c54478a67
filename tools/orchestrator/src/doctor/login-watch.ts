import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLAUDE_UNCHECKED, type ClaudeState, type TurnOutcome } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import type { Environment } from '@callboard/runtime/environment';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { signOf } from '../platform/files.ts';
import type { Logger, Platform } from '../platform/runtime.ts';

export interface LoginWatchDeps {
  log: Logger;
  platform: Pick<Platform, 'now'>;
  env: Readonly<Record<string, string>>;
  home: string;
  /** Resolves with the path of `claude`. Rejects with OperationalError `claude_missing`. */
  findClaude: () => Promise<string>;
  /** `askLogin` with the environment that `claude` gets. */
  askLogin: (program: string) => ReturnType<LoginSources['askClaude']>;
  /** Delays the first check, so that everything else can start. */
  delayMs?: number;
  /** How often is checked, while Claude Code is missing or not logged in, whether that has been mended. */
  checkIntervalMs: number;
}

/** Knows whether `claude` is there and logged in, and notices when that has been mended. */
export interface LoginWatch {
  state(): ClaudeState;
  /** The end of a session's turn, which shows whether the login is valid. An outcome from before the last change is ignored. */
  sawTurn(turn: TurnOutcome): void;
  /** A start found no program. @throws the error if it says something else */
  sawMissing(error: unknown): void;
  /** Calls the listener when the state has changed. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
  /** Starts the first check in the background. */
  begin(): void;
  /** Resolves when no check is running. */
  stop(): Promise<void>;
}

const READY: ClaudeState = { state: 'ready', why: null, command: null };
const NOT_LOGGED_IN: ClaudeState = {
  state: 'not-logged-in',
  why: 'Claude is not logged in on this machine. Run claude in a terminal and log in; Callboard notices it.',
  command: 'claude',
};
const INSTALL = 'npm install -g @anthropic-ai/claude-code';

export function createLoginWatch(deps: LoginWatchDeps): LoginWatch {
  const { log, platform, env, home, findClaude, askLogin, delayMs = 1_500, checkIntervalMs } = deps;
  const stopping = new AbortController();
  const changed = createEmitter();
  let known = CLAUDE_UNCHECKED;
  let since = platform.now().toISOString();
  const files = watchFiles(loginFiles({ env, home }));
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;

  function save(found: ClaudeState): void {
    if (found.state === known.state || stopping.signal.aborted) return;
    log.info({ claude: found.state, before: known.state }, 'claude checked');
    known = found;
    since = platform.now().toISOString();
    watch(found.state === 'missing' || found.state === 'not-logged-in');
    changed.emit();
  }

  /** Only while something is to be mended: at rest nothing is polled. */
  function watch(isWanted: boolean): void {
    if (timer !== null) clearInterval(timer);
    files.begin();
    timer = isWanted ? setInterval(inspect, checkIntervalMs).unref() : null;
  }

  function inspect(): void {
    // A check under way may have read the files before they changed: the change is looked at once it is over.
    if (running !== null) return;
    if (known.state !== 'not-logged-in' || files.haveChanged()) check();
  }

  function check(): void {
    running ??= checkOnce()
      .catch((error: unknown) =>
        log.warn({ reason: messageOf(error), code: systemCode(error) }, 'checking claude failed'),
      )
      .finally(() => {
        running = null;
      });
  }

  async function checkOnce(): Promise<void> {
    const program = await findClaude().catch(sawMissing);
    if (program === undefined) return;
    const { state } = await findLogin({ env, home, askClaude: () => askLogin(program) });
    // A login that Claude Code has refused counts again only when its files have changed, which has led here.
    if (state === 'none') save(NOT_LOGGED_IN);
    else if (state === 'found') save(READY);
    else if (known.state === 'missing') save(CLAUDE_UNCHECKED);
  }

  function sawMissing(error: unknown): void {
    if (!(error instanceof AppError) || error.code !== 'claude_missing') throw error;
    save({ state: 'missing', why: error.message, command: INSTALL });
  }

  return {
    state: () => known,
    sawTurn({ code, outcome, at }) {
      if (at < since) return;
      if (code === 'not-logged-in') save(NOT_LOGGED_IN);
      else if (outcome === 'succeeded') save(READY);
    },
    sawMissing,
    onChange: changed.subscribe,
    begin() {
      sleep(delayMs, undefined, { signal: stopping.signal, ref: false }).then(check, () => undefined); // stopped
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}

/** Whether files have changed, told once they have rested from one look to the next: a running `claude` (2.1.330) takes a second to read its settings again. */
function watchFiles(paths: readonly string[]): { begin(): void; haveChanged(): boolean } {
  let signs = '';
  let isChanged = false;
  return {
    begin() {
      signs = signOf(paths);
      isChanged = false;
    },
    haveChanged() {
      const before = signs;
      signs = signOf(paths);
      const areResting = isChanged && signs === before;
      isChanged = !areResting && (isChanged || signs !== before);
      return areResting;
    },
  };
}

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
function loginFiles(sources: Pick<LoginSources, 'env' | 'home'>): string[] {
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
