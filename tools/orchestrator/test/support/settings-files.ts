import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { git } from '../../../../test-support/git.ts';
import { mcpServer } from '../../../../test-support/mcp-server.ts';

/** Writes files below a folder; what is no text becomes JSON. */
export async function write(folder: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** Writes them and commits them, and nothing else. */
export async function commit(repo: string, files: Readonly<Record<string, unknown>>): Promise<void> {
  await write(repo, files);
  await git(repo, 'add', '--force', '--', ...Object.keys(files));
  await git(repo, 'commit', '--quiet', '-m', 'Settings');
}

/** A folder in which commands of settings leave a file each, and how they do. */
export async function createMarks(folder: string) {
  const marks = join(folder, 'marks');
  await mkdir(marks, { recursive: true });
  return {
    /** A command that says that it was run. */
    command: (name: string) => `touch ${join(marks, name)}`,
    path: (name: string) => join(marks, name),
    /** What was run. */
    left: async () => (await readdir(marks)).toSorted(),
  };
}

/** A hook of a settings file. */
export const hook = (event: string, command: string) => ({
  hooks: { [event]: [{ hooks: [{ type: 'command', command }] }] },
});

/** The configuration of an MCP server that leaves a mark when it is started. */
export const markingServer = (name: string, mark: string) => ({ mcpServers: { [name]: mcpServer({ mark }) } });
