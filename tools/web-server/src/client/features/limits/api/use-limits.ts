import type { CommandInput } from '@callboard/contract';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Changes what happens at a usage limit. */
export const useUpdateLimits = () =>
  useCommand({
    run: (patch: CommandInput<'update_limits'>) => client.command('update_limits', patch),
    failed: 'What happens at a usage limit was not changed',
  });
