import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kit } from './kit.ts';

/** Puts a hook into the kit's repository, and agrees to it as a person would on the board. */
export async function agreeToHook({ client, repo, projectId }: Kit, name: string, script: string): Promise<void> {
  const folder = join(repo, '.git', 'hooks');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
  const found = client.event('project-updated', ({ project }) => project.gitSettings.needed);
  await client.command('create_project', { path: repo }); // calls git, which notices the hook
  const { hash } = (await found).project.gitSettings;
  await client.command('agree_git_settings', { projectId, hash });
}
