import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { isAlive } from '@callboard/runtime/process-identity';
import { terminalLoginFolders } from '@callboard/runtime/terminal-login';
import { untilAborted } from '@callboard/runtime/waits';
import { z } from 'zod';
import { dataDir, dataDirFlag, dataDirSuffix, type Flag, type Given, parseGiven } from '../command-line/flags.ts';
import {
  boardOrigin,
  isLoopback,
  parseStartOptions,
  type StartOptions,
  startFlags,
} from '../command-line/start-options.ts';
import { exists, explainFolderError, makeFolder } from '../data-folder.ts';
import { CliError, UsageError } from '../errors.ts';
import { explainRunning, explainStartFailure } from '../explain-start-failure.ts';
import { offerLoginLinks } from '../login-links.ts';
import { inPackage, type Platform } from '../platform.ts';
import { createProgress } from '../progress.ts';
import { runProgram } from '../run-program.ts';
import { findSharedStore, type SharedStore } from '../shared-store.ts';
import {
  AlreadyLocked,
  acquireSupervisorLock,
  findSupervisor,
  runFolder,
  type SupervisorLock,
  type SupervisorRecord,
  serveControl,
} from '../supervisor/control-socket.ts';
import { createSupervisor, type Supervisor } from '../supervisor/supervisor.ts';
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
    const askFirst = async () => {
      if (options.repos.length === 0) await offerRepository(supervisor, platform, stop);
    };
    ends.defer(await offerLoginLinks({ supervisor, loginLink, options, stop, askFirst }, platform));
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

/** The folder of a clone of Callboard, in which `npm start` runs. */
const OWN_CLONE = resolve(inPackage('../..'));

/**
 * Asks whether the repository in which Callboard was started becomes a project, unless it is one, or Callboard's own. Without a
 * terminal it says how.
 * @throws the signal's reason if it aborts
 */
async function offerRepository(supervisor: Supervisor, { ask, err }: Platform, stop: AbortSignal): Promise<void> {
  const path = supervisor.repositoryHere();
  if (path === null || path === OWN_CLONE) return;
  for (;;) {
    const answer = await ask(`Add ${path} as a project? [Y/n] `, stop);
    if (answer === null)
      return err(`callboard: ${path} is not a project yet; add it on the board, or start with --repo .`);
    if (/^\s*(y(es)?)?\s*$/i.test(answer)) return supervisor.addProject(path);
    if (/^\s*no?\s*$/i.test(answer)) return;
    err(`callboard: ${JSON.stringify(answer.trim())} is neither y nor n.`);
  }
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
async function requireGit({ env }: Platform): Promise<void> {
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

const Agreement = z.object({ agreedAt: z.iso.datetime() });

/** Something that a person has to agree to, once for a data directory, where no session can be isolated. */
interface Risk {
  /** What names it in a complaint: the option or variable that asks for it. */
  readonly option: string;
  /** The option that agrees to it on a command line. */
  readonly flag: string;
  /** The file of the agreement, where neither Claude's file tools nor commands in its sandbox can write. */
  readonly file: string;
  /** Who can then do what, as a sentence without its end. */
  readonly danger: string;
  /** What to do instead. */
  readonly instead: string;
}

/**
 * Makes sure that a person has agreed, once for a data directory, where a login from another machine is a shell on this one:
 * Claude runs what it is told to, and no session can be isolated. With a loopback address it only says so where a public URL
 * leads here.
 * @throws UsageError if nobody agrees, or nobody can be asked; the signal's reason if it aborts
 */
export async function requireTrustInLogins(
  options: StartOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const { host, dataDir, trustLogins, exposure } = options;
  const isOpen = !isLoopback(host);
  const isReached = exposure.publicUrl !== null && !isLoopback(new URL(exposure.publicUrl).hostname);
  if (!isOpen && !isReached) return;
  const risk: Risk = {
    option: '--host',
    flag: '--trust-logins',
    file: join(runFolder(dataDir), 'trusted-logins.json'),
    danger: `Whoever logs in at ${boardOrigin(options, options.port)} can run any command here as you`,
    instead: 'Leave it out to listen on this machine only.',
  };
  if (trustLogins || (isOpen && (await isAgreed(risk)))) return;
  const danger = await dangerOf(risk, platform, signal);
  if (danger === null) return;
  if (!isOpen) return platform.err(`callboard: warning: ${danger}. \`npx callboard doctor\` says what is missing.`);
  await askToAgree(risk, danger, platform, signal);
}

/**
 * Makes sure that a person has agreed, once for a data directory, to a shared store on a machine where no session can be
 * isolated: a command that Claude runs could read its URL there, and with it tell every machine of the store what to run.
 * @throws as `requireTrustInLogins`
 */
export async function requireTrustInSharedStore(
  { name }: SharedStore,
  { dataDir, sharedStore }: StartOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const risk: Risk = {
    option: 'the shared store',
    flag: '--trust-shared-store',
    file: join(runFolder(dataDir), 'trusted-shared-store.json'),
    danger: `A command that Claude runs can read the URL of the shared store (${name}), and whoever can read it can run any command as you, on every machine that shares it`,
    instead: 'Start without the URL to keep the store in the data directory.',
  };
  if (sharedStore.isTrusted || (await isAgreed(risk))) return;
  const danger = await dangerOf(risk, platform, signal);
  if (danger !== null) await askToAgree(risk, danger, platform, signal);
}

/** What the person has to know; null where sessions are isolated. */
async function dangerOf(
  { danger }: Risk,
  { inspectSandbox, env }: Platform,
  signal: AbortSignal,
): Promise<string | null> {
  const { state, why } = await inspectSandbox(env);
  signal.throwIfAborted();
  if (state === 'works') return null;
  return `no session can be isolated on this machine (${(why ?? 'the sandbox does not work').replace(/\.$/, '')}). ${danger}`;
}

async function askToAgree(
  { option, flag, file, instead }: Risk,
  danger: string,
  platform: Platform,
  signal: AbortSignal,
): Promise<void> {
  const answer = await platform.ask(
    `callboard: ${danger}.\nStart anyway? Type yes to agree, once for this data directory: `,
    signal,
  );
  if (answer === null)
    throw new UsageError(
      `${option}: ${danger}. To agree, add ${flag}, or answer once in a terminal; \`npx callboard doctor\` says what is missing.`,
    );
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new UsageError(`${option}: not agreed, so nothing was started. ${instead}`);
  await saveAgreement(file, platform.now());
}

async function isAgreed({ file }: Risk): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    return Agreement.safeParse(JSON.parse(text)).success;
  } catch {
    return false; // cut off: it is asked again
  }
}

