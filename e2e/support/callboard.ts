import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { writeEmulator } from '@callboard/lab/emulator';
import { claudeEnvironment, type ScriptedModel, startScriptedModel } from '@callboard/scripted-model';
import { onTestFinished } from 'vitest';
import { createRepository } from '../../test-support/git.ts';
import { type InTerminal, inTerminal } from '../../test-support/in-terminal.ts';
import { knowClaude } from '../../test-support/known-claude.ts';
import { createQuickNpm } from '../../test-support/npm.ts';
import { type AtEnd, temporaryFolder } from '../../test-support/temporary-folder.ts';
import { waitFor } from '../../test-support/until.ts';
import { withoutRunner } from '../../test-support/without-runner.ts';
import { isFresh } from '../../tools/cli/bin/sources.js';
import { tokenEnv } from './api.ts';
import { processesOf } from './processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What to run: a Node with its flags, and the command of an installation. */
export interface Program {
  readonly node: string;
  readonly flags?: readonly string[];
  readonly bin: string;
}

/** What `tools/cli/bin/callboard.js` of this clone becomes once it has looked whether all is built, which is looked at once here. */
export const ofClone: Program = {
  node: process.execPath,
  flags: ['--disable-sigusr1', '--max-semi-space-size=1'],
  bin: join(ROOT, 'tools', 'cli', 'dist', 'main.js'),
};

let isBuilt = false;

/** Builds this clone if its sources have changed. */
function requireBuild(): void {
  if (isBuilt) return;
  if (!isFresh(ROOT))
    execFileSync(process.execPath, [join(ROOT, 'scripts', 'build.ts')], { env: withoutRunner(), stdio: 'ignore' });
  isBuilt = true;
}

/** A start takes 6 s on a busy machine, and has taken 74 s with chaos beside it and a load of 25; `doctor` took 15 s there. */
const slowStep = { withinMs: 120_000 };

/** Callboard as a user has it: the command, its servers, the real `claude`; with a scripted model, in its own folder. */
export interface Installation {
  readonly folder: string;
  readonly repo: string;
  readonly dataDir: string;
  /** HOME of everything that runs in it. */
  readonly home: string;
  readonly model: ScriptedModel;
  /** Starts it as `npm start` does and resolves when it is ready; on any free port, if none is given; with more options. */
  start(port?: number, other?: Program, options?: readonly string[]): Promise<Running>;
  /** The command line that ends everything in it. */
  readonly down: readonly string[];
  /** Runs another command, for example `down`, and resolves with its output. */
  command(...args: string[]): Promise<{ code: number | null; output: string }>;
  /** Runs a command in a terminal of its own. */
  inTerminal(...args: string[]): InTerminal;
}

export interface Running {
  readonly supervisor: ChildProcess;
  /** The one-time link that was printed. */
  readonly loginLink: string;
  readonly origin: string;
  /** As Ctrl-C does. */
  stop(): Promise<void>;
}

type Emulator = boolean | ((folder: string) => Promise<string>);

/** Where it runs, and with which `claude`. */
async function environment(given: {
  folder: string;
  dataDir: string;
  home: string;
  modelUrl: string;
  node: string;
  emulator: Emulator;
  extraEnv: Record<string, string>;
}): Promise<Record<string, string>> {
  const { folder, dataDir, home, modelUrl, node, emulator, extraEnv } = given;
  const path = `${await createQuickNpm(folder)}:${dirname(node)}:${process.env.PATH ?? ''}`;
  const emulate = emulator === true ? writeEmulator : emulator;
  const claude: Record<string, string> = emulate
    ? { CALLBOARD_CLAUDE_PATH: await emulate(join(folder, 'emulator')) }
    : {};
  if (!emulate && extraEnv.CALLBOARD_CLAUDE_PATH === undefined) await knowClaude(dataDir);
  return {
    ...claudeEnvironment(modelUrl, home, path),
    TMPDIR: join(folder, 'tmp'),
    ...tokenEnv,
    ...claude,
    ...extraEnv,
  };
}

/**
 * Removed when the test is over, with every process it has started; a process that is left fails the test. `emulator`
 * creates a program in a folder that replaces the real `claude`; `true` means the usual emulator.
 */
export async function install(
  extraEnv: Record<string, string> = {},
  atEnd: AtEnd = onTestFinished,
  emulator: Emulator = false,
  program = ofClone,
): Promise<Installation> {
  if (program === ofClone) requireBuild();
  const folder = await temporaryFolder(atEnd);
  const repo = await createRepository(join(folder, 'shop'));
  await mkdir(join(folder, 'tmp'));
  const dataDir = join(folder, 'data');
  const model = await startScriptedModel();
  atEnd(() => model.close());
  const home = join(folder, 'home');
  const env = await environment({ folder, dataDir, home, modelUrl: model.url, node: program.node, emulator, extraEnv });
  const commandLine = ({ node, flags = [], bin }: Program, ...args: string[]) =>
    [node, ...flags, bin, ...args, '--data-dir', dataDir] as const;
  const callboard = (which: Program, ...given: string[]) => {
    const [node, ...args] = commandLine(which, ...given);
    return spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  };

  const installation: Installation = {
    folder,
    repo,
    dataDir,
    home,
    model,
    down: commandLine(program, 'down'),
    async start(port = 0, other = program, options = []) {
      const ports = ['--port', String(port), '--orchestrator-port', '0'];
      const child = callboard(other, 'start', '--repo', repo, '--no-open', ...ports, ...options);
      const said: string[] = [];
      child.stderr.on('data', (data) => said.push(String(data)));
      const exited = once(child, 'exit');
      const lines = createInterface({ input: child.stdout });
      const ready = Promise.race([once(lines, 'line'), exited.then(() => [''])]);
      const [line] = await waitFor('the login link of Callboard', ready, {
        ...slowStep,
        lastSeen: () => said.join(''),
      }).catch(async (error: unknown) => {
        child.kill('SIGKILL'); // it would keep the next one from starting, and nobody knows of it
        await exited;
        throw error;
      });
      const loginLink = /^Callboard ready: (\S+)$/.exec(String(line))?.[1];
      if (loginLink === undefined) throw new Error(`it did not start: ${said.join('')}`);
      const stop = async () => {
        child.kill('SIGINT');
        await waitFor('the end of Callboard', exited, { ...slowStep, lastSeen: () => said.join('') });
      };
      return { supervisor: child, loginLink, origin: new URL(loginLink).origin, stop };
    },
    inTerminal: (...args) => inTerminal(commandLine(program, ...args).join(' '), { ...env, TERM: 'xterm' }),
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
    if ((await processesOf(folder)).length === 0) return; // no session is left to end
    const { code, output } = await installation.command('down');
    const left = await processesOf(folder);
    if (code !== 0 || left.length > 0) throw new Error(`left running: ${left.join('; ')} ${output}`);
  });
  return installation;
}
