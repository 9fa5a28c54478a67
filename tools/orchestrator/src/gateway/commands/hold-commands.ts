import type { Pauses } from '../../holds/holds.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface PauseDeps {
  holds: Pauses;
}

export const pauseCommands = ({ holds }: PauseDeps): Pick<CommandHandlers, 'get_holds' | 'put_hold'> => ({
  get_holds: async () => ({ holds: await holds.list() }),
  put_hold: async (order, { actor }) => ({ holds: await holds.put(order, actor.name) }),
});
