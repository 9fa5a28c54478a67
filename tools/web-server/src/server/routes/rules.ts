import { RulesQuery } from '@callboard/contract';
import type { Relays } from './relay.ts';

/** The permission rules that people grant. */
export const ruleRelays = {
  get_rules: {
    summary: 'List the rules that apply in the project and its stages',
    problems: ['unknown_project'],
  },
  list_rules: {
    query: RulesQuery,
    summary: 'List the rules of all projects, with their use',
    description:
      'Or those of one project. `uses` counts the calls that a rule let through, as far as Claude Code tells; `usedFor` names the most frequent ones, `lastUses` the newest with their place in the transcript. `ended` has the newest rules that were removed or whose end date has come.',
    problems: ['unknown_project'],
  },
  add_rule: {
    status: 201,
    summary: 'Grant a permission rule',
    description:
      '`rule` is written as Claude Code writes it: `Bash(npm test)`, `Bash(npm run *)`, `WebFetch(domain:example.org)`, `mcp__tracker__list`. `scope` is a stage or a project. Running sessions get it at once. A rule that applies there already gets the new end date. Claude Code still asks where it never lets a rule decide.',
    problems: ['bad_request', 'unknown_stage', 'unknown_project'],
  },
  remove_rule: {
    summary: 'Revoke a rule',
    description: 'Running sessions ask again. A folder or a host still applies to them until their process ends.',
    problems: ['unknown_rule'],
  },
  rehearse_rule: {
    summary: 'Play a rule against the decision log',
    description:
      'Says how many of the waits for a person the rule would have answered, how long they were, and which calls it would have let through that people denied. Counts only what is certain; `unsure` counts what only Claude Code could tell. `along` names rules that would be granted with it. Reads the newest 100,000 requests. Changes nothing.',
    problems: ['bad_request', 'unknown_stage', 'unknown_project'],
  },
  dismiss_rule_offer: {
    summary: 'Put the offer of a rule away',
    description: 'It returns after ten more of the same answers.',
    problems: ['bad_request', 'unknown_project'],
  },
} satisfies Relays;

/** What the requests of a session have to do with rules. */
export const requestRuleRelays = {
  get_rule_offer: {
    summary: 'Get the rule that a habit suggests',
    description:
      'Exact rules for a request that people have allowed at least three times in its project, and not denied since: one for each part of a compound command. Null if there is nothing to offer: never for a command with a redirection, a substitution or a variable, for one that leaves the sandbox, or where Claude Code wants no rule.',
    problems: ['unknown_stage', 'unknown_request'],
  },
  get_denial_retry: {
    summary: 'Get whether a denied call can be allowed after all',
    description:
      'For a call that Claude Code itself denied. `rules` is what would be allowed; `whyNot` says why nothing can be, and what to do instead.',
    problems: ['unknown_stage', 'unknown_request', 'not_denied'],
  },
  retry_denial: {
    summary: 'Allow a denied call and have Claude try it again',
    description:
      'Allows exactly this call in its stage for an hour, and sends Claude a message to make it again, once its turn is over; an ended session is resumed for it. It is stored first and sent once, also if Callboard is killed in between.',
    problems: [
      ...(['unknown_stage', 'unknown_request', 'not_denied', 'cannot_allow', 'already_settled'] as const),
      ...(['already_done', 'session_alarm', 'in_terminal', 'claude_missing'] as const),
    ],
  },
} satisfies Relays;
