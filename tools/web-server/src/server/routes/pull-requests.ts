import type { Relays } from './relay.ts';

const HOST = ['no_code_host', 'code_host_login', 'code_host_unreachable', 'pull_request_refused'] as const;
const PLACE = ['unknown_stage', 'no_session', 'worktree_failed'] as const;

/** Pull requests of stages, on GitHub through `gh` and on GitLab through `glab`, and what comes back of them. */
export const pullRequestRelays = {
  get_receipt: {
    summary: 'Get the receipt of a stage',
    description:
      'What people consented to, turn by turn: every tool call of the transcript exactly once, with the reason why it ran or did not, as far as the decision log and Claude Code tell, and the gaps in that. `markdown` is the same in short, as it goes into a pull request or a git note.',
    problems: ['unknown_stage'],
  },
  get_pull_request: {
    summary: 'Preview opening a pull request',
    description:
      'Says where the branch would be pushed to and which branch it would go into, what it would bring there, uncommitted work included, with a drafted title and text. `problem` says why it cannot be opened now, with a command to run or a page to go on by hand. Changes nothing.',
    problems: [...PLACE, 'merge_refused'],
  },
  open_pull_request: {
    status: 202,
    isBodyOptional: true,
    summary: 'Push the branch and open a pull request',
    description:
      "Uses the `gh` or `glab` of this machine with the user's own login, and git's own access to the remote; never pushes by force. If the branch has an open pull request, only pushes to it: there is never a second one. A title or text that is left out is drafted from the stage and its commits. With `receipt`, the text ends with what people consented to. `commit`, `head` and `tree` work as in completing a stage. The order is stored first and continued after a crash; a refusal is kept in `stage.finishing.problem`. The stage then has `pullRequest`, which is kept up to date.",
    problems: [
      ...PLACE,
      ...HOST,
      ...([
        'stage_running',
        'background_work',
        'already_done',
        'uncommitted_work',
        'head_moved',
        'commit_refused',
      ] as const),
      ...(['no_remote', 'push_refused', 'merge_refused'] as const),
    ],
  },
  refresh_pull_request: {
    status: 202,
    summary: 'Ask the code host about the pull request at once',
    description: 'If the host cannot be asked, `pullRequest.stale` says why, and the rest stays as it was.',
    problems: ['unknown_stage', 'no_pull_request'],
  },
  get_feedback: {
    summary: 'List failed checks and unresolved review comments',
    problems: [...PLACE, ...HOST, 'no_pull_request'],
  },
  send_feedback: {
    isBodyOptional: true,
    summary: 'Send failed checks or review comments to Claude',
    description:
      'They become one message: the ends of the logs of the `checks` that are named, the `comments` with these ids with file and line, and with `conflict` the request to merge the base in the worktree. It is bounded, and says that others wrote it.',
    problems: [...PLACE, ...HOST, 'no_pull_request', 'nothing_to_send', 'claude_missing'],
  },
} satisfies Relays;
