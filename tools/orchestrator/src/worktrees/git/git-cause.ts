/** What git prints, as a pattern, with the cause in words and what to do next. */
const CAUSES: readonly [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/i, 'The disk is full. Free some space, then try again.'],
  [
    /already (?:checked out|used by worktree) at '([^']+)'/i,
    'The branch is checked out in $1. Switch to another branch there, then try again.',
  ],
  [
    /Unable to create '([^']+\.lock)'|Another git process seems to be running/i,
    'Another git command is running in this repository, or has left its lock behind. Wait until it has ended, then try again.',
  ],
  [
    /Permission denied|Operation not permitted/i,
    'Callboard is not allowed to write there. Change the permissions, then try again.',
  ],
  [
    /not a git repository/i,
    'Its repository is no longer there. Move it back, or add it to the board from its new place.',
  ],
  [
    /(?:object file .* is empty|bad object|unable to read (?:tree|sha1)|corrupt|missing blob)/i,
    'The repository is damaged. Run `git fsck` in it to see what is missing.',
  ],
  [/pathspec .* did not match|invalid reference|unknown revision/i, 'A branch or commit of this stage is gone.'],
];

/**
 * Returns a text for people: what could not be done, the cause and the next step if git's output is known, and below them, on
 * lines of their own, the output itself as details.
 */
export function gitFailure(what: string, output: string): string {
  const details = output.trim();
  for (const [pattern, text] of CAUSES) {
    const found = pattern.exec(details);
    if (found !== null) return `${what} ${text.replace('$1', found[1] ?? 'another folder')}\n${details}`;
  }
  return details === '' ? `${what} Git gave no reason.` : `${what} Git gave this reason:\n${details}`;
}
