import { MessageId, type RewindRecord } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { begun, busyTestSession, type Reported, type TestSession, up } from '../../../test/support/test-session.ts';
import { openTestStore, tickingPlatform } from '../../../test/support/test-store.ts';
import { ConversationState } from '../../store/records.ts';
import { applyEvent } from './apply-agent-event.ts';
import { changeSession, openChange, saveChange } from './change-session.ts';
import type { LaunchEnd } from './end-launch.ts';
import { finish, leaveToTerminal, withdraw } from './rewind-rules.ts';
import { localDay } from './spending-limits.ts';

interface Count {
  usd: number;
  tokens: number;
}
const NOTHING: Count = { usd: 0, tokens: 0 };
const plus = (a: Count, b: Count): Count => ({ usd: a.usd + b.usd, tokens: a.tokens + b.tokens });
const tokensOf = ({ tokens }: Count) => ({ input: tokens, output: 0, cacheRead: tokens * 7, cacheCreation: 0 });

/** What Claude Code counts, as seen on the real one (docs/protocol.md): a model of it, beside which the ledger is held. */
interface Cli {
  session: TestSession;
  /** Of its conversation. */
  id: string;
  /** Its conversation's count as saved. A process saves it when it ends in peace. */
  saved: Count;
  /** That of the conversation before a person went back. */
  before: { id: string; saved: Count } | null;
  /** The count of its running process. */
  total: Count | null;
  inTurn: boolean;
  /** What it has spent and not yet reported in a result, and how much of it was reported while the turn ran. */
  open: Count;
  told: Count;
}

