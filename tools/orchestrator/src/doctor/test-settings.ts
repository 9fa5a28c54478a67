import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// What stands in the files of the lab, and the promises about them look for. Nothing else that is tried there meets any of it.

/** In the CLAUDE.md of the folder it works in. */
export const REMEMBERED = 'The doctor of Callboard keeps a heron.';
/** A command that a deny rule of the user's settings forbids. */
export const FORBIDDEN_BY_RULE = 'touch forbidden-by-a-rule';
/** What a hook of the user's settings says of the one tool that it denies. */
export const FORBIDDEN_WORDS = 'A hook of the doctor forbids this.';
/** A call of that tool; without the hook it would be asked for. */
export const HOOKED_TOOL = {
  name: 'Edit',
  input: { file_path: 'CLAUDE.md', old_string: 'heron', new_string: 'stork' },
};

const DENIED = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: FORBIDDEN_WORDS,
  },
};

/** Writes the user's settings and the repository's memory. @param home the user's, @param cwd where `claude` works */
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
