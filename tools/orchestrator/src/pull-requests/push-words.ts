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
  const { text, command } = textOf(failure, context);
  const details = output
    .split('\n')
    .map((line) => line.replace(/^remote: ?/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n');
  return new Refusal('push_refused', `${text} Nothing was pushed.\n${details}`.trim(), { command: command ?? null });
}

function textOf(failure: PushFailure, { branch, remote, program }: PushContext): { text: string; command?: string } {
  switch (failure) {
    case 'behind':
      return {
        text: `${branch} has commits on ${remote} that this worktree lacks. Ask Claude to fetch and merge ${remote}/${branch}, then try again.`,
      };
    case 'refused':
      return { text: `${remote} does not accept ${branch}: a rule or a hook there refuses it.` };
    case 'hook':
      return {
        text: `Git or a pre-push hook of this repository refused to push ${branch}. Fix what it reports, then try again.`,
      };
    case 'no-login':
      return {
        text: `Git has no login for ${remote}. Give it one in a terminal, then try again.`,
        command: `${program} auth ${program === 'gh' ? 'setup-git' : 'login'}`,
      };
    case 'no-access':
      return { text: `Your login may not push to ${remote}. Ask for write access, or push to a fork.` };
    case 'not-found':
      return { text: `The repository that ${remote} names does not exist, or your login may not see it.` };
    case 'unreachable':
      return { text: `${remote} cannot be reached. Check the connection, then try again.` };
    case 'timed-out':
      return { text: `The push of ${branch} took longer than ten minutes, or was stopped. Try again.` };
    case 'unknown':
      return { text: `Git could not push ${branch} to ${remote}.` };
    default:
      return failure satisfies never;
  }
}
