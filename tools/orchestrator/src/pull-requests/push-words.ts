import type { PushFailure } from '../worktrees/push.ts';
import { Refusal } from './refusal.ts';

interface PushContext {
  branch: string;
  remote: string;
  /** `gh` or `glab`. */
  program: string;
}

/** Returns why a branch was not pushed: the cause and the next step, then what git and the remote said. */
export function pushRefusal(failure: PushFailure, output: string, context: PushContext): Refusal {
  const { words, command } = wordsOf(failure, context);
  const details = output
    .split('\n')
    .map((line) => line.replace(/^remote: ?/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');
  return new Refusal('push_refused', `${words} Nothing was pushed.\n${details}`.trim(), { command: command ?? null });
}

function wordsOf(failure: PushFailure, { branch, remote, program }: PushContext): { words: string; command?: string } {
  switch (failure) {
    case 'behind':
      return {
        words: `${branch} has commits on ${remote} that this worktree lacks. Ask Claude to fetch and merge ${remote}/${branch}, then try again.`,
      };
    case 'refused':
      return { words: `${remote} does not accept ${branch}: a rule or a hook there refuses it.` };
    case 'hook':
      return {
        words: `Git or a pre-push hook of this repository refused to push ${branch}. Fix what it reports, then try again.`,
      };
    case 'no-login':
      return {
        words: `Git has no login for ${remote}. Give it one in a terminal, then try again.`,
        command: `${program} auth ${program === 'gh' ? 'setup-git' : 'login'}`,
      };
    case 'no-access':
      return { words: `Your login may not push to ${remote}. Ask for write access, or push to a fork.` };
    case 'not-found':
      return { words: `The repository that ${remote} names does not exist, or your login may not see it.` };
    case 'unreachable':
      return { words: `${remote} cannot be reached. Check the connection, then try again.` };
    case 'timed-out':
      return { words: `The push of ${branch} took longer than ten minutes, or was stopped. Try again.` };
    case 'unknown':
      return { words: `Git could not push ${branch} to ${remote}.` };
    default:
      return failure satisfies never;
  }
}
