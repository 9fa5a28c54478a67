import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { git } from '../../../../test-support/git.ts';
import { mcpServer } from '../../../../test-support/mcp-server.ts';

/** Writes files below a folder; content that is not a string becomes JSON. */
export async function write(folder: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** Writes these files and commits only them. */
export async function commit(repo: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  await write(repo, files);
  await git(repo, 'add', '--force', '--', ...Object.keys(files));
  await git(repo, 'commit', '--quiet', '-m', 'Settings');
}

/** Creates a folder in which each command from a settings file leaves a mark, a file of its name. */
export async function createMarks(folder: string) {
  const marks = join(folder, 'marks');
  await mkdir(marks, { recursive: true });
  return {
    /** Returns a command that leaves a mark when it runs. */
    command: (name: string) => `touch ${join(marks, name)}`,
    path: (name: string) => join(marks, name),
    /** Resolves with the names of the commands that ran. */
    left: async () => (await readdir(marks)).toSorted(),
  };
}

/** A hook of a settings file. */
export const hook = (event: string, command: string) => ({
  hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] },
});

/** The configuration of an MCP server that leaves a mark when it starts. */
export const markingServer = (name: string, mark: string) => ({ mcpServers: { [name]: mcpServer({ mark }) } });
