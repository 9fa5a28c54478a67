import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// The contents of the test environment's settings and memory files, which the promises about them look for. No other promise
// is affected by them.

/** In the CLAUDE.md of the working folder. */
export const REMEMBERED = 'The doctor of Callboard keeps a heron.';
/** A command that a deny rule of the user's settings forbids. */
export const FORBIDDEN_BY_RULE = 'touch forbidden-by-a-rule';
/** The reason that a hook of the user's settings gives for denying a tool. */
export const FORBIDDEN_TEXT = 'A hook of the doctor forbids this.';
/** A call of that tool. Without the hook, it would ask for approval. */
export const HOOKED_TOOL = {
  name: 'Edit',
  input: { file_path: 'CLAUDE.md', old_string: 'heron', new_string: 'stork' },
};

const DENIED = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: FORBIDDEN_TEXT,
  },
};

/** Writes the user's settings and the repository's memory file. @param home the user's home, @param cwd the working folder */
export async function writeTestSettings(home: string, cwd: string): Promise<void> {
  const hook = { type: 'command', command: `echo '${JSON.stringify(DENIED)}'` };
  const settings = {
    permissions: { deny: [`Bash(${FORBIDDEN_BY_RULE})`] },
    hooks: { PreToolUse: [{ matcher: 'Edit', hooks: [hook] }] },
  };
  await mkdir(join(home, '.claude'));
  await writeFile(join(home, '.claude', 'settings.json'), JSON.stringify(settings));
  await writeFile(join(cwd, 'CLAUDE.md'), `${REMEMBERED}\n`);
}
