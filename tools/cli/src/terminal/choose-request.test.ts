import { boardView, CLAUDE_UNCHECKED, NO_LIMITS, SANDBOX_UNTRIED } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { AT, sampleDecision, sampleRequest, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { nodePlatform, type Platform } from '../platform.ts';
import { chooseRequest, confirm } from './approvals.ts';

/** A desk with these open requests and one decided, and a terminal whose person answers this. */
function setUp(ids: readonly string[], { isTerminal = true, answer = 'y' as string | null } = {}) {
  const board = boardView({
    seq: 1,
    projects: [],
    stages: [{ ...sampleStage(), session: null }],
    unsettled: [],
    warnings: [],
    paused: null,
    pending: ids.map((requestId) => sampleRequest({ requestId })),
    startHolds: [],
    budgets: [],
    limits: NO_LIMITS,
    holds: [],
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
  });
  const replies = {
    get_board: board,
    get_decisions: { decisions: [sampleDecision({ requestId: 'gone-1', outcome: 'denied', by: 'Ada' })], next: null },
  };
  const api = {
    command: async (type: keyof typeof replies) => replies[type],
  } as Pick<Transport, 'command'> as Transport;
  const printed: string[] = [];
  const asked: string[] = [];
  const input = {
    isTerminal,
    read: async () => '',
    ask: async (question: string) => {
      asked.push(question);
      return answer;
    },
  };
  const platform: Platform = {
    ...nodePlatform(process),
    input,
    err: (line: string) => void printed.push(line),
    now: () => new Date(AT),
    env: {},
  };
  return { at: { api, platform, hint: (text: string) => `callboard ${text}` }, platform, printed, asked };
}

it('prints the request that was named whole, and asks nothing', async () => {
  const { at, platform, printed, asked } = setUp(['req-1', 'req-2']);
  const chosen = await chooseRequest(at, 'req-2');
  await confirm(chosen, 'Allow?', platform);
  expect([chosen.request.requestId, asked]).toEqual(['req-2', []]);
  expect(printed.join('\n')).toMatch(/STAGE-1 A stage.*request req-2.*Run this command\?.*\$ make/s);
});

it('asks about the only open request if none was named', async () => {
  const { at, platform, asked } = setUp(['req-1']);
  await confirm(await chooseRequest(at, undefined), 'Allow?', platform);
  expect(asked).toEqual(['Allow? [y/N] ']);
});

it.each(['', 'n', 'yesterday', null])('decides nothing if the answer is %j', async (answer) => {
  const { at, platform } = setUp(['req-1'], { answer });
  const chosen = await chooseRequest(at, undefined);
  await expect(confirm(chosen, 'Allow?', platform)).rejects.toThrow('nothing was decided');
});

it('refuses to choose among several, for nobody, and where nobody can be asked', async () => {
  await expect(chooseRequest(setUp(['req-1', 'req-2']).at, undefined)).rejects.toThrow(
    /2 requests are open.*req-1.*req-2/s,
  );
  await expect(chooseRequest(setUp([]).at, undefined)).rejects.toThrow('no request is open');
  const piped = setUp(['req-1'], { isTerminal: false });
  await expect(chooseRequest(piped.at, undefined)).rejects.toThrow('without a terminal, name the request');
});

it('says who decided a request that is no longer open', async () => {
  const { at } = setUp(['req-1']);
  await expect(chooseRequest(at, 'gone')).rejects.toThrow(
    'no longer open: denied by Ada. The open ones: callboard pending',
  );
  await expect(chooseRequest(at, 'never')).rejects.toThrow('there is no open request "never"');
});
