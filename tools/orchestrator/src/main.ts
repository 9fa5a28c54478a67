import { logLevel } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { type NotifySupervisor, runSupervised } from '@callboard/runtime/supervised-server';
import { OrchestratorConfig, type StartFailure, type ToServer } from '@callboard/runtime/supervision';
import { pino } from 'pino';
import { type ComposeOptions, type Orchestrator, startOrchestrator } from './compose.ts';
import { AppError } from './lib/errors.ts';

/** Failures that a retry cannot fix. */
const FATAL = new Set([
  'data_dir_in_use',
  'data_dir_unwritable',
  'store_elsewhere',
  'storage_failed',
  'database_newer',
  'database_damaged',
  'port_in_use',
  'agent_user_unsupported',
  'not_a_repository',
  'no_commits',
]);

const log = pino({ name: 'orchestrator', level: logLevel(process.env) }, pino.destination({ fd: 2, sync: true }));

/** Runs the orchestrator as the supervisor's child. @param addOns what it may load */
export function runOrchestrator(addOns: Pick<ComposeOptions, 'loadSharedStores'>): void {
  const notify = runSupervised<OrchestratorConfig, Orchestrator>({
    name: 'orchestrator',
    Config: OrchestratorConfig,
    start: async (config) => {
      const onCodeUsed = (codeSha256: string) => void notify({ type: 'login-used', codeSha256 });
      const onUpdate = (text: string) => void notify({ type: 'notice', text });
      const crash = () => void notify({ type: 'crash' });
      const reports = { onCodeUsed, onUpdate, onLost, crash };
      const orchestrator = await startOrchestrator(config, { ...addOns, log, env: process.env, ...reports });
      const { repositoryHere } = orchestrator;
      if (repositoryHere !== null) await notify({ type: 'repository-found', path: repositoryHere });
      return orchestrator;
    },
    explainFailure,
    onMessage(message, orchestrator) {
      if (message.type === 'create-login' && orchestrator !== undefined)
        void createLogin(message, orchestrator, notify);
      if (message.type === 'add-project' && orchestrator !== undefined)
        void addProject(message.path, orchestrator, notify);
    },
    log,
  });
}

/** The supervisor starts it again: then it settles what became of its stages, and reads on in the spools from where the store is. */
function onLost(reason: string): void {
  log.error({ reason }, 'starting again');
  process.exit(1);
}

function explainFailure(error: unknown): StartFailure | null {
  if (!(error instanceof AppError)) return null;
  const { code, message } = error;
  return { code, message, fatal: FATAL.has(code) };
}

async function addProject(path: string, orchestrator: Promise<Orchestrator>, notify: NotifySupervisor): Promise<void> {
  const text = await orchestrator
    .then(({ addProject: add }) => add(path))
    .then(
      () => `added ${path} as a project.`,
      (error: unknown) => `${path} was not added: ${messageOf(error)}`,
    );
  await notify({ type: 'notice', text });
}

async function createLogin(
  { id, terminal, heldFile }: Extract<ToServer, { type: 'create-login' }>,
  orchestrator: Promise<Orchestrator>,
  notify: NotifySupervisor,
): Promise<void> {
  try {
    const { createLoginCode, createTerminalLogin, requireCaller } = await orchestrator;
    if (heldFile !== null) await requireCaller(heldFile, terminal === null ? 'browser' : 'terminal');
    const code = await (terminal === null ? createLoginCode() : createTerminalLogin(terminal));
    await notify({ type: 'login-created', id, code });
  } catch (error) {
    log.error({ err: error }, 'login not created');
    await notify({ type: 'login-failed', id, message: messageOf(error) });
  }
}
