import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { ProjectId, RequestId, StageId } from './ids.ts';
import { SendMessageReply } from './messages.ts';
import {
  DenialRetry,
  DryRun,
  PermissionRule,
  RuleLocation,
  RuleOffer,
  RulesQuery,
  RuleText,
  UsedRule,
} from './rules.ts';

const ofRequest = z.object({ stageId: StageId, requestId: RequestId });

const NewRule = z.strictObject({
  rule: RuleText,
  scope: RuleLocation,
  /** When it stops by itself; never without it. */
  expiresAt: z.iso.datetime().optional(),
});
const DryRunBody = z.strictObject({
  rule: RuleText,
  scope: RuleLocation,
  /** Rules that would be granted with it: a compound command needs one for each of its parts. */
  along: z.array(RuleText).max(50).optional(),
});
const OfferDismissal = z.strictObject({ projectId: ProjectId, rules: z.array(RuleText).min(1).max(50) });

/** The commands about permission rules, as `commands` has them. */
export const ruleCommands = {
  /** Returns the rules that apply in a project and its stages. */
  get_rules: {
    route: 'GET /api/projects/:projectId/rules',
    runs: 'store',
    time: 'read',
    input: z.object({ projectId: ProjectId }),
    reply: z.object({ rules: z.array(PermissionRule) }),
  },
  /** Returns the rules of all projects, or of one, with their use; and the newest of those that have ended. */
  list_rules: {
    route: 'GET /api/rules',
    runs: 'store',
    time: 'read',
    input: RulesQuery,
    reply: z.object({ rules: z.array(UsedRule), ended: z.array(UsedRule) }),
    query: RulesQuery,
  },
  /** Grants a rule, also to sessions that run. A rule that is there already gets the new end date. */
  add_rule: {
    route: 'POST /api/rules',
    runs: 'store',
    input: NewRule,
    reply: z.object({ rule: PermissionRule }),
    status: 201,
  },
  /** Removes a rule. Running sessions ask again, except for a folder or a host. */
  remove_rule: {
    route: 'DELETE /api/rules/:ruleId',
    runs: 'store',
    input: z.object({ ruleId: z.string() }),
    reply: z.object({ rule: PermissionRule }),
  },
  /** Plays a rule against the decision log. Changes nothing. */
  rehearse_rule: { route: 'POST /api/rules/rehearse', runs: 'store', input: DryRunBody, reply: DryRun },
  /** Returns exact rules for a request that people have allowed at least three times; null if there is nothing to offer. */
  get_rule_offer: {
    route: 'GET /api/sessions/:stageId/decisions/:requestId/rule-offer',
    runs: 'store',
    time: 'read',
    input: ofRequest,
    reply: z.object({ offer: RuleOffer.nullable() }),
  },
  /** Puts an offer away. It returns after ten more of the same answers. */
  dismiss_rule_offer: { route: 'POST /api/rules/dismiss', runs: 'store', input: OfferDismissal, reply: z.object({}) },
  /** Tells whether a call that Claude Code denied can be allowed and tried again. */
  get_denial_retry: {
    route: 'GET /api/sessions/:stageId/decisions/:requestId/allow-and-retry',
    runs: 'store',
    time: 'read',
    input: ofRequest,
    reply: z.object({ retry: DenialRetry }),
  },
  /** Allows exactly the denied call in this stage for an hour, and tells Claude to try it again once its turn is over. */
  retry_denial: {
    route: 'POST /api/sessions/:stageId/decisions/:requestId/allow-and-retry',
    runs: 'owner',
    time: 'slow',
    input: ofRequest,
    reply: z.object({ rules: z.array(PermissionRule), message: SendMessageReply }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const ruleDocs = (): DocsOf<typeof ruleCommands> => {
  const { project, stage, pending, rule } = the;
  const scope = { projectId: project.id };
  const ofRequest = { stageId: stage.id, requestId: pending.requestId };
  const text = 'Bash(npm test)';
  const expiresAt = '2027-01-31T12:00:00.000Z';
  const used = {
    ...rule,
    uses: 14,
    lastUsedAt: rule.createdAt,
    usedFor: [{ asked: 'Bash npm run build', count: 14 }],
    lastUses: [{ stageId: stage.id, entry: 12, asked: 'Bash npm run build', at: rule.createdAt }],
  };
  const retried = { ...rule, scope: 'stage', stageId: stage.id, rule: text, expiresAt } as const;

  return {
    get_rules: {
      tag: 'rules',
      summary: 'List the rules that apply in the project and its stages',
      problems: ['unknown_project'],
      example: { input: scope, reply: { rules: [rule] } },
    },
    list_rules: {
      tag: 'rules',
      summary: 'List the rules of all projects, with their use',
      description:
        'Or those of one project. `uses` counts the calls that a rule let through, as far as Claude Code tells; `usedFor` names the most frequent ones, `lastUses` the newest with their place in the transcript. `ended` has the newest rules that were removed or whose end date has come.',
      problems: ['unknown_project'],
      example: { input: {}, reply: { rules: [used], ended: [] } },
    },
    add_rule: {
      tag: 'rules',
      summary: 'Grant a permission rule',
      description:
        '`rule` is written as Claude Code writes it: `Bash(npm test)`, `Bash(npm run *)`, `WebFetch(domain:example.org)`, `mcp__tracker__list`. `scope` is a stage or a project. Running sessions get it at once. A rule that applies there already gets the new end date. Claude Code still asks where it never lets a rule decide.',
      problems: ['bad_request', 'unknown_stage', 'unknown_project'],
      example: { input: { rule: text, scope, expiresAt }, reply: { rule: { ...rule, rule: text, expiresAt } } },
    },
    remove_rule: {
      tag: 'rules',
      summary: 'Revoke a rule',
      description: 'Running sessions ask again. A folder or a host still applies to them until their process ends.',
      problems: ['unknown_rule'],
      example: {
        input: { ruleId: rule.ruleId },
        reply: { rule: { ...rule, endedAt: rule.createdAt, endedBy: 'Ada' } },
      },
    },
    rehearse_rule: {
      tag: 'rules',
      summary: 'Play a rule against the decision log',
      description:
        'Says how many of the waits for a person the rule would have answered, how long they were, and which calls it would have let through that people denied. Counts only what is certain; `unsure` counts what only Claude Code could tell. `along` names rules that would be granted with it. Reads the newest 100,000 requests. Changes nothing.',
      problems: ['bad_request', 'unknown_stage', 'unknown_project'],
      example: {
        input: { rule: text, scope },
        reply: {
          waits: 74,
          answered: 61,
          waitedMs: 7_800_000,
          unsure: 4,
          denied: 1,
          since: null,
          wouldAllowDenied: [
            {
              ...ofRequest,
              stageTitle: stage.title,
              asked: 'Bash npm test',
              by: 'Ada',
              at: rule.createdAt,
              reason: 'Not before the merge',
            },
          ],
        },
      },
    },
    get_rule_offer: {
      tag: 'requests',
      summary: 'Get the rule that a habit suggests',
      description:
        'Exact rules for a request that people have allowed at least three times in its project, and not denied since: one for each part of a compound command. Null if there is nothing to offer: never for a command with a redirection, a substitution or a variable, for one that leaves the sandbox, or where Claude Code wants no rule.',
      problems: ['unknown_stage', 'unknown_request'],
      example: { input: ofRequest, reply: { offer: { ...scope, stageId: stage.id, rules: [text], times: 3 } } },
    },
    dismiss_rule_offer: {
      tag: 'rules',
      summary: 'Put the offer of a rule away',
      description: 'It returns after ten more of the same answers.',
      problems: ['bad_request', 'unknown_project'],
      example: { input: { ...scope, rules: [text] }, reply: {} },
    },
    get_denial_retry: {
      tag: 'requests',
      summary: 'Get whether a denied call can be allowed after all',
      description:
        'For a call that Claude Code itself denied. `rules` is what would be allowed; `whyNot` says why nothing can be, and what to do instead.',
      problems: ['unknown_stage', 'unknown_request', 'not_denied'],
      example: { input: ofRequest, reply: { retry: { rules: [text], whyNot: null } } },
    },
    retry_denial: {
      tag: 'requests',
      summary: 'Allow a denied call and have Claude try it again',
      description:
        'Allows exactly this call in its stage for an hour, and sends Claude a message to make it again, once its turn is over; an ended session is resumed for it. It is stored first and sent once, also if Callboard is killed in between.',
      problems: [
        ...(['unknown_stage', 'unknown_request', 'not_denied', 'cannot_allow', 'already_settled'] as const),
        ...(['already_done', 'session_alarm', 'in_terminal', 'claude_missing'] as const),
      ],
      example: {
        input: ofRequest,
        reply: { rules: [retried], message: { status: 'sent', messageId: the.queued.messageId } },
      },
    },
  };
};

/** The name of a command about permission rules. */
export type RuleCommand = keyof typeof ruleCommands;
