import { RequestId, type StageId, type TranscriptEntry } from '@callboard/contract';
import { denyingRule } from '../../agent/denying-rule.ts';
import { changeSession } from '../../domain/change-session.ts';
import { denialId, nameDenial } from '../../domain/denials.ts';
import { updateDecision } from '../../domain/requests.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../../store/store.ts';
import type { SessionExecutor } from '../executor/session-executor.ts';
import { listActiveRules, RULES_REPLY_MS } from './active-rules.ts';
import type { LowPriorityWork } from './low-priority-work.ts';

type ToolUse = Extract<TranscriptEntry, { kind: 'tool-use' }>;

interface DenyingRuleLookupDeps {
  store: Store;
  log: Logger;
  /** What `~` in a rule stands for. */
  home: string;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
  lowPriorityWork: Pick<LowPriorityWork, 'add'>;
}

/** Claude Code is asked during a turn only if the turn takes long. */
const LATEST_MS = 5_000;

/**
 * Finds out which rule denied a call: Claude Code does not say, but lists its rules. If only one of them can have denied it,
 * the decision names that rule; otherwise it stays as it is.
 * @returns a function to call with each call that a rule denied
 */
export function createDenyingRuleLookup({ store, log, home, running, lowPriorityWork }: DenyingRuleLookupDeps) {
  async function find(stageId: StageId, toolUseId: string): Promise<void> {
    const call = await store.read.transcript.findCall(stageId, toolUseId);
    if (call === null) return;
    lowPriorityWork.add(stageId, `rule for ${toolUseId}`, (signal) => name(stageId, call, signal), LATEST_MS);
  }

  async function name(stageId: StageId, call: ToolUse, signal: AbortSignal): Promise<void> {
    const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
    if (executor === undefined) return;
    const rules = await listActiveRules(executor, AbortSignal.any([signal, AbortSignal.timeout(RULES_REPLY_MS)]));
    const denying = rules.filter(({ behavior }) => behavior === 'deny');
    const found = denyingRule(
      denying.map(({ rule }) => rule),
      call,
      home,
    );
    if (found === null) return;
    const sources = new Set(denying.flatMap(({ rule, source }) => (rule === found ? [source] : [])));
    const [source] = sources;
    const named = { detail: found, ...(sources.size === 1 && source !== undefined && { settings: source }) };
    await store.transact(
      async (tx) => {
        const decision = await tx.requests.findDecision(stageId, RequestId.parse(denialId(call.toolUseId)));
        if (decision?.denial == null || decision.denial.detail !== null) return;
        await updateDecision(tx, { ...decision, denial: { ...decision.denial, ...named } });
        await changeSession(tx, stageId, (change) => nameDenial(change, call.toolUseId, named));
      },
      { sync: 'later' },
    );
  }

  return (stageId: StageId, toolUseId: string): void => {
    find(stageId, toolUseId).catch((error: unknown) =>
      log.debug({ err: error, stageId }, 'looking up the rule that denied a call failed'),
    );
  };
}
