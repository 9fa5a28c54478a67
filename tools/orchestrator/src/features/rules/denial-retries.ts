import type {
  CommandReply,
  Decision,
  Denial,
  DenialRetry,
  RequestId,
  RuleCommand,
  SendMessageReply,
  Settlement,
  StageId,
  ToolInput,
  TranscriptEntry,
} from '@callboard/contract';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { inputBlock } from '../../core/kinds/shared/definition.ts';
import type { BoardViews } from '../../core/session/board-views.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { updateDecision } from '../../core/session/requests.ts';
import { addNotice, type Notice } from '../../core/session/session-change.ts';
import { saveRules } from '../../core/session/session-permissions.ts';
import { Rejection } from '../../lib/errors.ts';
import type { Logger } from '../../platform/runtime.ts';
import type { DenialRetryIntent } from '../../store/ports/session-port.ts';
import { requireStage, type Store, type Tables, type Tx } from '../../store/store.ts';
import { allowRules, exactRules, type Rules } from './rules.ts';

/** Calls that Claude Code denied itself, which a person may allow after all. */
export interface DenialRetries {
  /** Tells whether a denied call can be allowed, and by which rules. @throws Rejection `unknown_request`, `not_denied` */
  check(stageId: StageId, requestId: RequestId): Promise<DenialRetry>;
  /**
   * Allows exactly that call in this stage for an hour, and sends Claude a message to make it again, once Claude's turn is over. The
   * press is stored before anything else happens: after a crash the next start goes on from there. A call is sent once, and only
   * while the allowance holds.
   * @throws as `look`, and Rejection `cannot_allow`, `already_settled`, `claude_missing`
   */
  retry(stageId: StageId, requestId: RequestId, actor: string): Promise<CommandReply<'retry_denial'>>;
  /**
   * Goes on with what an earlier run has stored and not sent. What does not hold any more is not sent, and what cannot be sent waits for
   * the next start; a notice in the transcript of its stage says so. Call it once sessions are re-attached.
   */
  resume(): Promise<void>;
}

interface DenialRetryDeps {
  store: Store;
  platform: { now(): Date };
  log: Logger;
  /** Resolves once running sessions have the rules as they are now. */
  settle: () => Promise<void>;
  requireResumable: (stageId: StageId) => Promise<void>;
  sendText: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
}

/** How long the allowance holds: Claude may have to do something else first. */
const HOLDS_MS = 3_600_000;

export function createDenialRetries(deps: DenialRetryDeps): DenialRetries {
  const { store, platform, log, settle } = deps;

  async function inspect(stageId: StageId, requestId: RequestId): Promise<DenialRetry & Denied> {
    const decision = await requireDenied(store, stageId, requestId);
    const call = await store.read.transcript.findCall(stageId, decision.toolUseId);
    const known =
      (await notInReason(store.read, stageId)) ?? notByReason(decision.denial) ?? (call === null ? NO_CALL : null);
    const rules = known !== null || call === null ? [] : denialRules(decision.toolName, call.input);
    return { decision, call, rules, whyNot: known ?? (rules.length === 0 ? noRuleFor(decision.toolName) : null) };
  }

  /**
   * Tells Claude, unless that was done, or the call is not allowed any more. Running sessions must have the rules, so that the call is not
   * denied again. @returns null if it was done
   */
  async function report({ stageId, requestId }: DenialRetryIntent): Promise<Reported | null> {
    const { toolUseId } = await requireDenied(store, stageId, requestId);
    const call = await store.read.transcript.findCall(stageId, toolUseId);
    return store.transact(async (tx) => {
      const decision = await tx.requests.findDecision(stageId, requestId);
      const intent = await tx.rules.removeRetry(stageId, requestId);
      if (decision === null || intent === null) return null;
      const whyNot = (await notInReason(tx, stageId)) ?? (await notStillReason(tx, decision, call));
      if (whyNot !== null) {
        await notify(tx, stageId, notSent(decision, intent, whyNot));
        return { whyNot };
      }
      await updateDecision(tx, { ...decision, settlement: { how: 'retried', by: intent.actor, at: tx.now } });
      return { message: await deps.sendText(tx, stageId, retryText(decision, call), intent.actor) };
    });
  }

  /** Tells in the transcript, where a person would look, that an allowed call waits. */
  async function reportStuck({ stageId, requestId, actor }: DenialRetryIntent): Promise<void> {
    await store.transact(async (tx) => {
      const decision = await tx.requests.findDecision(stageId, requestId);
      if (decision !== null) await notify(tx, stageId, notYetSent(decision, actor));
    });
  }

  return {
    async check(stageId, requestId) {
      const { decision, rules, whyNot } = await inspect(stageId, requestId);
      return decision.settlement === null ? { rules, whyNot } : { rules: [], whyNot: settledText(decision.settlement) };
    },
    async retry(stageId, requestId, actor) {
      const { decision, rules, whyNot } = await inspect(stageId, requestId);
      requireUnsettled(decision);
      if (whyNot !== null) throw new Rejection('cannot_allow', whyNot);
      await deps.requireResumable(stageId);
      const saved = await store.transact(async (tx) => {
        const now = await tx.requests.findDecision(stageId, requestId);
        if (now !== null) requireUnsettled(now);
        await tx.rules.addRetry({ stageId, requestId, actor });
        const expiresAt = new Date(platform.now().getTime() + HOLDS_MS).toISOString();
        const granted = rules.map((rule) => ({ kind: 'allow', rule }) as const);
        return saveRules(tx, await requireStage(tx, stageId), { scope: 'stage', granted, by: actor, expiresAt });
      });
      await settle();
      const reported = await report({ stageId, requestId, actor });
      if (reported !== null && 'message' in reported) return { rules: saved, message: reported.message };
      if (reported !== null) throw new Rejection('cannot_allow', reported.whyNot);
      requireUnsettled(await requireDenied(store, stageId, requestId)); // another press was quicker
      throw new Rejection('cannot_allow', (await notInReason(store.read, stageId)) ?? ENDED); // and did not hold either
    },
    async resume() {
      const intents = await store.read.rules.listRetries();
      if (intents.length === 0) return;
      await settle();
      for (const intent of intents) {
        try {
          await report(intent);
        } catch (error) {
          log.error({ err: error, ...intent }, 'telling Claude of an allowed call failed');
          await reportStuck(intent).catch((err: unknown) => log.error({ err }, 'reporting that failed as well'));
        }
      }
    },
  };
}

