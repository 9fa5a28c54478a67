import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationalError } from '../../lib/errors.ts';

/**
 * Finds the `claude` to run: the configured one, else the first on the user's own PATH, else the one in a
 * `node_modules/.bin` above this file.
 * @throws OperationalError `claude_missing` that says what to do
 */
export async function findClaude(configured: string | null, userPath: string | undefined): Promise<string> {
  if (configured !== null) {
    if (await isExecutable(configured)) return configured;
    throw new OperationalError(
      'claude_missing',
      `There is no program at ${configured}. Pass the path of the claude program with --claude.`,
    );
  }
  const onPath = (userPath ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'claude'));
  for (const candidate of [...onPath, ...bundled()]) if (await isExecutable(candidate)) return candidate;
  throw new OperationalError(
    'claude_missing',
    'Claude Code was not found. Install it (npm install -g @anthropic-ai/claude-code), or pass the path of the claude program with --claude.',
  );
}

function bundled(): string[] {
  const candidates: string[] = [];
  let folder = dirname(fileURLToPath(import.meta.url));
  while (folder !== dirname(folder)) {
    candidates.push(resolve(folder, 'node_modules', '.bin', 'claude'));
    folder = dirname(folder);
  }
  return candidates;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK); // a folder may pass this as well
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
