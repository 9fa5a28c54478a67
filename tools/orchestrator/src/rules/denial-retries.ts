import type {
  CommandReply,
  Decision,
  Denial,
  DenialRetry,
  RequestId,
  SendMessageReply,
  Settlement,
  StageId,
  ToolInput,
  TranscriptEntry,
} from '@callboard/contract';
import { exactRules } from '../agent/exact-rules.ts';
import { keepRules } from '../domain/permission-rules.ts';
import { updateDecision } from '../domain/requests.ts';
import { inputBlock } from '../kinds/shared/tool-call.ts';
import { Rejection } from '../lib/errors.ts';
import type { DenialRetryIntent } from '../store/ports/rules-table.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';

/** Calls that Claude Code denied itself, which a person may allow after all. */
export interface DenialRetries {
  /** Tells whether a denied call can be allowed, and by which rules. @throws Rejection `unknown_request`, `not_denied` */
  look(stageId: StageId, requestId: RequestId): Promise<DenialRetry>;
  /**
   * Allows exactly that call in this stage for an hour, and sends Claude a message to make it again, once Claude's turn is over. The
   * press is stored before anything else happens: after a crash the next start goes on from there. A call is sent once.
   * @throws as `look`, and Rejection `cannot_allow`, `already_settled`, `claude_missing`
   */
  retry(stageId: StageId, requestId: RequestId, actor: string): Promise<CommandReply<'retry_denial'>>;
  /** Goes on with what an earlier run has stored and not sent. Call it once sessions are re-attached. */
  resume(): Promise<void>;
}

interface DenialRetryParts {
  store: Store;
  edges: { now(): Date };
  /** Resolves once running sessions have the rules as they are now. */
  settle: () => Promise<void>;
  requireResumable: (stageId: StageId) => Promise<void>;
  sendText: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
}

/** How long the allowance holds: Claude may have to do something else first. */
const HOLDS_MS = 3_600_000;

export function createDenialRetries(parts: DenialRetryParts): DenialRetries {
  const { store, edges, settle } = parts;

  async function inspect(stageId: StageId, requestId: RequestId): Promise<DenialRetry & Denied> {
    const decision = await requireDenied(store, stageId, requestId);
    const call = await store.read.transcript.findCall(stageId, decision.toolUseId);
    const known = (await whyNotIn(store, stageId)) ?? whyNotBy(decision.denial) ?? (call === null ? NO_CALL : null);
    const rules = known !== null || call === null ? [] : denialRules(decision.toolName, call.input);
    return { decision, call, rules, whyNot: known ?? (rules.length === 0 ? NO_RULE : null) };
  }

  /** Tells Claude, unless that was done. Running sessions get the rules first, so that the call is not denied again. */
  async function tell({ stageId, requestId }: DenialRetryIntent): Promise<SendMessageReply | null> {
    await settle();
    const { toolUseId } = await requireDenied(store, stageId, requestId);
    const call = await store.read.transcript.findCall(stageId, toolUseId);
    return store.transact(async (tx) => {
      const decision = await tx.requests.findDecision(stageId, requestId);
      const intent = await tx.rules.removeRetry(stageId, requestId);
      if (decision === null || intent === null) return null;
      await updateDecision(tx, { ...decision, settlement: { how: 'retried', by: intent.actor, at: tx.now } });
      return parts.sendText(tx, stageId, retryText(decision, call), intent.actor);
    });
  }

  return {
    async look(stageId, requestId) {
      const { decision, rules, whyNot } = await inspect(stageId, requestId);
      return decision.settlement === null
        ? { rules, whyNot }
        : { rules: [], whyNot: settledWords(decision.settlement) };
    },
    async retry(stageId, requestId, actor) {
      const { decision, rules, whyNot } = await inspect(stageId, requestId);
      requireUnsettled(decision);
      if (whyNot !== null) throw new Rejection('cannot_allow', whyNot);
      await parts.requireResumable(stageId);
      const kept = await store.transact(async (tx) => {
        const now = await tx.requests.findDecision(stageId, requestId);
        if (now !== null) requireUnsettled(now);
        await tx.rules.addRetry({ stageId, requestId, actor });
        const expiresAt = new Date(edges.now().getTime() + HOLDS_MS).toISOString();
        const granted = rules.map((rule) => ({ kind: 'allow', rule }) as const);
        return keepRules(tx, await requireStage(tx, stageId), { scope: 'stage', granted, by: actor, expiresAt });
      });
      const message = await tell({ stageId, requestId, actor });
      if (message !== null) return { rules: kept, message };
      requireUnsettled(await requireDenied(store, stageId, requestId)); // another press was quicker
      throw new Error('an allowed call was neither sent nor settled');
    },
    async resume() {
      for (const intent of await store.read.rules.listRetries()) await tell(intent);
    },
  };
}

/** Why no denied call of a stage can be made again now; null if it can. */
async function whyNotIn({ read }: Pick<Store, 'read'>, stageId: StageId): Promise<string | null> {
  const { completedAt } = await requireStage(read, stageId);
  if (completedAt !== null) return 'The stage is done. Reopen it, then allow the call.';
  const session = await read.sessions.find(stageId);
  if (session?.alarm != null) return 'The session is under alarm. Acknowledge the alarm, then allow the call.';
  if (session?.terminal == null) return null;
  return `${session.terminal.by} continues this conversation in a terminal. Take it back, then allow the call.`;
}

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
  throw new Rejection('already_settled', settledWords(settlement), { decision });
}

const settledWords = ({ by, at }: Settlement): string => `${by} allowed this already at ${at}; nothing was done now.`;

const NO_CALL = 'The call itself is not in the transcript, so it is unknown what would be allowed.';
const NO_RULE =
  'No exact rule covers this call: it has a redirection, a substitution or a variable, or it reaches outside. Choose a mode that asks beside the message box, and tell Claude to try again.';

/** Why an allowance cannot help against what denied a call; null if it can. */
function whyNotBy(denial: Denial): string | null {
  const { source, detail } = denial;
  switch (source) {
    case 'mode':
      return null;
    case 'rule':
      return `A deny rule wins over every allowance. ${howToRemove(denial)}, then tell Claude to try again.`;
    case 'hook':
      return `A hook decides about each call anew, and wins over every allowance. Change ${detail === null ? 'it' : `the hook ${detail}`} in its settings, then tell Claude to try again.`;
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
  return `Remove ${rule} from ${SETTINGS[settings ?? ''] ?? 'the settings that it stands in'}`;
}

/** A path that a rule takes as it is. */
const PLAIN_PATH = /^\/[\w./@+-]+$/;
const EDITS = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];

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
