import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { claudeEnvironment, type ScriptedModel, startScriptedModel, writeEmulator } from '@callboard/scripted-model';
import { onTestFinished } from 'vitest';
import { createRepository } from '../../test-support/git.ts';
import { createQuickNpm } from '../../test-support/npm.ts';
import { type AtEnd, temporaryFolder } from '../../test-support/temporary-folder.ts';
import { waitFor } from '../../test-support/until.ts';
import { tokenEnv } from './api.ts';
import { processesOf } from './processes.ts';

/** What to run: a Node, and the command of an installation. */
export interface Program {
  readonly node: string;
  readonly bin: string;
}

const ofClone: Program = {
  node: process.execPath,
  bin: fileURLToPath(new URL('../../tools/cli/bin/callboard.js', import.meta.url)),
};

/** A start takes 6 s on a busy machine, and longer with chaos beside it; `doctor` took 15 s there. */
const slowStep = { withinMs: 60_000 };

/** Callboard as a user has it: the command, its servers, the real `claude`; with a scripted model, in its own folder. */
export interface Installation {
  readonly folder: string;
  readonly repo: string;
  readonly dataDir: string;
  /** HOME of everything that runs in it. */
  readonly home: string;
  readonly model: ScriptedModel;
  /** Starts it as `npm start` does and resolves when it is ready; on any free port, if none is given. */
  start(port?: number, other?: Program): Promise<Running>;
  /** Runs another command, for example `down`, and resolves with its output. */
  command(...args: string[]): Promise<{ code: number | null; output: string }>;
}

export interface Running {
  readonly supervisor: ChildProcess;
  /** The one-time link that was printed. */
  readonly loginLink: string;
  readonly origin: string;
  /** As Ctrl-C does. */
  stop(): Promise<void>;
}

/**
 * Removed when the test is over, with every process it has started; a process that is left fails the test. `emulator`
 * creates a program in a folder that replaces the real `claude`; `true` means the usual emulator.
 */
export async function install(
  extraEnv: Record<string, string> = {},
  atEnd: AtEnd = onTestFinished,
  emulator: boolean | ((folder: string) => Promise<string>) = false,
  program = ofClone,
): Promise<Installation> {
  const folder = await temporaryFolder(atEnd);
  const repo = await createRepository(join(folder, 'shop'));
  await mkdir(join(folder, 'tmp'));
  const dataDir = join(folder, 'data');
  const model = await startScriptedModel();
  atEnd(() => model.close());
  const path = `${await createQuickNpm(folder)}:${dirname(program.node)}:${process.env.PATH ?? ''}`;
  const emulate = emulator === true ? writeEmulator : emulator;
  const claude = emulate ? { CALLBOARD_CLAUDE_PATH: await emulate(join(folder, 'emulator')) } : {};
  const home = join(folder, 'home');
  const env = {
    ...claudeEnvironment(model.url, home, path),
    TMPDIR: join(folder, 'tmp'),
    ...tokenEnv,
    ...claude,
    ...extraEnv,
  };

  const callboard = ({ node, bin }: Program, ...args: string[]) =>
    spawn(node, [bin, ...args, '--data-dir', dataDir], { env, stdio: ['ignore', 'pipe', 'pipe'] });

  const installation: Installation = {
    folder,
    repo,
    dataDir,
    home,
    model,
    async start(port = 0, other = program) {
      const ports = ['--port', String(port), '--orchestrator-port', '0'];
      const child = callboard(other, 'start', '--repo', repo, '--no-open', ...ports);
      const said: string[] = [];
      child.stderr.on('data', (data) => said.push(String(data)));
      const exited = once(child, 'exit');
      const lines = createInterface({ input: child.stdout });
      const ready = Promise.race([once(lines, 'line'), exited.then(() => [''])]);
      const [line] = await waitFor('the login link of Callboard', ready, {
        ...slowStep,
        lastSeen: () => said.join(''),
      });
      const loginLink = /^Callboard ready: (\S+)$/.exec(String(line))?.[1];
      if (loginLink === undefined) throw new Error(`it did not start: ${said.join('')}`);
      const stop = async () => {
        child.kill('SIGINT');
        await waitFor('the end of Callboard', exited, { ...slowStep, lastSeen: () => said.join('') });
      };
      return { supervisor: child, loginLink, origin: new URL(loginLink).origin, stop };
    },
    async command(...args) {
      const child = callboard(program, ...args);
      const output: string[] = [];
      child.stdout.on('data', (data) => output.push(String(data)));
      child.stderr.on('data', (data) => output.push(String(data)));
      const limit = { ...slowStep, lastSeen: () => output.join('') };
      const [code] = await waitFor(`the end of callboard ${args.join(' ')}`, once(child, 'close'), limit);
      return { code, output: output.join('') };
    },
  };
  atEnd(async () => {
    const { code, output } = await installation.command('down');
    const left = await processesOf(folder);
    if (code !== 0 || left.length > 0) throw new Error(`left running: ${left.join('; ')} ${output}`);
  });
  return installation;
}
