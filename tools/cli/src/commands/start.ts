import { dirname } from 'node:path';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { terminalLoginFolders } from '@callboard/runtime/terminal-login';
import { untilAborted } from '@callboard/runtime/waits';
import { dataDirSuffix } from '../command-line/data-dir.ts';
import { isLoopback } from '../command-line/reach.ts';
import { explainFolderError, makeFolder } from '../data-folder.ts';
import { runProgram } from '../doctor/run-program.ts';
import type { Platform } from '../edges.ts';
import { CliError, UsageError } from '../errors.ts';
import { explainRunning } from '../explain-running.ts';
import { explainStartFailure } from '../explain-start-failure.ts';
import { offerLoginLinks } from '../login-links.ts';
import { createProgress } from '../progress.ts';
import { requireTrustInLogins, requireTrustInSharedStore } from '../require-trust.ts';
import { findSharedStore, type SharedStore } from '../shared-store.ts';
import { parseStartOptions, type StartOptions, startFlags } from '../start-options.ts';
import { serveControl } from '../supervisor/control-socket.ts';
import { createSupervisor } from '../supervisor/supervisor.ts';
import { AlreadyLocked, acquireSupervisorLock, type SupervisorLock } from '../supervisor/supervisor-lock.ts';
import type { Command } from './command.ts';

/** `callboard start`: runs Callboard until it is stopped. */
export const start: Command = {
  name: 'start',
  summary: 'Starts Callboard and prints a link to log in with (the default).',
  flags: startFlags,
  run: async ({ given, platform }) => {
    const options = parseStartOptions(given, platform);
    await requireGit(platform);
    if (options.isTokenExposed) warnAboutToken(platform);
    const shared = await findSharedStore(options.sharedStore, options.dataDir, platform);
    requireSharedStore(options, shared);
    if (shared !== null && !isEncrypted(shared)) warnAboutNetwork(shared, platform);
    const signals = platform.listenForStop();
    try {
      const lock = await acquire(options, platform);
      try {
        await requireTrustInLogins(options, platform, signals.stop);
        if (shared !== null) await requireTrustInSharedStore(shared, options, platform, signals.stop);
        return await supervise({ options, shared, lock }, platform, signals);
      } catch (error) {
        if (error !== signals.stop.reason) throw error;
        return 0; // Ctrl-C before anything was started
      } finally {
        await lock.release();
      }
    } finally {
      signals.release();
    }
  },
};

interface Started {
  readonly options: StartOptions;
  readonly shared: SharedStore | null;
  readonly lock: SupervisorLock;
}

async function supervise(
  { options, shared, lock }: Started,
  platform: Platform,
  signals: { stop: AbortSignal; kill: AbortSignal },
): Promise<number> {
  const progress = createProgress(platform);
  const log = (line: string) => {
    progress.clear();
    platform.err(`callboard: ${line}`);
  };
  const { servers, timing, env } = platform;
  const supervisor = createSupervisor({
    options,
    databaseUrl: shared?.url ?? null,
    servers,
    timing,
    env,
    log,
    isTakeover: lock.isTakeover,
    onStep: progress.say,
  });
  signals.kill.addEventListener('abort', supervisor.kill, { once: true });
  await using ends = new AsyncDisposableStack();
  try {
    const { port, loginLink } = await supervisor.start(signals.stop).finally(progress.clear);
    await lock.setPort(port);
    const { stop } = signals;
    const closeControl = await serveControl(options.dataDir, {
      createLink: (heldFile) => supervisor.createLink(stop, heldFile),
      listProblems: supervisor.problems,
      logIn: (terminal, file, heldFile) => {
        requireHidden(file, platform);
        return supervisor.logInTerminal(terminal, heldFile, stop);
      },
    }).catch((error: unknown) => log(`callboard link and callboard login will not work: ${messageOf(error)}`));
    if (closeControl) ends.defer(closeControl);
    ends.defer(await offerLoginLinks({ supervisor, loginLink, options, stop }, platform));
    await untilAborted(stop);
    progress.say('stopping; press Ctrl-C again to end it at once');
  } catch (error) {
    if (!signals.stop.aborted) throw await explainStartFailure(error, options);
  } finally {
    await supervisor.stop().finally(progress.clear);
    signals.kill.removeEventListener('abort', supervisor.kill);
  }
  sayHowToEndSessions(options, platform);
  return 0;
}

