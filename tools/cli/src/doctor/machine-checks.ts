import { stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { type SandboxSupport, shellQuote } from '@callboard/contract';
import {
  askLogin,
  type FileSystemProbe,
  findLogin,
  HandshakeCheck,
  HandshakeReport,
  type InstalledClaude,
  inspectClaude,
  inspectStore,
  type LoginSources,
  OLDEST_CLAUDE,
  probeFileSystem,
  tooOld,
} from '@callboard/orchestrator/doctor';
import { CertificateError, readCertificate } from '@callboard/runtime/certificate';
import { type Environment, userEnvironment } from '@callboard/runtime/environment';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { z } from 'zod';
import {
  boardOrigin,
  isCallboard,
  isLoopback,
  loopbackHost,
  type SharedStoreOptions,
} from '../command-line/start-options.ts';
import { explainFolderError } from '../data-folder.ts';
import { UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { runProgram } from '../run-program.ts';
import { findSharedStore, type SharedStore } from '../shared-store.ts';
import { askForProblems, findSupervisor } from '../supervisor/control-socket.ts';
import type { DoctorOptions } from './doctor-options.ts';

/** The `claude` that can be tried out. */
export type UsableClaude = InstalledClaude & { version: string };

/**
 * Checks everything but the conversation with `claude`, and passes each finding to `tell` as it comes.
 * @returns the `claude` to try out, or null if there is none
 */
export async function checkMachine(
  options: DoctorOptions,
  platform: Platform,
  notify: (check: MachineCheck) => void,
): Promise<UsableClaude | null> {
  const env = userEnvironment(platform.env);
  const check = async (id: string, name: string, finding: () => Finding | Promise<Finding>) =>
    notify(await runCheck(id, name, finding));
  let claude: UsableClaude | null = null;

  await check('node', 'Node', () => checkNode(platform.node.version, platform.node.path));
  await check('git', 'git', () => checkGit(env));
  await check('claude', 'Claude Code', async () => {
    const checked = await checkClaude(options.claude, platform.env);
    claude = checked.claude;
    return checked.finding;
  });
  const program = (claude as UsableClaude | null)?.path;
  const askClaude = async () => (program === undefined ? null : askLogin(program, platform.env));
  await check('login', 'Login', () => checkLogin({ env, home: platform.home, askClaude }));
  await check('sandbox', 'Sandbox', async () => checkSandbox(await platform.inspectSandbox(platform.env)));
  await checkPorts(options, check);
  await check('reach', 'Other machines', () => checkExposure(options, platform.now()));
  for (const result of await checkDataDir(options.dataDir)) notify(result);
  await check('store', 'Store', () => checkStore(options.sharedStore, options.dataDir, platform));
  await check('memory', 'Memory', () => checkMemory(platform.availableMemory()));
  await check('agent-user', 'Claude’s account', () => checkAgentUser(options.agentUser));
  for (const repo of options.repos) await check('repo', 'Repository', () => checkRepository(repo, env));
  return claude;
}

/** How long a running Callboard may take to say how it is. */
const ANSWER_MS = 2_000;

type Check = (id: string, name: string, finding: () => Finding | Promise<Finding>) => Promise<void>;

async function checkPorts({ dataDir, host, port, orchestratorPort }: DoctorOptions, check: Check): Promise<void> {
  const supervisor = await findSupervisor(dataDir).catch(() => null);
  const orchestrator = await findLockHolder(join(dataDir, 'run', 'orchestrator.json')).catch(() => null);
  const running = supervisor ?? orchestrator;
  await check('running', 'Callboard', async () => {
    if (running === null) return ok('does not run on this data directory');
    const where = running.port === 0 ? 'still starting' : `port ${running.port}`;
    const found = `runs on this data directory (process ${running.pid}, ${where})`;
    // One that does not answer, or is of an earlier release, has told nothing.
    const [cause] = supervisor === null ? [] : await askForProblems(dataDir, ANSWER_MS).catch(() => []);
    return cause === undefined
      ? ok(found)
      : problem(`${found}, but ${cause}`, 'Fix that, and it comes back up automatically');
  });
  const has = (holder: typeof running, number: number) => (holder?.port === number ? holder : null);
  await check('port', 'Port of the board', () => checkPort({ host, port, flag: '--port', own: has(supervisor, port) }));
  await check('orchestrator-port', 'Port between the servers', () =>
    checkPort({
      host: loopbackHost(host),
      port: orchestratorPort,
      flag: '--orchestrator-port',
      own: has(orchestrator, orchestratorPort),
    }),
  );
}

/** The `claude` that the user named: its absolute path, and where (`--claude`, or a variable). */
export interface GivenClaude {
  readonly path: string;
  readonly from: string;
}

const INSTALL = 'npm install -g @anthropic-ai/claude-code (or pass --claude PATH)';

/** Looks for `claude`. `claude` in the result is null if it cannot be run. */
export async function checkClaude(
  given: GivenClaude | null,
  env: Environment,
): Promise<{ finding: Finding; claude: (InstalledClaude & { version: string }) | null }> {
  let installed: InstalledClaude;
  try {
    installed = await inspectClaude(given?.path ?? null, env);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const found =
      given === null ? 'not found on PATH or in Callboard' : `${given.from}: there is no program at ${given.path}`;
    return { finding: problem(found, INSTALL), claude: null };
  }
  const { path, version, complaint } = installed;
  if (version === null) {
    const advice = `Try it: ${path} --version; reinstall it: npm install -g @anthropic-ai/claude-code`;
    return {
      finding: problem(`${path} (${locationOf(installed, given)}) does not report its version: ${complaint}`, advice),
      claude: null,
    };
  }
  if (tooOld({ path, version }) !== null) {
    const found = `${version}, ${path} (${locationOf(installed, given)}) is too old: Callboard needs ${OLDEST_CLAUDE} or newer`;
    return { finding: problem(found, 'claude update (or npm install -g @anthropic-ai/claude-code)'), claude: null };
  }
  return { finding: ok(`${version}, ${path} (${locationOf(installed, given)})`), claude: { ...installed, version } };
}

function locationOf({ where }: InstalledClaude, given: GivenClaude | null): string {
  switch (where) {
    case 'given':
      return `named by ${given?.from}`;
    case 'path':
      return 'on PATH';
    case 'bundled':
      return 'comes with Callboard; none is on PATH';
    default:
      return where satisfies never;
  }
}

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'claude_missing';

/** `problem`: Callboard will not work, or only in part. `warning`: it works, and this is worth knowing. */
const Verdict = z.enum(['ok', 'warning', 'problem']);

/** The result of one check of the machine. */
export const MachineCheck = z.object({
  id: z.string(),
  /** For people. */
  name: z.string(),
  verdict: Verdict,
  /** What was found, in one line. */
  found: z.string(),
  /** What to do, in one line; null if there is nothing to do. */
  advice: z.string().nullable(),
});
export type MachineCheck = z.infer<typeof MachineCheck>;

/** The result of a check that has no name yet. */
export type Finding = Omit<MachineCheck, 'id' | 'name'>;

export const ok = (found: string): Finding => ({ verdict: 'ok', found, advice: null });
export const warning = (found: string, advice: string): Finding => ({ verdict: 'warning', found, advice });
const problem = (found: string, advice: string): Finding => ({ verdict: 'problem', found, advice });

/** Runs a check and names its finding. A check that throws becomes a problem. Never rejects. */
export async function runCheck(
  id: string,
  name: string,
  check: () => Finding | Promise<Finding>,
): Promise<MachineCheck> {
  try {
    return { id, name, ...(await check()) };
  } catch (error) {
    const found = `could not be checked: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`;
    return { id, name, ...problem(found, 'Please report this as a bug in Callboard.') };
  }
}

/** All results of `callboard doctor`, as `--json` writes them. */
export const DoctorReport = z.object({
  /** Whether there is no problem and no broken promise. Warnings do not count. */
  ok: z.boolean(),
  checks: z.array(MachineCheck),
  /** Null if it was not tried. */
  handshake: HandshakeReport.nullable(),
  /** What the last earlier version of `claude` did and this one does not; null for nothing. */
  regression: z.object({ since: z.string(), lost: z.array(HandshakeCheck) }).nullable(),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

const GIGABYTE = 1_000_000_000;
const ELSEWHERE = 'Use a folder on another file system: --data-dir PATH';

/** Checks the data directory and its file system; if it is missing, the folder where it would be created. */
export async function checkDataDir(dataDir: string): Promise<MachineCheck[]> {
  const folder = await nearestFolder(dataDir);
  const probe = await probeFileSystem(folder).catch((error: unknown) => new Unusable(explainFolderError(error)));
  const own = await runCheck('data-dir', 'Data directory', () => checkFolder(dataDir, folder, probe));
  if (probe instanceof Unusable) return [own];
  return [
    own,
    await runCheck('disk-space', 'Disk space', () => checkSpace(folder)),
    await runCheck('fifo', 'Named pipes', () => judgeFifo(probe.fifo)),
    await runCheck('holes', 'Hole punching', () => judgeHoles(probe.holes)),
  ];
}

/** A folder that cannot be written to. */
class Unusable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

async function checkFolder(dataDir: string, folder: string, probe: FileSystemProbe | Unusable): Promise<Finding> {
  const isNew = folder !== dataDir;
  const { uid, mode } = await stat(folder);
  if (!isNew && uid !== process.geteuid?.()) {
    return problem(`${dataDir} belongs to another account`, `sudo chown -R "$(id -un)" ${shellQuote(dataDir)}`);
  }
  if (probe instanceof Unusable) {
    const what = isNew ? 'cannot be made' : 'cannot be used';
    return problem(`${dataDir} ${what}: ${probe.why}`, 'Use another folder: --data-dir PATH');
  }
  if (isNew) return ok(`${dataDir} does not exist yet; the first start makes it`);
  const permissions = (mode & 0o777).toString(8).padStart(4, '0');
  if (permissions === '0700') return ok(`${dataDir}, for its owner alone`);
  return warning(`${dataDir} is open to others (${permissions})`, `chmod 700 ${shellQuote(dataDir)}`);
}

/** @param free the bytes that `df` calls available; by default read from the file system */
export async function checkSpace(folder: string, free?: number): Promise<Finding> {
  const bytes = free ?? (await freeBytes(folder));
  const found = `${(bytes / GIGABYTE).toFixed(1)} GB free`;
  if (bytes >= GIGABYTE) return ok(found);
  return warning(
    `${found}; while the disk is full, what Claude prints is lost`,
    `Free some space: du -xh ${shellQuote(folder)} | sort -h | tail`,
  );
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @param complaint what failed, null for nothing */
export const judgeFifo = (complaint: string | null): Finding =>
  complaint === null
    ? ok('work here; sessions survive a restart of Callboard')
    : problem(`do not work here (${complaint}); sessions cannot be started`, ELSEWHERE);

/** @param complaint what failed, null for nothing */
export const judgeHoles = (complaint: string | null): Finding =>
  complaint === null
    ? ok('works here; long sessions return disk space')
    : warning(`does not work here (${complaint}); the files of long sessions grow until they end`, ELSEWHERE);

/** Returns the folder itself, or the nearest existing one above it. */
async function nearestFolder(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR';
    if (!isMissing || dirname(path) === path) return path;
    return nearestFolder(dirname(path));
  }
}

const LOG_IN = 'Run `claude` in a terminal and log in, or set ANTHROPIC_API_KEY';
const UNTESTED = 'the first message will show whether it is valid';

/** Checks whether `claude` has a login, as far as that can be told without the network. Never shows a secret. */
export async function checkLogin(sources: LoginSources): Promise<Finding> {
  const { state, what, gateway } = await findLogin(sources);
  const through = gateway === null ? '' : `, through ${gateway}`;
  if (state === 'found') return ok(`${what}${through}; ${UNTESTED}`);
  if (gateway !== null)
    return warning(`no key${through}; the gateway may not need one, which cannot be checked here`, LOG_IN);
  if (state === 'unknown') return warning('no login was found; there may be one that cannot be checked here', LOG_IN);
  return problem('claude is not logged in, and there is no API key', LOG_IN);
}

export interface PortToCheck {
  readonly host: string;
  readonly port: number;
  /** The flag that sets this port. */
  readonly flag: string;
  /** The Callboard of the data directory, if it runs on this port. */
  readonly own: { pid: number } | null;
}

/** Checks whether a port is free, and if not, who uses it. */
export async function checkPort({ host, port, flag, own }: PortToCheck): Promise<Finding> {
  if (port === 0) return ok('any free one');
  if (own !== null) return ok(`${port}, used by the Callboard that runs on this data directory (process ${own.pid})`);
  const cause = await tryToListen(host, port);
  if (cause === null) return ok(`${port} is free`);
  const another = `callboard start ${flag} ${port < 65_000 ? port + 100 : port - 100}`;
  switch (systemCode(cause)) {
    case 'EADDRINUSE': {
      const who = (await isCallboard(host, port)) ? 'a Callboard with another data directory' : 'another program';
      return problem(`${port} is used by ${who}`, `End that one, or take another port: ${another}`);
    }
    case 'EACCES':
      return problem(`this account may not use port ${port} (below 1024)`, another);
    case 'EADDRNOTAVAIL':
      return problem(`${host} is not an address of this machine`, 'Use --host 127.0.0.1');
    default:
      return problem(`${port} cannot be listened on: ${messageOf(cause)}`, another);
  }
}

async function tryToListen(host: string, port: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const server = createServer();
  server.once('error', resolve);
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  return promise;
}

const SOON_MS = 14 * 24 * 3_600_000;

/** Checks how people reach the board from other machines: the certificate, and who may speak for others. */
export async function checkExposure(
  options: Pick<DoctorOptions, 'host' | 'port' | 'exposure'>,
  now: Date,
): Promise<Finding> {
  const { host, port, exposure } = options;
  const { tls, proxies, publicUrl } = exposure;
  const at = boardOrigin(options, port);
  if (tls !== null) return checkCertificate(tls, at, now);
  if (proxies.length > 0) return ok(`${at}, through the proxy at ${proxies.join(', ')}`);
  if (publicUrl !== null) return ok(`${at}, through a tunnel`);
  return ok(isLoopback(host) ? 'none: the board listens on this machine only' : at);
}

async function checkCertificate(files: { cert: string; key: string }, at: string, now: Date): Promise<Finding> {
  try {
    const { validUntil } = await readCertificate(files);
    const day = validUntil.toISOString().slice(0, 10);
    const leftMs = validUntil.getTime() - now.getTime();
    if (leftMs < 0) return problem(`the certificate in ${files.cert} was valid until ${day}`, RENEW);
    const found = `${at}, with a certificate that is valid until ${day}`;
    return leftMs < SOON_MS ? warning(found, RENEW) : ok(found);
  } catch (error) {
    if (error instanceof CertificateError) return problem(error.message, 'Name a certificate and its key in PEM');
    throw error;
  }
}

const RENEW = 'Renew the certificate: Callboard reads the new one by itself';

const Settings = z.object({ permissions: z.object({ allow: z.array(z.string()).min(1) }) });

/**
 * Checks whether stages can be started in the repository of a folder.
 * @param env the user's own environment, which git gets as well
 */
export async function checkRepository(path: string, env: Environment): Promise<Finding> {
  const git = (...args: string[]) => runProgram('git', ['-C', path, ...args], env);
  const top = await git('rev-parse', '--show-toplevel');
  if (top.exitCode === null)
    return problem('could not be checked: git was not found', 'Install git: https://git-scm.com/downloads');
  if (top.exitCode !== 0) return noRepository(path, top.stderr);
  if (top.stdout === '')
    return problem(
      `${path} is a repository without a working tree`,
      `git clone ${shellQuote(path)} and name the clone`,
    );
  const head = await git('log', '-1', '--format=%h %s');
  if (head.exitCode !== 0) {
    const advice = `git -C ${shellQuote(top.stdout)} add -A && git -C ${shellQuote(top.stdout)} commit -m "First commit"`;
    return problem(`${top.stdout} has no commit yet, so no worktree can be made from it`, advice);
  }
  const ignored = await ignoredRules(git);
  const found = `${top.stdout}, at ${head.stdout.slice(0, 60)}`;
  if (ignored.length === 0) return ok(found);
  const rules = `${ignored.slice(0, 3).join(', ')}${ignored.length > 3 ? ', ...' : ''}`;
  return warning(
    `${found}; Claude Code ignores what its .claude/settings.json allows (${rules}), because it does not know a stage's worktree yet`,
    'Allow these on the board when Claude asks, with "always"',
  );
}

function noRepository(path: string, complaint: string): Finding {
  if (/cannot change to/.test(complaint)) return problem(`there is no folder ${path}`, 'Name another one: --repo PATH');
  if (/dubious ownership/.test(complaint)) {
    return problem(
      `${path} belongs to another account: git refuses to use it`,
      `git config --global --add safe.directory ${shellQuote(path)}`,
    );
  }
  if (/not a git repository/.test(complaint)) {
    return problem(
      `${path} is not in a git repository`,
      `Name another one, or make one here: git -C ${shellQuote(path)} init`,
    );
  }
  return problem(
    `${path}: git says ${JSON.stringify(complaint.split('\n', 1)[0])}`,
    `git -C ${shellQuote(path)} status`,
  );
}

/** Returns the rules in the settings that a new worktree would have: those of the newest commit. */
async function ignoredRules(git: (...args: string[]) => Promise<{ stdout: string }>): Promise<string[]> {
  const { stdout } = await git('show', 'HEAD:.claude/settings.json');
  try {
    return Settings.safeParse(JSON.parse(stdout)).data?.permissions.allow ?? [];
  } catch {
    return [];
  }
}

/** The same number as in bin/callboard.js, which looks for a Node that is new enough. */
const OLDEST_NODE = 24;

export function checkNode(version: string, path: string): Finding {
  if (Number(version.split('.')[0]) >= OLDEST_NODE) return ok(`${version} (${path})`);
  return problem(
    `${version} (${path}); Callboard needs ${OLDEST_NODE} or newer`,
    'npm install (in the folder of Callboard)',
  );
}

const UPDATE_GIT = 'Install a newer git: https://git-scm.com/downloads';

/** @param env the user's own environment, which git gets as well */
export async function checkGit(env: Environment): Promise<Finding> {
  const { exitCode, stdout } = await runProgram('git', ['--version'], env);
  if (exitCode === null) return problem('not found', 'Install git: https://git-scm.com/downloads');
  const [version, major, minor] = /(\d+)\.(\d+)[.\d]*/.exec(stdout) ?? [];
  if (version === undefined) return warning(`unknown version: it prints ${JSON.stringify(stdout)}`, UPDATE_GIT);
  const number = Number(major) * 1_000 + Number(minor);
  if (number < 2_005) return problem(`${version} has no worktrees; Callboard needs 2.5 or newer`, UPDATE_GIT);
  if (number < 2_030) return warning(`${version}; Callboard is tested with 2.30 or newer`, UPDATE_GIT);
  return ok(version);
}

/** @param support the result of a command that was run in Claude Code's sandbox */
export function checkSandbox({ state, why, how }: SandboxSupport): Finding {
  if (state === 'works') return ok('works: a command ran in it');
  const advice = how ?? 'Sessions run without it: a forged answer is then noticed, not prevented.';
  return warning(`does not work. ${why ?? ''}`.trim(), advice);
}

const MEGABYTE = 1_000_000;
/** The memory of one session (measured: 162 to 219 MB). */
const PER_SESSION = 210 * MEGABYTE;
const ENOUGH_SESSIONS = 3;

/** @param available bytes that this machine, or the limit on this process, can still provide */
export function checkMemory(available: number): Finding {
  const sessions = Math.floor(available / PER_SESSION);
  const found = `${sizeOf(available)} free, enough for about ${sessions === 1 ? '1 session' : `${sessions} sessions`} at once`;
  if (sessions >= ENOUGH_SESSIONS) return ok(found);
  return warning(
    found,
    `Close other programs, or start fewer at once: callboard start --max-parallel ${Math.max(sessions, 1)}`,
  );
}

const sizeOf = (bytes: number) =>
  bytes >= 1_000 * MEGABYTE ? `${(bytes / (1_000 * MEGABYTE)).toFixed(1)} GB` : `${Math.floor(bytes / MEGABYTE)} MB`;

/** @param user the account of `--agent-user`, null for none */
export function checkAgentUser(user: string | null): Finding {
  if (user === null) return ok('claude runs as yourself');
  return problem(`running claude as ${user} is not supported yet`, 'Leave out --agent-user (CALLBOARD_AGENT_USER)');
}

const ADVICE = 'Fix that, or start with the URL that belongs to this data directory, or without any';

async function askServer(dataDir: string, { url }: SharedStore): Promise<string> {
  const commands = await import('@callboard/store-postgres/commands');
  return commands.askServer({ dataDir, databaseUrl: url });
}

/** Checks that the store is where a start looks for it, and that a shared one answers. Shows no secret. */
export async function checkStore(
  given: Pick<SharedStoreOptions, 'url' | 'isPiped'>,
  dataDir: string,
  platform: Pick<Platform, 'input'>,
): Promise<Finding> {
  try {
    const shared = await findSharedStore(given, dataDir, platform);
    const { storageError, server } = await inspectStore(dataDir, shared && (() => askServer(dataDir, shared)));
    if (shared === null)
      return storageError === null ? ok('a file in the data directory') : problem(storageError, ADVICE);
    return storageError === null
      ? ok(`${shared.name}, PostgreSQL ${server}`)
      : problem(`${shared.name}: ${storageError}`, ADVICE);
  } catch (error) {
    if (error instanceof UsageError) return problem(error.message, ADVICE);
    throw error;
  }
}
