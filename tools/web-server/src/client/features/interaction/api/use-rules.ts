import type { PermissionRule } from '@callboard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { refreshRules } from '../../../data/queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Removes a kept rule. */
export function useRemoveRule() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ ruleId }: PermissionRule) => client.command('remove_rule', { ruleId }),
    failed: ({ rule }) => `${rule} still holds`,
    done: () => refreshRules(cache),
  });
}
