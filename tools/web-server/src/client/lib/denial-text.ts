import { type Denial, visibleText } from '@callboard/contract';

/** What denied a call, in a few words: "the rule Bash(npm run *)", "dontAsk mode". */
export function denierText({ source, detail, isDeferred }: Denial): string {
  if (isDeferred === true) return 'a hook deferred it';
  switch (source) {
    case 'mode':
      return detail === null ? 'its permission mode' : `${detail} mode`;
    case 'rule':
      return detail === null ? 'a permission rule' : `the rule ${detail}`;
    case 'hook':
      return detail === null ? 'a hook' : `a ${detail} hook`;
    case 'unknown':
      return 'itself; this release does not say why';
    default:
      return source satisfies never;
  }
}

/** "Denied by Claude Code (the rule Bash(npm run *))". */
export function deniedText(denial: Denial): string {
  if (denial.isDeferred === true) return 'Deferred by a hook: it did not run';
  return denial.source === 'unknown'
    ? 'Denied by Claude Code, which does not say why in this release'
    : `Denied by Claude Code: ${denierText(denial)}`;
}

/** What allowing a denied call does, for its button. */
export const retryDoes = (rules: readonly string[]): string =>
  `Allows ${visibleText(rules.join(', '), 'command')} in this stage for an hour, and tells Claude to make the call again.`;
