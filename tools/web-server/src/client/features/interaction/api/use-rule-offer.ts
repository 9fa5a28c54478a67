import type { PendingRequest, RuleLocation, RuleOffer } from '@callboard/contract';
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { rulesQuery } from '../../../data/queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

const offerKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>) =>
  ['rule-offer', stageId, requestId] as const;

/** The exact rules that a request was allowed three times for; null while there are none. */
export function useRuleOffer(request: PendingRequest): RuleOffer | null {
  const { stageId, requestId, suppressAlwaysAllow, leavesSandbox } = request;
  const { data } = useQuery({
    queryKey: offerKey(request),
    queryFn: ({ signal }) => client.command('get_rule_offer', { stageId, requestId }, { signal }),
    enabled: !suppressAlwaysAllow && leavesSandbox === null,
  });
  return data?.offer ?? null;
}

/** What rules would have done if they had applied all along: one result for each, as if all of them applied. */
export const useRehearsals = (rules: readonly string[], scope: RuleLocation) =>
  useQueries({
    queries: rules.map((rule) => ({
      queryKey: ['rehearsal', rule, rules, scope],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.command('rehearse_rule', { rule, scope, along: rules.filter((other) => other !== rule) }, { signal }),
      staleTime: 60_000,
    })),
  });

interface Saving {
  rules: readonly string[];
  scope: RuleLocation;
  expiresAt: string | undefined;
}

/** Saves the rules of an offer. */
export function useSaveRules({ projectId }: Pick<RuleOffer, 'projectId'>, done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    async run({ rules, scope, expiresAt }: Saving) {
      for (const rule of rules) await client.command('add_rule', { rule, scope, ...(expiresAt && { expiresAt }) });
    },
    failed: 'The rule was not saved',
    done: () => {
      void cache.invalidateQueries({ queryKey: rulesQuery(projectId).queryKey });
      done();
    },
  });
}

/** Puts an offer away. */
export function useDismissOffer(done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ projectId, rules }: RuleOffer) => client.command('dismiss_rule_offer', { projectId, rules }),
    failed: 'The suggestion was not dismissed',
    done: () => {
      void cache.invalidateQueries({ queryKey: ['rule-offer'] });
      done();
    },
  });
}
