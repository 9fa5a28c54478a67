import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@callboard/runtime/errors';
import type { Environment } from '../edges.ts';
import { OperationalError } from '../errors.ts';
import { sampleCommits } from './sample-files.ts';

const execute = promisify(execFile);

/** What a machine's own settings may not change, and an identity, which git wants even for the merge of a stage. */
const SETTINGS = {
  'user.name': 'Callboard Demo',
  'user.email': 'demo@example.invalid',
  'commit.gpgsign': 'false',
  'core.autocrlf': 'false',
};

/**
 * Makes the sample repository.
 * @param env without settings of the user's: its HOME is the demo's
 * @throws OperationalError when git is missing or refuses
 */
export async function makeSampleRepository(path: string, env: Environment): Promise<void> {
  const git = (...args: string[]) => execute('git', args, { cwd: path, env: { ...env } });
  await mkdir(path);
  try {
    await git('init', '--quiet');
    await git('symbolic-ref', 'HEAD', 'refs/heads/main'); // `init --initial-branch` is younger than some gits
    for (const [name, value] of Object.entries(SETTINGS)) await git('config', name, value);
    for (const { message, files } of sampleCommits) {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), text);
      }
      await git('add', '--all');
      await git('commit', '--quiet', '--message', message);
    }
  } catch (error) {
    throw new OperationalError(`the sample repository cannot be made: ${messageOf(error)}`);
  }
}
