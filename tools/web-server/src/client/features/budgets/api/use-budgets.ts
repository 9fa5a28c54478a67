import type { CommandInput } from '@callboard/contract';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';

/** Sets, changes or removes a budget. The form shows what was refused. */
export const usePutBudget = () =>
  useCommand({ run: (body: CommandInput<'put_budget'>) => client.command('put_budget', body) });
