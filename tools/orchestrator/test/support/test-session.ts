import type {
  BoardEvent,
  LaunchId,
  PendingRequest,
  QueuedMessage,
  StageId,
  TranscriptEntry,
} from '@callboard/contract';
import type { Ask, LastingEvent } from '../../src/core/agent-event.ts';
import { beginLaunch } from '../../src/core/launch/begin-launch.ts';
import { applyEvent } from '../../src/core/session/apply-agent-event.ts';
import { openChange, saveChange } from '../../src/core/session/change-session.ts';
import { endLaunch, type LaunchEnd } from '../../src/core/session/end-launch.ts';
import { queuedMessage } from '../../src/core/session/message-delivery.ts';
import type { EventContext } from '../../src/core/session/session-change.ts';
import type { Platform } from '../../src/platform/runtime.ts';
import { OutboxBody, type OutboxRow, type SessionRecord } from '../../src/store/records.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStore, type TestStore } from './test-store.ts';

export type Reported = LastingEvent;

/** A session in a real store. The test plays the process and reports what a process would. */
export interface TestSession {
  readonly store: Store;
  readonly platform: Platform;
  readonly stageId: StageId;
  /** The database file. */
  readonly file: string;
  /** Returns the id of the newest launch. */
  launchId(): LaunchId;
  /** How many alarms were raised. */
  alarms(): number;
  /** Applies these events in one transaction, like a batch of the spool. */
  emit(...events: Reported[]): Promise<SessionRecord>;
  /** Begins a launch, optionally for a queued message. The process is not up until it reports that. */
  begin(messageId?: string): Promise<void>;
  /** Ends the process. `inConversation` lists the messages found in its conversation; null if it could not be read. */
  end(end?: LaunchEnd, inConversation?: readonly string[] | null): Promise<SessionRecord>;
  /** Queues a message from a person; returns its id. */
  enqueue(text: string): Promise<string>;
  record(): Promise<SessionRecord>;
  pending(): Promise<PendingRequest[]>;
  queue(): Promise<QueuedMessage[]>;
  transcript(): Promise<TranscriptEntry[]>;
  /** The rows of the newest launch, whatever their state. */
  outbox(): Promise<OutboxRow[]>;
  /** The events of this stage, of one type. */
  events<T extends BoardEvent['type']>(type: T): Extract<BoardEvent, { type: T }>['data'][];
}

const ALL = ['accepted', 'written', 'confirmed', 'void'] as const;
/** The settings of the launch. */
export interface TestLaunch {
  sandbox?: EventContext['sandbox'];
  mayPeersWrite?: boolean;
}
const OUTSIDE = { isOn: false, autoAllows: false };

const DIED: LaunchEnd = { kind: 'died', wasWatched: true, reason: 'The process is gone.' };

/** Begins a session of a new stage. Its process is not up yet. */
export async function beginTestSession(
  fields: Record<string, unknown> = {},
  given?: TestStore,
  launch: TestLaunch = {},
): Promise<TestSession> {
  const { store, platform, events, file, addStage } = given ?? (await openTestStore());
  const stageId = await addStage(fields);
  let launchId: LaunchId | undefined;
  let alarms = 0;
  let position = 0;

  const newestLaunch = (): LaunchId => {
    if (launchId === undefined) throw new Error('no launch was begun');
    return launchId;
  };
  const session: TestSession = {
    store,
    platform,
    stageId,
    file,
    launchId: newestLaunch,
    alarms: () => alarms,
    emit: (...reported) =>
      store.transact(async (tx) => {
        const change = await openChange(tx, stageId);
        const onAlarm = () => void alarms++;
        const { sandbox = OUTSIDE, mayPeersWrite = false } = launch;
        const fixed = { worktree: '/w', mayHooksAllow: false, knowsAll: true };
        const context = { tx, change, launchId: newestLaunch(), ...fixed, sandbox, mayPeersWrite, onAlarm };
        for (const event of reported) await applyEvent(context, event);
        return saveChange(tx, change);
      }),
    async begin(messageId) {
      const row = (await store.read.outbox.queueOf(stageId)).find(({ wireId }) => wireId === messageId);
      const begun = await store.transact((tx) =>
        beginLaunch(tx, { platform, dataDir: '/data' }, { stageId, actor: 'Ada', message: row }),
      );
      launchId = begun.launchId;
    },
    async end(end = DIED, inConversation = null) {
      const found = inConversation === null ? null : new Set(inConversation);
      await store.transact((tx) => endLaunch(tx, { id: newestLaunch(), stageId }, end, found));
      return session.record();
    },
    enqueue: (text) =>
      store.transact(async (tx) => {
        const wireId = platform.newWireId();
        const row = { id: platform.newId(), wireId, stageId, launchId: null, actor: 'Ada', createdAt: tx.now };
        const body = OutboxBody.parse({ kind: 'message', text, entered: false });
        await tx.outbox.insert({ ...row, body, position: ++position });
        const change = await openChange(tx, stageId);
        change.queueChanged = true;
        await saveChange(tx, change);
        return wireId;
      }),
    async record() {
      const record = await store.read.sessions.find(stageId);
      if (record === null) throw new Error(`${stageId} has no session`);
      return record;
    },
    pending: () => store.read.requests.listOpenOf(stageId),
    queue: async () => (await store.read.outbox.queueOf(stageId)).map(queuedMessage),
    transcript: () => store.read.transcript.page(stageId, { after: 0, before: undefined, limit: 100_000 }),
    outbox: () => store.read.outbox.listOf(newestLaunch(), ALL),
    events: (type) =>
      events.flatMap((event) =>
        event.type === type && 'stageId' in event.data && event.data.stageId === stageId ? [event.data as never] : [],
      ),
  };
  await session.begin();
  return session;
}

/** Begins a session whose process is up and works on the stage's prompt. */
export async function busyTestSession(
  fields?: Record<string, unknown>,
  given?: TestStore,
  launch?: TestLaunch,
): Promise<TestSession> {
  const session = await beginTestSession(fields, given, launch);
  const prompt = (await session.outbox()).find((row) => row.kind === 'message');
  await session.emit(up(), read(prompt?.wireId ?? ''), begun(prompt?.wireId ?? ''));
  return session;
}

export const up = (open: Extract<LastingEvent, { type: 'initialized' }>['open'] = []): Reported => ({
  type: 'initialized',
  mode: 'default',
  open,
  unclear: [],
});

export const read = (messageId: string): Reported => ({ type: 'message-progress', messageId, progress: 'consumed' });

/** Begins a turn with these messages, joined into one if there are several. */
export const begun = (...messageIds: string[]): Reported => ({
  type: 'turn-started',
  model: 'opus',
  mode: 'default',
  messageIds,
});

export const turnEnded = (outcome: 'succeeded' | 'failed' | 'interrupted' = 'succeeded'): Reported => ({
  type: 'turn-ended',
  end: { outcome, message: null, durationMs: 5, costUsd: 0.5, tokens: null },
});

export const sampleAsk = (fields: Partial<Ask> = {}): Ask => ({
  toolName: 'Bash',
  displayName: 'Bash',
  input: { command: 'make' },
  description: null,
  toolUseId: 'toolu_1',
  agentId: null,
  reason: null,
  blockedPath: null,
  suggestions: [],
  suppressAlwaysAllow: false,
  leavesSandbox: null,
  ...fields,
});

export const asked = (requestId: string, fields: Partial<Ask> = {}): Reported => ({
  type: 'asked',
  requestId,
  kind: 'approval',
  ask: sampleAsk(fields),
});
