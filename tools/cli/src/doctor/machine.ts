import { join } from 'node:path';
import { askLogin, type InstalledClaude, inspectSandbox, userEnvironment } from '@callboard/orchestrator/doctor';
import { findLockHolder } from '@callboard/runtime/process-lock';
import type { Edges } from '../edges.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import { checkAgentUser } from './agent-user-check.ts';
import { checkClaude } from './claude-check.ts';
import { checkDataDir } from './data-dir-check.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { checkGit } from './git-check.ts';
import { checkLogin } from './login-check.ts';
import { type Finding, type MachineCheck, named, ok } from './machine-check.ts';
import { checkMemory } from './memory-check.ts';
import { checkNode } from './node-check.ts';
import { checkPort } from './port-check.ts';
import { checkRepository } from './repo-check.ts';
import { checkSandbox } from './sandbox-check.ts';

/** The `claude` that can be tried out. */
export type UsableClaude = InstalledClaude & { version: string };

/** Looks at everything but the conversation with `claude`; tells each finding as it comes. */
export async function lookAtMachine(
  options: DoctorOptions,
  edges: Edges,
  tell: (check: MachineCheck) => void,
): Promise<UsableClaude | null> {
  const env = userEnvironment(edges.env);
  const look = async (id: string, name: string, finding: () => Finding | Promise<Finding>) =>
    tell(await named(id, name, finding));
  let claude: UsableClaude | null = null;

  await look('node', 'Node', () => checkNode(edges.node.version, edges.node.path));
  await look('git', 'git', () => checkGit(env));
  await look('claude', 'Claude Code', async () => {
    const checked = await checkClaude(options.claude, edges.env);
    claude = checked.claude;
    return checked.finding;
  });
  const program = (claude as UsableClaude | null)?.path;
  const askClaude = async () => (program === undefined ? null : askLogin(program, edges.env));
  await look('login', 'Login', () => checkLogin({ env, home: edges.home, askClaude }));
  await look('sandbox', 'Sandbox', async () => checkSandbox(await inspectSandbox(edges.env, isRoot())));
  await lookAtPorts(options, look);
  for (const check of await checkDataDir(options.dataDir)) tell(check);
  await look('memory', 'Memory', () => checkMemory(edges.availableMemory()));
  await look('agent-user', 'Account of claude', () => checkAgentUser(options.agentUser));
  for (const repo of options.repos) await look('repo', 'Repository', () => checkRepository(repo, env));
  return claude;
}

const isRoot = (): boolean => process.geteuid?.() === 0;

type Look = (id: string, name: string, finding: () => Finding | Promise<Finding>) => Promise<void>;

async function lookAtPorts({ dataDir, host, port, orchestratorPort }: DoctorOptions, look: Look): Promise<void> {
  const supervisor = await findSupervisor(dataDir).catch(() => null);
  const orchestrator = await findLockHolder(join(dataDir, 'run', 'orchestrator.json')).catch(() => null);
  const running = supervisor ?? orchestrator;
  await look('running', 'Callboard', () => {
    if (running === null) return ok('does not run on this data directory');
    const where = running.port === 0 ? 'still starting' : `port ${running.port}`;
    return ok(`runs on this data directory (process ${running.pid}, ${where})`);
  });
  const has = (holder: typeof running, number: number) => (holder?.port === number ? holder : null);
  await look('port', 'Port of the board', () => checkPort({ host, port, flag: '--port', own: has(supervisor, port) }));
  await look('orchestrator-port', 'Port between the servers', () =>
    checkPort({ host, port: orchestratorPort, flag: '--orchestrator-port', own: has(orchestrator, orchestratorPort) }),
  );
}