/** What became of an allowed call: Claude was sent a message, or the reason why not. */
type Reported = { message: SendMessageReply } | { whyNot: string };

/** Why no denied call of a stage can be made again now; null if it can. */
async function notInReason(tables: Pick<Tables, 'stages' | 'sessions'>, stageId: StageId): Promise<string | null> {
  const { completedAt } = await requireStage(tables, stageId);
  if (completedAt !== null) return 'The stage is done. Reopen it, then allow the call.';
  const session = await tables.sessions.find(stageId);
  if (session?.alarm != null)
    return 'The session has an open security alarm. Acknowledge the alarm, then allow the call.';
  if (session?.terminal == null) return null;
  return `${session.terminal.by} continues this conversation in a terminal. Take it back, then allow the call.`;
}

/** Why a call that was allowed is not allowed any more; null if it is. */
async function notStillReason(tx: Tx, { stageId, toolName }: Decision, call: Call | null): Promise<string | null> {
  const { projectId } = await requireStage(tx, stageId);
  const applying = new Set(allowRules(await tx.rules.listFor(projectId, stageId, tx.now)));
  const rules = call === null ? [] : denialRules(toolName, call.input);
  return rules.length > 0 && rules.every((rule) => applying.has(rule)) ? null : ENDED;
}

const notify = (tx: Tx, stageId: StageId, notice: Notice): Promise<unknown> =>
  changeSession(tx, stageId, (change) => addNotice(change, tx.now, notice));

const notSent = ({ asked }: Decision, { actor }: DenialRetryIntent, refusalReason: string): Notice => ({
  level: 'warning',
  code: 'denial-not-retried',
  text: `${actor} allowed the denied call ${asked}, but Claude was not told to try again, and will not be. ${refusalReason}`,
});

const notYetSent = ({ asked }: Decision, actor: string): Notice => ({
  level: 'error',
  code: 'denial-not-retried',
  text: `${actor} allowed the denied call ${asked}, but telling Claude to try again failed. Allow it once more on the line of the call, or restart Callboard, which tries again; its log says what went wrong.`,
});

type Call = Extract<TranscriptEntry, { kind: 'tool-use' }>;

interface Denied {
  decision: Decision & { denial: Denial };
  call: Call | null;
}

const notDenied = () =>
  new Rejection(
    'not_denied',
    'Claude Code did not deny this call by itself, so there is nothing to allow after the fact.',
  );

async function requireDenied(store: Store, stageId: StageId, requestId: RequestId): Promise<Denied['decision']> {
  await requireStage(store.read, stageId);
  const decision = await store.read.requests.findDecision(stageId, requestId);
  if (decision === null) {
    throw new Rejection('unknown_request', `${stageId} has no decision ${requestId}. It may belong to another stage.`);
  }
  const { denial } = decision;
  if (denial === null) throw notDenied();
  return { ...decision, denial };
}

function requireUnsettled(decision: Decision): void {
  const { settlement } = decision;
  if (settlement === null) return;
  throw new Rejection('already_settled', settledText(settlement), { decision });
}

const settledText = ({ by, at }: Settlement): string => `${by} allowed this already at ${at}; nothing was done now.`;

