import { RequestId, type SendMessageReply, type ToolInput } from '@callboard/contract';
import { createDenialRetries } from '../../src/features/rules/denial-retries.ts';
import { busyTestSession, type Reported } from './test-session.ts';
import { openTestStore, silent, type TestStore } from './test-store.ts';

interface Given {
  /** What denied the call. */
  source?: 'mode' | 'rule' | 'hook' | 'unknown';
  /** The subagent that made it. */
  agent?: string;
  /** A store that several sessions share. */
  place?: TestStore;
}

const SENT = { status: 'sent', messageId: 'm' } as unknown as SendMessageReply;
export const REQUEST = RequestId.parse('denied:t1');

/** The rules that apply in the stage now. */
export async function rulesOf({ store, stageId, platform }: Pick<DeniedCall, 'store' | 'stageId' | 'platform'>) {
  const stage = await store.read.stages.find(stageId);
  if (stage === null) throw new Error('no stage');
  return store.read.rules.listFor(stage.projectId, stageId, platform.now().toISOString());
}

export type DeniedCall = Awaited<ReturnType<typeof denyCall>>;

/** A session in which Claude Code denied one call, and what people can do about it. `kill` makes every such step throw. */
export async function denyCall(toolName: string, input: ToolInput, given: Given = {}) {
  const { source = 'mode', agent = null, place } = given;
  const session = await busyTestSession({}, place ?? (await openTestStore()));
  const { store, platform, stageId } = session;
  const call: Reported = {
    type: 'block',
    apiMessageId: 'm1',
    parentToolUseId: agent,
    block: { kind: 'tool-use', toolUseId: 't1', toolName, input },
  };
  const denial = { source, detail: source === 'mode' ? null : 'the detail' };
  await session.emit(call, { type: 'call-denied', toolUseId: 't1', toolName, reason: 'Denied.', denial });
  const sent: string[] = [];
  const steps: string[] = [];
  let killedAt = '';
  const step = async (name: string, ofStage = '') => {
    if (killedAt === name || killedAt === `${name} ${ofStage}`) throw new Error('killed');
    steps.push(name);
  };
  const retries = createDenialRetries({
    store,
    platform,
    log: silent,
    settle: () => step('settle'),
    requireResumable: () => step('resumable'),
    sendText: async (_tx, ofStage, text) => {
      await step('send', ofStage);
      sent.push(text);
      return SENT;
    },
  });
  const retry = () => retries.retry(stageId, REQUEST, 'Ada');
  const kill = (at: string) => {
    killedAt = at;
  };
  const check = () => retries.check(stageId, REQUEST);
  const notices = async () =>
    (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' ? [entry.text] : []));
  return { ...session, retries, retry, sent, steps, kill, check, notices, resume: retries.resume };
}
