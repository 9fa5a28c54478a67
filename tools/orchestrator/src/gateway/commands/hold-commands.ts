import type { Holds } from '../../holds/holds.ts';
import type { CommandHandlers } from './command-handler.ts';

export interface HoldParts {
  holds: Holds;
}

export const holdCommands = ({ holds }: HoldParts): Pick<CommandHandlers, 'get_holds' | 'put_hold'> => ({
  get_holds: async () => ({ holds: await holds.list() }),
  put_hold: async (order, { actor }) => ({ holds: await holds.put(order, actor.name) }),
});
