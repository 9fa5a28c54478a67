import type { PushDevices } from '../../push/push-devices.ts';
import { type CommandHandlers, requireLogin } from './command-handler.ts';

export interface PushDeps {
  pushDevices: PushDevices;
}

type PushCommands = 'get_push_devices' | 'add_push_device' | 'remove_push_device' | 'test_push_device';

export const pushCommands = ({ pushDevices }: PushDeps): Pick<CommandHandlers, PushCommands> => ({
  get_push_devices: (_, { login }) => pushDevices.list(requireLogin(login)),
  add_push_device: async (body, { login }) => ({ device: await pushDevices.add(requireLogin(login), body) }),
  remove_push_device: async ({ deviceId }, { login }) => ({
    device: await pushDevices.remove(requireLogin(login), deviceId),
  }),
  test_push_device: async ({ deviceId }, { login }) => ({
    device: await pushDevices.test(requireLogin(login), deviceId),
  }),
});
