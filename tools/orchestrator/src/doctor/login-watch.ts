import { setTimeout as sleep } from 'node:timers/promises';
import { CLAUDE_UNCHECKED, type ClaudeState, type TurnOutcome } from '@callboard/contract';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import type { Platform } from '../lib/edges.ts';
import { AppError } from '../lib/errors.ts';
import { signOf } from '../lib/file-signs.ts';
import type { Logger } from '../lib/logger.ts';
import { findLogin, type LoginSources, loginFiles } from './find-login.ts';

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
  const listeners = new Set<() => void>();
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
    for (const listener of listeners) listener();
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
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
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
