import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { claudeEnvironment, type ScriptedModel, startScriptedModel } from '../src/index.ts';
import { type Claude, startClaude } from './claude.ts';

/** A scripted model, empty directories, and the real CLI between them. */
export type Lab = AsyncDisposable & {
  model: ScriptedModel;
  cwd: string;
  /** A directory that the CLI must ask for. */
  outside: string;
  start: (...args: string[]) => Claude;
};

/** Disposing the lab removes everything: processes, connections, files. */
export async function createLab(): Promise<Lab> {
  await using stack = new AsyncDisposableStack();
  const root = await temporaryFolder((end) => stack.defer(end));
  const [home, cwd, outside, temporary] = ['home', 'work', 'outside', 'tmp'].map((name) => path.join(root, name));
  if (!home || !cwd || !outside || !temporary) throw new Error('unreachable');
  await Promise.all([home, cwd, outside, temporary].map((directory) => mkdir(directory)));
  const model = await startScriptedModel();
  stack.defer(() => model.close());
  const env = { ...claudeEnvironment(model.url, home), TMPDIR: temporary };
  const claudes: Claude[] = [];
  stack.defer(async () => void (await Promise.all(claudes.map((claude) => claude.kill()))));
  const all = stack.move();
  return {
    model,
    cwd,
    outside,
    start(...args) {
      const claude = startClaude(cwd, env, args);
      claudes.push(claude);
      return claude;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