const NO_CALL = 'The call itself is not in the transcript, so it is unknown what would be allowed.';
const ENDED =
  'The rule that allows it was removed, or has expired. If the call is still needed, allow it again on its line.';
const INSTEAD = 'Next to the message box, choose a mode that asks, then tell Claude to try again.';

/** Why no exact rule covers a call. */
function noRuleFor(toolName: string): string {
  if (isFileTool(toolName))
    return `No exact rule covers this file: its path is not absolute, or contains a character that has a special meaning in rules, such as * or [. ${INSTEAD}`;
  if (toolName === 'Bash')
    return `No exact rule covers this call: it has a redirection, a substitution or a variable, or it reaches outside. ${INSTEAD}`;
  return `No exact rule covers this call of ${toolName}. ${INSTEAD}`;
}

/** Why an allowance cannot help against what denied a call; null if it can. */
function notByReason(denial: Denial): string | null {
  const { source, detail, isDeferred } = denial;
  if (isDeferred === true)
    return 'A hook deferred the call, and would again. Change the hook in its settings, then tell Claude to try again.';
  switch (source) {
    case 'mode':
      return null;
    case 'rule':
      return `A deny rule overrides every allow rule. ${howToRemove(denial)}, then tell Claude to try again.`;
    case 'hook':
      return `A hook decides on every call, and overrides every allow rule. Change ${detail === null ? 'it' : `the hook ${detail}`} in its settings, then tell Claude to try again.`;
    case 'unknown':
      return 'This Claude Code does not say what denied the call, so it is unknown what would allow it. Update it, or look into its settings.';
    default:
      return source satisfies never;
  }
}

/** What a person calls the settings in which Claude Code says that a rule stands. */
const SETTINGS: Readonly<Record<string, string>> = {
  userSettings: 'your own settings of Claude Code (~/.claude/settings.json)',
  projectSettings: 'the settings of the repository (.claude/settings.json)',
  localSettings: 'the local settings of the repository (.claude/settings.local.json)',
};

function howToRemove({ detail, settings }: Denial): string {
  const rule = detail ?? 'it';
  if (settings === 'policySettings')
    return `${rule} is in the managed settings of this machine: ask whoever manages them to remove it`;
  if (settings === 'flagSettings') return `${rule} is Callboard’s own and protects its files: do it by hand`;
  return `Remove ${rule} from ${SETTINGS[settings ?? ''] ?? 'the settings that contain it'}`;
}

/** A path that a rule takes as it is. A space at its end would be overlooked. */
const PLAIN_PATH = /^\/[\p{L}\p{M}\p{N}_./@+ -]*[\p{L}\p{M}\p{N}_./@+-]$/u;
const EDITS = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];
const isFileTool = (toolName: string): boolean => toolName === 'Read' || EDITS.includes(toolName);

function denialRules(toolName: string, input: ToolInput): string[] {
  const path = input.file_path ?? input.notebook_path;
  const isPlain = typeof path === 'string' && PLAIN_PATH.test(path) && !path.split('/').includes('..');
  if (EDITS.includes(toolName)) return isPlain ? [`Edit(/${path})`] : [];
  if (toolName === 'Read') return isPlain ? [`Read(/${path})`] : [];
  return exactRules({ toolName, input }) ?? [];
}

function retryText({ toolName, toolUseId, denial }: Decision, call: Call | null): string {
  const whose = call?.parentToolUseId == null ? 'Your call' : 'The call that a subagent made';
  return [
    `${whose} of the tool ${toolName} (tool use ${toolUseId}) was denied by Claude Code's permission mode${denial?.detail ? ` (${denial.detail})` : ''}. The user has now allowed exactly this call.`,
    ...(call === null ? [] : [`Its input was:\n${inputBlock(call.input)}`]),
    'If it is still needed, make it again, unchanged. Otherwise go on.',
  ].join('\n\n');
}

export interface RuleDeps {
  views: BoardViews;
  rules: Rules;
  denialRetries: DenialRetries;
}

export function ruleCommands({ views, rules, denialRetries }: RuleDeps): Pick<CommandHandlers, RuleCommand> {
  return {
    get_rules: async ({ projectId }) => ({ rules: await views.rules(projectId) }),
    list_rules: ({ projectId }) => rules.list(projectId),
    add_rule: async (wanted, { actor }) => ({ rule: await rules.add(wanted, actor.name) }),
    remove_rule: async ({ ruleId }, { actor }) => ({ rule: await rules.remove(ruleId, actor.name) }),
    rehearse_rule: (wanted) => rules.dryRun(wanted),
    get_rule_offer: (of) => rules.offer(of),
    async dismiss_rule_offer(offer) {
      await rules.dismiss(offer);
      return {};
    },
    get_denial_retry: async ({ stageId, requestId }) => ({ retry: await denialRetries.check(stageId, requestId) }),
    retry_denial: ({ stageId, requestId }, { actor }) => denialRetries.retry(stageId, requestId, actor.name),
  };
}
