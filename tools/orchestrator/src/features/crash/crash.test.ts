import { expect, it, onTestFinished, vi } from 'vitest';
import type { CommandContext } from '../../core/commands/command-handler.ts';
import { crashCommands } from './crash.ts';

const from = (kind: 'page' | 'token'): CommandContext => ({
  actor: { name: 'Ada' },
  login: { actor: { name: 'Ada' }, loginId: 'a-login', kind },
  watch: () => undefined,
});
const sessions = { executors: () => [] };

it('kills the orchestrator that was asked, once its reply is on the way, and no later one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const crash = vi.fn();
  const commands = crashCommands({ sessions, crash });
  const { instance } = await commands.get_processes({}, from('page'));
  await commands.crash({ instance }, from('page'));
  expect(crash).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_000);
  expect(crash).toHaveBeenCalledOnce();

  const next = crashCommands({ sessions, crash });
  await next.crash({ instance }, from('page')); // the request was sent again
  vi.advanceTimersByTime(1_000);
  expect(crash).toHaveBeenCalledOnce();
});

it('refuses a token, and where nobody would start it again', async () => {
  const crash = vi.fn();
  const commands = crashCommands({ sessions, crash });
  const { instance } = await commands.get_processes({}, from('token'));
  await expect(commands.crash({ instance }, from('token'))).rejects.toMatchObject({ code: 'page_only' });
  const alone = crashCommands({ sessions, crash: undefined });
  await expect(alone.crash({ instance }, from('page'))).rejects.toMatchObject({ code: 'bad_request' });
});
