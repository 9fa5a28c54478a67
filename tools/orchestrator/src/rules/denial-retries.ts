import type {
  CommandReply,
  Decision,
  Denial,
  DenialRetry,
  RequestId,
  SendMessageReply,
  StageId,
  ToolInput,
} from '@callboard/contract';
import { exactRules } from '../agent/exact-rules.ts';
import { keepRules } from '../domain/permission-rules.ts';
import { updateDecision } from '../domain/requests.ts';
import { inputBlock } from '../kinds/shared/tool-call.ts';
import { Rejection } from '../lib/errors.ts';
import { requireStage } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';

/** Calls that Claude Code denied itself, which a person may allow after all. */
export interface DenialRetries {
  /** Tells whether a denied call can be allowed, and by which rules. @throws Rejection `unknown_request`, `not_denied` */
  look(stageId: StageId, requestId: RequestId): Promise<DenialRetry>;
  /**
   * Allows exactly that call in this stage for an hour, and sends Claude a message to make it again. A call that was sent before is
   * not sent twice.
   * @throws as `look`, and Rejection `cannot_allow`, `already_settled`, `already_done`
   */
  retry(stageId: StageId, requestId: RequestId, actor: string): Promise<CommandReply<'retry_denial'>>;
}

interface DenialRetryParts {
  store: Store;
  edges: { now(): Date };
  /** Resolves once running sessions have the rules as they are now. */
  settle: () => Promise<void>;
  /** Returns a recent tool call of a stage; null if it is not found. */
  findCall: (stageId: StageId, toolUseId: string) => Promise<{ input: ToolInput } | null>;
  requireResumable: (stageId: StageId) => Promise<void>;
  sendText: (tx: Tx, stageId: StageId, text: string, actor: string) => Promise<SendMessageReply>;
}

/** How long the allowance holds: Claude may have to do something else first. */
const HOLDS_MS = 3_600_000;

export function createDenialRetries(parts: DenialRetryParts): DenialRetries {
  const { store, edges, settle } = parts;

  async function inspect(stageId: StageId, requestId: RequestId): Promise<DenialRetry & Denied> {
    const decision = await requireDenied(store, stageId, requestId);
    const call = await parts.findCall(stageId, decision.toolUseId);
    const input = call?.input ?? null;
    const whyNot = whyNotBy(decision.denial);
    const rules = whyNot !== null || input === null ? [] : denialRules(decision.toolName, input);
    return { decision, input, rules, whyNot: whyNot ?? (rules.length === 0 ? NO_RULE : null) };
  }

  return {
    async look(stageId, requestId) {
      const { rules, whyNot } = await inspect(stageId, requestId);
      return { rules, whyNot };
    },
    async retry(stageId, requestId, actor) {
      const { decision, input, rules, whyNot } = await inspect(stageId, requestId);
      requireUnsettled(decision);
      if (whyNot !== null) throw new Rejection('cannot_allow', whyNot);
      await parts.requireResumable(stageId);
      // In this order: if everything ends in between, the call is allowed and Claude has not heard of it, and a second press goes on from there.
      const kept = await store.transact(async (tx) => {
        const expiresAt = new Date(edges.now().getTime() + HOLDS_MS).toISOString();
        const granted = rules.map((rule) => ({ kind: 'allow', rule }) as const);
        return keepRules(tx, await requireStage(tx, stageId), { scope: 'stage', granted, by: actor, expiresAt });
      });
      await settle();
      const message = await store.transact(async (tx) => {
        const now = await tx.requests.findDecision(stageId, requestId);
        if (now === null) throw notDenied();
        requireUnsettled(now);
        await updateDecision(tx, { ...now, settlement: { how: 'retried', by: actor, at: tx.now } });
        return parts.sendText(tx, stageId, retryText(now, input), actor);
      });
      return { rules: kept, message };
    },
  };
}

interface Denied {
  decision: Decision & { denial: Denial };
  input: ToolInput | null;
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
  const message = `${settlement.by} allowed this already at ${settlement.at}; nothing was done now.`;
  throw new Rejection('already_settled', message, { decision });
}

const NO_RULE =
  'No exact rule covers this call: it has a redirection, a substitution or a variable, or it reaches outside. Choose a mode that asks beside the message box, and tell Claude to try again.';

/** Why an allowance cannot help against what denied a call; null if it can. */
function whyNotBy({ source, detail }: Denial): string | null {
  switch (source) {
    case 'mode':
      return null;
    case 'rule':
      return `A deny rule wins over every allowance. Remove ${detail ?? 'it'} from the settings that it stands in, then tell Claude to try again.`;
    case 'hook':
      return `A hook decides about each call anew, and wins over every allowance. Change ${detail === null ? 'it' : `the hook ${detail}`} in its settings, then tell Claude to try again.`;
    case 'unknown':
      return 'This Claude Code does not say what denied the call, so it is unknown what would allow it. Update it, or look into its settings.';
    default:
      return source satisfies never;
  }
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

const retryText = ({ toolName, toolUseId, denial }: Decision, input: ToolInput | null): string =>
  [
    `Your call of the tool ${toolName} (tool use ${toolUseId}) was denied by Claude Code's permission mode${denial?.detail ? ` (${denial.detail})` : ''}. The user has now allowed exactly this call.`,
    ...(input === null ? [] : [`Its input was:\n${inputBlock(input)}`]),
    'If it is still needed, make it again, unchanged. Otherwise go on.',
  ].join('\n\n');
