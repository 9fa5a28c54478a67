import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspectClaude } from '@callboard/orchestrator/doctor';
import { messageOf } from '@callboard/runtime/errors';
import { untilAborted } from '@callboard/runtime/waits';
import { claudeEnvironment, parseScripts, startScriptedModel } from '@callboard/scripted-model';
import type { Platform } from '../edges.ts';
import { CliError } from '../errors.ts';
import { explainStartFailure } from '../explain-start-failure.ts';
import { offerLoginLinks } from '../login-links.ts';
import { inPackage } from '../package-files.ts';
import type { StartOptions } from '../start-options.ts';
import type { StopSignals } from '../stop-signals.ts';
import { serveControl } from '../supervisor/control-socket.ts';
import { createSupervisor } from '../supervisor/supervisor.ts';
import { acquireSupervisorLock } from '../supervisor/supervisor-lock.ts';
import { cleanUp, demoLayout, startCleanUpGuard } from './clean-up.ts';
import { fillBoard } from './fill-board.ts';
import { makeSampleRepository } from './sample-repository.ts';

const NO_LOGIN =
  'this is a demo, which leaves nothing behind, so no terminal can log in to it. Use its board, or log in to one that callboard start runs.';

const SCRIPTS = inPackage('demo/scripts.yaml');

/** Runs the demo until it is stopped. Leaves neither processes nor files behind. */
export async function runDemo(given: StartOptions, platform: Platform, signals: StopSignals): Promise<void> {
  const claudePath = await requireClaude(given, platform);
  await using stack = new AsyncDisposableStack();
  const root = await makeFolder(stack, platform);
  const { dataDir, repository, home, tmp } = demoLayout(root);
  for (const folder of [dataDir, home, tmp]) await mkdir(folder, { mode: 0o700 });
  const model = await startScriptedModel({ scripts: parseScripts(await readFile(SCRIPTS, 'utf8')), maxRequests: 1 });
  stack.defer(model.close);
  const env = { ...claudeEnvironment(model.url, home, platform.env.PATH), TMPDIR: tmp };
  await makeSampleRepository(repository, env);

  const token = randomBytes(32).toString('base64url');
  const tokenSha256 = createHash('sha256').update(token, 'utf8').digest('hex');
  const options = { ...given, claudePath, dataDir, repos: [repository], tokenSha256 };
  const lock = await acquireSupervisorLock(dataDir, options.port, platform.now());
  stack.defer(lock.release);
  const log = (line: string) => platform.err(`callboard: ${line}`);
  const supervisor = createSupervisor({ options, servers: platform.servers, env, log, isTakeover: false });
  stack.defer(supervisor.stop);
  signals.kill.addEventListener('abort', supervisor.kill, { once: true });
  try {
    const { port, loginLink } = await supervisor.start(signals.stop);
    await lock.setPort(port);
    if (!(await fill(loginLink, token, signals.stop)))
      log('a prepared stage is not finished yet; it continues on its own.');
    const closeControl = await serveControl(dataDir, {
      createLink: () => supervisor.createLink(signals.stop),
      listProblems: supervisor.problems,
      logIn: () => {
        throw new CliError(NO_LOGIN);
      },
    }).catch((error: unknown) => log(`callboard link will not work with this demo: ${messageOf(error)}`));
    if (closeControl) stack.defer(closeControl);
    const links = await offerLoginLinks({ supervisor, loginLink, options, stop: signals.stop }, platform);
    stack.defer(links);
    log(`another login link from another terminal: npx callboard link --data-dir ${dataDir}`);
    platform.out('This is a demo: a script plays Claude. Ctrl-C ends the demo and removes everything.');
    await untilAborted(signals.stop);
  } catch (error) {
    if (!signals.stop.aborted) throw await explainStartFailure(error, options);
  }
}

async function fill(loginLink: string, token: string, signal: AbortSignal): Promise<boolean> {
  return fillBoard(new URL(loginLink).origin, token, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new CliError(`the sample board cannot be filled: ${messageOf(error)}`);
  });
}

/** Finds `claude` before anything starts: without it there is nothing to show. */
async function requireClaude({ claudePath }: StartOptions, { env }: Platform): Promise<string> {
  const { path, version, complaint } = await inspectClaude(claudePath, env).catch((error: unknown) => {
    throw new CliError(messageOf(error));
  });
  if (version === null) throw new CliError(`${path} cannot be used: ${complaint}`);
  return path;
}

/** Creates the demo's folder. Its disposal runs last: by then everything in it has ended except the sessions. */
async function makeFolder(stack: AsyncDisposableStack, { endAllSessions, err }: Platform): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'callboard-demo-')));
  const dismissGuard = await startCleanUpGuard(root);
  stack.defer(async () => {
    const failed = await cleanUp(root, endAllSessions);
    if (failed.length > 0)
      err(`callboard: these could not be ended and are still running: ${failed.join(', ')}; see ${root}`);
    await dismissGuard();
  });
  return root;
}