async function saveAgreement(file: string, now: Date): Promise<void> {
  await makeFolder(join(file, '..'));
  const agreement: z.infer<typeof Agreement> = { agreedAt: now.toISOString() };
  await writeFile(`${file}.new`, `${JSON.stringify(agreement)}\n`, { mode: 0o600 });
  await chmod(`${file}.new`, 0o600);
  await rename(`${file}.new`, file);
}

/** Longer than a supervisor takes to stop two servers that ignore SIGTERM. */
const SUPERVISOR_GRACE_MS = 15_000;
/** How long a killed process may take to disappear; the system may be busy. */
const KILLED_GRACE_MS = 5_000;
const POLL_MS = 50;

/** `callboard down`: ends the Callboard that runs on a data directory, and all its sessions. */
export const down: Command = {
  name: 'down',
  summary: 'Ends all sessions of a data directory, and the Callboard that runs on it.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    if (!(await dataDirExists(folder))) {
      platform.out(`There is nothing to end: ${folder} does not exist.`);
      return 0;
    }
    const supervisor = await findSupervisor(folder);
    if (supervisor !== null) {
      await endSupervisor(supervisor);
      platform.out(`Ended the Callboard that ran on ${folder} (process ${supervisor.pid}).`);
    }
    const log = (line: string) => platform.err(`callboard: ${line}`);
    const { ended, failed } = await platform.endAllSessions(folder, { log });
    platform.out(describe(ended));
    if (failed.length === 0) return 0;
    platform.err(`callboard: these could not be ended and are still running: ${failed.join(', ')}`);
    return 1;
  },
};

function describe(ended: number): string {
  if (ended === 0) return 'No session was running.';
  return ended === 1 ? 'Ended 1 session.' : `Ended ${ended} sessions.`;
}

async function endSupervisor(supervisor: SupervisorRecord): Promise<void> {
  try {
    process.kill(supervisor.pid, 'SIGTERM');
    if (await isGoneWithin(supervisor, SUPERVISOR_GRACE_MS)) return;
    process.kill(supervisor.pid, 'SIGKILL');
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return;
    throw new CliError(`Callboard (process ${supervisor.pid}) cannot be ended: ${messageOf(error)}.`);
  }
  if (!(await isGoneWithin(supervisor, KILLED_GRACE_MS))) {
    throw new CliError(`Callboard (process ${supervisor.pid}) was killed and is still running.`);
  }
}

/** Polls, since there is no event for the end of a process that is not a child. */
async function isGoneWithin(supervisor: SupervisorRecord, ms: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(ms);
  while (await isAlive(supervisor)) {
    if (deadline.aborted) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Whether the data directory exists. */
function dataDirExists(folder: string): Promise<boolean> {
  return exists(folder).catch((error: unknown) => {
    throw new CliError(`--data-dir: ${folder} cannot be read: ${messageOf(error)}.`);
  });
}

const NAMES: readonly string[] = ['port', 'host', 'orchestrator-port', 'claude', 'open', 'max-parallel'];

/** The options of `start` that make sense for a temporary board. */
const flags: readonly Flag[] = startFlags.filter(({ name }) => NAMES.includes(name));

/** `callboard demo`: a sample board on a scripted model that leaves nothing behind. */
export const demo: Command = {
  name: 'demo',
  summary: 'Shows a sample board with a scripted model: no account, no network, leaves nothing behind.',
  flags,
  run: async ({ given, platform }) => {
    const options = await parseOptions(given, platform);
    await requireGit(platform);
    const { runDemo } = await import('../demo/run-demo.ts'); // loaded here because no other command needs it
    const signals = platform.listenForStop();
    try {
      await runDemo(options, platform, signals);
      platform.err('callboard: the demo has ended and left nothing behind.');
      return 0;
    } finally {
      signals.release();
    }
  },
};

/** Returns the options of `start` with free ports, so that the demo works even if another program uses the default ones. */
async function parseOptions(given: Given, platform: Platform): Promise<StartOptions> {
  const options = parseStartOptions(given, platform);
  const { host, port, orchestratorPort } = options;
  const [isFree, isOtherFree] = await Promise.all([canListen(host, port), canListen(host, orchestratorPort)]);
  if (!isFree) platform.err(`callboard: port ${port} is taken; the demo takes a free one.`);
  if (!isOtherFree) platform.err(`callboard: port ${orchestratorPort} is taken; the demo takes a free one.`);
  return { ...options, port: isFree ? port : 0, orchestratorPort: isOtherFree ? orchestratorPort : 0 };
}

async function canListen(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  return promise;
}