const cost = fc.nat(2_000).map((n) => n / 1_000);
const STEPS = ['stop', 'kill', 'stop-by-kill', 'clear', 'back', 'undo', 'adopt', 'terminal', 'report'] as const;
const step = fc.record({
  stage: fc.constantFrom(0, 1),
  does: fc.oneof(
    { weight: 4, arbitrary: fc.constant('result' as const) },
    { weight: 2, arbitrary: fc.constant('resume' as const) },
    { weight: 6, arbitrary: fc.constantFrom(...STEPS) },
  ),
  spent: fc.record({ usd: cost, tokens: fc.nat(5_000) }),
  /** Callboard dies before it has stored the step, and reads the same lines again. */
  isReadTwice: fc.boolean(),
  nextDay: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const result = (total: Count): Reported => ({
  type: 'turn-ended',
  end: { outcome: 'succeeded', message: null, durationMs: 5, costUsd: total.usd, tokens: tokensOf(total) },
});

/** Applies the lines; if they are read twice, Callboard has died before what the first reading did was stored. */
async function emit({ session }: Cli, { isReadTwice }: Step, ...lines: Reported[]): Promise<void> {
  const { store, stageId } = session;
  const fixed = { worktree: '/w', mayHooksAllow: false, knowsAll: true, mayPeersWrite: false, onAlarm: () => {} };
  const dying = store.transact(async (tx) => {
    const change = await openChange(tx, stageId);
    const sandbox = { isOn: false, autoAllows: false };
    for (const line of lines) await applyEvent({ ...fixed, tx, change, launchId: session.launchId(), sandbox }, line);
    await saveChange(tx, change);
    throw new Error('killed');
  });
  if (isReadTwice) await expect(dying).rejects.toThrow('killed');
  await dying.catch(() => {});
  await session.emit(...lines);
}

/** Ends the process. @returns what is known to have been spent in a turn that it could not finish */
async function end(cli: Cli, how: LaunchEnd, saves: boolean): Promise<Count> {
  const { total, inTurn, told } = cli;
  if (total === null) return NOTHING;
  await cli.session.end(how);
  Object.assign(cli, { saved: saves ? total : cli.saved, total: null, inTurn: false, open: NOTHING, told: NOTHING });
  return inTurn ? told : NOTHING;
}

async function resume(cli: Cli): Promise<void> {
  if (cli.total !== null) return;
  await cli.session.enqueue('Go on');
  await cli.session.begin();
  cli.before = null;
  const asks = (await cli.session.outbox()).some(
    ({ body }) => body.kind === 'control' && body.request.subtype === 'get_usage',
  );
  const counts: Reported = { type: 'cost-count', costUsd: cli.saved.usd, tokens: tokensOf(cli.saved) };
  await cli.session.emit(...(asks ? [counts] : []), up(), { type: 'conversation', sessionId: cli.id }, begun());
  Object.assign(cli, { total: cli.saved, inTurn: true, open: NOTHING, told: NOTHING });
}

/** As the usage tracker does, while a turn runs. */
async function reportTurn(cli: Cli, step: Step): Promise<void> {
  if (cli.total === null || !cli.inTurn) return;
  const total = plus(cli.total, step.spent);
  Object.assign(cli, { total, open: plus(cli.open, step.spent) });
  await cli.session.emit({ type: 'used', tokens: tokensOf(step.spent) });
  await cli.session.store.transact((tx) =>
    changeSession(tx, cli.session.stageId, (change) => {
      const { turnUsage, costCounted, costUsd } = change.record;
      if (turnUsage === null) throw new Error('the turn has used tokens');
      change.record = { ...change.record, turnUsage: { ...turnUsage, costUsd: total.usd - (costCounted ?? costUsd) } };
    }),
  );
  cli.told = cli.open;
}

const GONE_BACK: RewindRecord = {
  id: 'g1',
  messageId: MessageId.parse('m1'),
  at: new Date(0).toISOString(),
  by: 'Ada',
  from: 1,
  to: 1,
  files: false,
  conversation: true,
  canUndo: true,
};

let conversations = 0;
/** A conversation that Claude Code counts from 0; a copy of another one is such, too. */
const fresh = () => ({ id: `c${++conversations}`, saved: NOTHING });

/** Goes back, or undoes that, as stored by the last step of either. */
async function rewind(cli: Cli, kind: 'rewind' | 'undo'): Promise<void> {
  const { store, stageId } = cli.session;
  if (cli.total !== null || (kind === 'undo') !== (cli.before !== null)) return;
  const { undo, ...record } = await cli.session.record();
  const copy = { sessionId: null, forkOf: { fork: 'c0', until: 'u1' }, costCounted: 0, tokensCounted: 0 };
  const conversation = kind === 'undo' ? undo?.conversation : ConversationState.parse({ ...record, ...copy });
  if (conversation === undefined) return; // a message was sent since
  await store.transact((tx) =>
    changeSession(tx, stageId, (change) =>
      finish(tx, change, { kind, by: 'Ada', files: null, blocked: [], conversation, entry: GONE_BACK }),
    ),
  );
  Object.assign(
    cli,
    kind === 'undo' ? { ...cli.before, before: null } : { before: { id: cli.id, saved: cli.saved }, ...fresh() },
  );
}

/** A person goes on in a terminal, which counts for the conversation and not for the stage. Until it has begun, no terminal may. */
async function continueInTerminal(cli: Cli, { spent }: Step): Promise<void> {
  if (cli.total !== null || (await cli.session.record()).sessionId === null) return;
  const since = new Date(0).toISOString();
  const { store, stageId } = cli.session;
  await store.transact((tx) => changeSession(tx, stageId, (change) => leaveToTerminal(change, { since, by: 'Ada' })));
  await store.transact((tx) => changeSession(tx, stageId, (change) => withdraw(change, since, null)));
  Object.assign(cli, { saved: plus(cli.saved, spent), before: null });
}

/** A stage that begins with a copy of a conversation counts only what the copy spends. */
async function adopt(cli: Cli): Promise<void> {
  if (cli.total !== null) return;
  const { store, stageId } = cli.session;
  await store.transact((tx) =>
    changeSession(tx, stageId, (change) => {
      change.record = { ...change.record, sessionId: null, forkOf: { fork: 'c0', until: null }, undo: null };
    }),
  );
  Object.assign(cli, { ...fresh(), before: null });
}

/** Does the step, on Callboard's side and on Claude Code's. @returns what becomes known to have been spent */
async function carryOut(cli: Cli, step: Step): Promise<Count> {
  switch (step.does) {
    case 'result': {
      if (cli.total === null) return NOTHING;
      const total = plus(cli.total, step.spent);
      const spent = plus(cli.open, step.spent);
      await emit(cli, step, begun(), result(total));
      Object.assign(cli, { total, inTurn: false, open: NOTHING, told: NOTHING });
      return spent;
    }
    case 'clear': {
      if (cli.total === null || cli.inTurn) return NOTHING;
      Object.assign(cli, { ...fresh(), total: NOTHING });
      const cleared = {
        kind: 'notice',
        parentToolUseId: null,
        level: 'info',
        code: 'conversation-cleared',
        text: '',
      } as const;
      await emit(cli, step, { type: 'notice', entry: cleared }, { type: 'conversation', sessionId: cli.id });
      return NOTHING;
    }
    case 'stop':
      return end(cli, { kind: 'stopped', reason: 'Stopped.' }, true);
    case 'stop-by-kill':
      return end(cli, { kind: 'stopped', reason: 'Stopped.', isKilled: true }, false);
    case 'kill':
      return end(cli, { kind: 'died', reason: 'Killed.', wasWatched: true }, false);
    default:
      await OTHERS[step.does](cli, step);
      return NOTHING;
  }
}

const OTHERS = {
  resume,
  report: reportTurn,
  terminal: continueInTerminal,
  adopt,
  back: (cli: Cli) => rewind(cli, 'rewind'),
  undo: (cli: Cli) => rewind(cli, 'undo'),
};

it('has in the ledger what Claude Code has spent, by day and stage, whatever becomes of processes and conversations', async () => {
  let now = Date.parse('2026-03-27T12:00:00.000Z');
  const platform = { ...tickingPlatform(), now: () => new Date(now) };
  const given = await openTestStore(platform);
  const steps = fc.array(step, { minLength: 5, maxLength: 30 });
  const check = fc.asyncProperty(steps, async (todo) => {
    const clis: Cli[] = [];
    for (const _ of [0, 1]) {
      const session = await busyTestSession({}, given);
      const cli = { session, ...fresh(), before: null, total: NOTHING, inTurn: true, open: NOTHING, told: NOTHING };
      await session.emit({ type: 'conversation', sessionId: cli.id });
      clis.push(cli);
    }
    const expected = new Map<string, Count>();
    for (const one of todo) {
      if (one.nextDay) now += 86_400_000;
      const cli = clis[one.stage];
      if (cli === undefined) throw new Error('no such stage');
      const spent = await carryOut(cli, one);
      const key = `${localDay(new Date(now))} ${cli.session.stageId}`;
      if (spent.usd + spent.tokens > 0) expected.set(key, plus(expected.get(key) ?? NOTHING, spent));
    }
    const ids = clis.map(({ session }) => session.stageId);
    const all = await given.store.read.spending.list('0000', '9999');
    const rows = all.filter(({ stageId }) => ids.includes(stageId));
    const ledger = rows.map(({ day, stageId, usd, tokens }) => [`${day} ${stageId}`, usd.toFixed(6), tokens]);
    const real = [...expected].toSorted().map(([key, { usd, tokens }]) => [key, usd.toFixed(6), tokens]);
    expect(ledger).toEqual(real);
    for (const { session } of clis) {
      const sum = rows.filter(({ stageId }) => stageId === session.stageId).reduce((total, { usd }) => total + usd, 0);
      expect((await session.record()).costUsd).toBeCloseTo(sum, 6);
    }
  });
  await fc.assert(check, { numRuns: 40 });
});
