import { tmpdir, userInfo } from 'node:os';
import { gitEnvironment, runGit } from './run-git.ts';

/** Returns the name of the person at this machine: the one that git writes into commits, or that of the account; `owner` if it has none, or is root. */
export async function ownerName(env: Readonly<Record<string, string>>): Promise<string> {
  const { failed, stdout } = await runGit(tmpdir(), ['config', '--global', 'user.name'], gitEnvironment(env));
  const name = stdout.trim();
  if (!failed && name !== '') return name.slice(0, MAX_NAME_LENGTH);
  try {
    const { username } = userInfo();
    return username === 'root' ? 'owner' : username;
  } catch {
    return 'owner';
  }
}

const MAX_NAME_LENGTH = 60;
