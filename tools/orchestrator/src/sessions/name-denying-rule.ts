import { RequestId, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { denyingRule } from '../domain/denying-rule.ts';
import type { Logger } from '../lib/logger.ts';
import { changeSession } from '../session-state/change-session.ts';
import { denialId, nameDenial } from '../session-state/denials.ts';
import { updateDecision } from '../session-state/requests.ts';
import type { Store } from '../store/store.ts';
import type { SessionExecutor } from './session-executor.ts';

interface NameDenyingRuleParts {
  store: Store;
  log: Logger;
  /** What `~` in a rule stands for. */
  home: string;
  running: () => Iterable<Pick<SessionExecutor, 'launch' | 'request'>>;
}

/** What Claude Code says that holds, settings of all files included. */
const RulesReply = z.object({
  response: z.object({ state: z.object({ rules: z.array(z.object({ behavior: z.string(), rule: z.string() })) }) }),
});
const REPLY_MS = 10_000;
/** A call is among the newest entries when it is denied. */
const RECENT = 200;

/**
 * Finds out which rule denied a call: Claude Code does not say, but lists its rules. Where one of them alone can have been it, the
 * decision names it; otherwise it stays as it is.
 * @returns what is to be called with a call that a rule denied
 */
export function createNameDenyingRule({ store, log, home, running }: NameDenyingRuleParts) {
  async function name(stageId: StageId, toolUseId: string): Promise<void> {
    const executor = [...running()].find(({ launch }) => launch.stageId === stageId);
    const entries = await store.read.transcript.page(stageId, { after: undefined, before: undefined, limit: RECENT });
    const call = entries.findLast((entry) => entry.kind === 'tool-use' && entry.toolUseId === toolUseId);
    if (executor === undefined || call?.kind !== 'tool-use') return;
    const reply = await executor.request({ subtype: 'list_permission_rules' }, AbortSignal.timeout(REPLY_MS));
    const rules = RulesReply.safeParse(reply).data?.response.state.rules ?? [];
    const rule = denyingRule(
      rules.flatMap((one) => (one.behavior === 'deny' ? [one.rule] : [])),
      call,
      home,
    );
    if (rule === null) return;
    await store.transact(async (tx) => {
      const decision = await tx.requests.findDecision(stageId, RequestId.parse(denialId(toolUseId)));
      if (decision?.denial == null || decision.denial.detail !== null) return;
      await updateDecision(tx, { ...decision, denial: { ...decision.denial, detail: rule } });
      await changeSession(tx, stageId, (draft) => nameDenial(draft, toolUseId, rule));
    });
  }

  return (stageId: StageId, toolUseId: string): void => {
    name(stageId, toolUseId).catch((error: unknown) =>
      log.debug({ err: error, stageId }, 'which rule denied a call could not be found out'),
    );
  };
}
