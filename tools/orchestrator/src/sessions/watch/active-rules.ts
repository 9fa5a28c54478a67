import { z } from 'zod';
import type { SessionExecutor } from '../executor/session-executor.ts';

/** How long Claude Code may take to list its rules. */
export const RULES_REPLY_MS = 10_000;

const RulesReply = z.object({
  response: z.object({
    state: z.object({
      rules: z.array(z.object({ behavior: z.string(), source: z.string().optional(), rule: z.string() })),
    }),
  }),
});

/** A rule that Claude Code reports as active; `source` names the settings that it comes from. */
export type ActiveRule = z.infer<typeof RulesReply>['response']['state']['rules'][number];

/** Returns the rules that Claude Code reports as active; none if the reply is unexpected. @throws as `SessionExecutor.request` */
export async function listActiveRules(
  executor: Pick<SessionExecutor, 'request'>,
  signal: AbortSignal,
): Promise<readonly ActiveRule[]> {
  const reply = await executor.request({ subtype: 'list_permission_rules' }, signal);
  return RulesReply.safeParse(reply).data?.response.state.rules ?? [];
}
