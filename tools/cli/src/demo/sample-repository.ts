import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { CliError } from '../errors.ts';
import { sampleCommits } from './sample-commits.ts';

const execute = promisify(execFile);

/** Overrides the machine's settings, and sets an identity, which git needs even to merge a stage. */
const SETTINGS = {
  'user.name': 'Callboard Demo',
  'user.email': 'demo@example.invalid',
  'commit.gpgsign': 'false',
  'core.autocrlf': 'false',
};

/**
 * Creates the sample repository.
 * @param env an environment without the user's settings: its HOME is the demo's
 * @throws CliError if git is missing or fails
 */
export async function makeSampleRepository(path: string, env: Environment): Promise<void> {
  const git = (...args: string[]) => execute('git', args, { cwd: path, env: { ...env } });
  await mkdir(path);
  try {
    await git('init', '--quiet');
    await git('symbolic-ref', 'HEAD', 'refs/heads/main'); // older versions of git lack `init --initial-branch`
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
    throw new CliError(`the sample repository cannot be made: ${messageOf(error)}`);
  }
}
