import { join } from 'node:path';
import { askLogin, type InstalledClaude } from '@callboard/orchestrator/doctor';
import { userEnvironment } from '@callboard/runtime/environment';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { loopbackHost } from '../board-address.ts';
import type { Platform } from '../edges.ts';
import { askForProblems } from '../supervisor/control-socket.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import { checkClaude } from './claude-check.ts';
import { checkDataDir } from './data-dir-check.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { checkLogin } from './login-check.ts';
import { checkPort } from './port-check.ts';
import { checkExposure } from './reach-check.ts';
import { checkRepository } from './repo-check.ts';
import { type Finding, type MachineCheck, ok, problem, runCheck } from './report.ts';
import { checkAgentUser, checkGit, checkMemory, checkNode, checkSandbox } from './simple-checks.ts';
import { checkStore } from './store-check.ts';

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