/** What belongs to a shared store would else be without effect, on another store than the person meant. @throws UsageError */
function requireSharedStore({ sharedStore }: StartOptions, shared: SharedStore | null): void {
  if (shared !== null) return;
  const { machineName, machineUrl, endSessionsAfterMinutes } = sharedStore;
  const given = [
    machineName !== null && 'CALLBOARD_MACHINE_NAME',
    machineUrl !== null && 'CALLBOARD_MACHINE_URL',
    endSessionsAfterMinutes !== null && 'CALLBOARD_END_SESSIONS_AFTER_MINUTES',
  ];
  const variable = given.find((name) => name !== false);
  if (variable !== undefined)
    throw new UsageError(
      `${variable}: is for a shared store, and no URL of one was given. Set CALLBOARD_DATABASE_URL as well, or unset it.`,
    );
}

/** Sessions hide the folders that this process knows; a terminal with another environment could keep its token elsewhere. */
function requireHidden(file: string, { env, home }: Platform): void {
  const folders = terminalLoginFolders(env, home);
  if (folders.includes(dirname(file))) return;
  throw new CliError(
    `the token would be kept in ${file}, which this Callboard does not hide from Claude. ` +
      `Log in with the HOME and XDG_CONFIG_HOME that Callboard was started with (it hides ${folders.join(' and ')}).`,
  );
}

async function acquire(options: StartOptions, platform: Platform): Promise<SupervisorLock> {
  try {
    await makeFolder(options.dataDir);
    return await acquireSupervisorLock(options.dataDir, options.port, platform.now());
  } catch (error) {
    if (error instanceof AlreadyLocked) {
      throw new CliError(await explainRunning(error.holder, options, platform));
    }
    if (systemCode(error) === undefined) throw error;
    throw new UsageError(`--data-dir: ${options.dataDir} cannot be used: ${explainFolderError(error)}.`);
  }
}

/** Everything needs git, and what fails without it would fail late and say less. */
export async function requireGit({ env }: Platform): Promise<void> {
  const { exitCode } = await runProgram('git', ['--version'], env);
  if (exitCode !== null) return;
  throw new CliError(
    'git was not found on your PATH. Callboard gives each stage a worktree of its own, so it needs git 2.30 or newer. ' +
      'Install it (https://git-scm.com/downloads), then run this again.',
  );
}

function warnAboutToken({ err }: Platform): void {
  err(
    'callboard: warning: other programs of this account, claude among them, can read CALLBOARD_TOKEN. ' +
      'Set CALLBOARD_TOKEN_SHA256 to the SHA-256 of the token instead.',
  );
}

const ENCRYPTED = new Set(['require', 'verify-ca', 'verify-full']);

/** Whether what is stored crosses no network in the clear. */
const isEncrypted = ({ address: { hosts, parameters } }: SharedStore): boolean =>
  ENCRYPTED.has(parameters.get('sslmode') ?? '') || hosts.every(({ host }) => host.startsWith('/') || isLoopback(host));

function warnAboutNetwork({ name }: SharedStore, { err }: Platform): void {
  err(
    `callboard: warning: everything that is stored crosses the network to ${name} unencrypted. ` +
      'Add ?sslmode=verify-full to the URL, or connect through a tunnel.',
  );
}

function sayHowToEndSessions({ dataDir }: StartOptions, { home, err }: Platform): void {
  err('callboard: stopped. Running sessions stay alive; the next start finds them again.');
  err(`callboard: to end them: npx callboard down${dataDirSuffix(dataDir, home)}`);
}
