import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BoardEvent, TranscriptEntry } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit, type Kit, untilConfirmed } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';

const run = (command: string) => ({ name: 'Bash', input: { command, description: 'Do it' } });
const options = ['A', 'B'].map((label) => ({ label, description: label }));
const ask = {
  name: 'AskUserQuestion',
  input: { questions: [{ question: 'Which?', header: 'Which', options, multiSelect: false }] },
};

/** Actions by people and accidents in one session; the real claude and the emulator run the same ones. */
const SCENARIOS: Record<string, (kit: Kit) => Promise<string>> = {
  async 'allow, deny with a reason, a question, a failing command'(kit) {
    const steps = [
      { thinking: 'Hm.', text: 'I begin.', tools: [run('touch a')] },
      { tools: [run('touch b')] },
      { tools: [ask] },
      { tools: [run('touch c; echo out; exit 3')] },
      { text: 'All of it, in pieces.', chunkChars: 4 },
    ];
    const stageId = await kit.startStage(prompt({ steps }));
    await decide(kit, stageId, 1, { decision: 'allow' });
    await decide(kit, stageId, 2, { decision: 'deny', reason: 'Not that one' });
    await answer(kit, stageId, 3);
    await decide(kit, stageId, 4, { decision: 'allow', updatedInput: run('touch d; echo other; exit 4').input });
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
  async 'a process that is killed while it asks, continued by a start'(kit) {
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
    await turns(kit, stageId, 1);
    await say(kit, stageId, prompt({ steps: [{ tools: [run('touch a')] }, { text: 'Went on.' }] }));
    const { toolUseId } = await nthRequest(kit, 1);
    await onDisk(kit, toolUseId);
    await killProcess(await livingProcess(kit, stageId));
    await kit.client.state(stageId, 'ended');
    await kit.client.command('start_stage', { stageId });
    await turns(kit, stageId, 2);
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
  async 'an orchestrator that is killed while Claude asks'(kit) {
    const stageId = await kit.startStage(prompt({ steps: [{ tools: [run('touch a')] }, { text: 'Done so.' }] }));
    const { requestId } = await nthRequest(kit, 1);
    await kit.kill();
    await kit.start('apart');
    await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await untilConfirmed(kit, requestId);
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
  async 'two calls in one reply, and messages that wait or join the turn'(kit) {
    const steps = [{ tools: [run('touch a'), run('touch b')] }, { text: 'never said' }];
    const stageId = await kit.startStage(prompt({ steps }));
    await nthRequest(kit, 1);
    await entries(kit, stageId, 'tool-use', 2); // the CLI asks for the first call and shows the second one a moment later
    await say(kit, stageId, prompt({ steps: [{ text: 'From the queue.' }] }));
    await say(kit, stageId, prompt({ steps: [{ tools: [run('touch c')] }, { text: 'Steered.' }] }), 'steer');
    // One after the other, so that they are stored in a fixed order.
    for (const nth of [1, 2, 3]) {
      await decide(kit, stageId, nth, { decision: 'allow' });
      await entries(kit, stageId, 'tool-result', nth);
    }
    await turns(kit, stageId, 2);
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
  async 'an interrupt with an open request, a held queue that is released, and a message without a script'(kit) {
    const stageId = await kit.startStage(prompt({ steps: [{ tools: [run('touch a')] }, { text: 'Next step.' }] }));
    await nthRequest(kit, 1);
    await say(kit, stageId, 'go on');
    await kit.client.command('interrupt', { stageId });
    await kit.client.state(stageId, 'idle');
    await kit.client.command('release_queue', { stageId });
    await turns(kit, stageId, 2);
    await say(kit, stageId, 'and now?');
    await turns(kit, stageId, 3);
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
  async 'a change of mode, a stop in the middle of a turn, and a message that resumes'(kit) {
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
    await turns(kit, stageId, 1);
    await kit.client.command('set_mode', { stageId, mode: 'acceptEdits' });
    await say(kit, stageId, prompt({ steps: [{ tools: [ask] }, { text: 'never said' }] }));
    await nthRequest(kit, 1);
    await kit.client.command('stop_stage', { stageId });
    await kit.client.state(stageId, 'ended');
    await say(kit, stageId, prompt({ steps: [{ text: 'Back again.' }] }));
    await kit.client.state(stageId, 'idle');
    return stageId;
  },
};

it.each(Object.keys(SCENARIOS))('stores the same with the emulator as with the real claude: %s', async (name) => {
  const play = SCENARIOS[name];
  if (play === undefined) throw new Error(name);
  const where = name.startsWith('an orchestrator that is killed') ? 'apart' : 'here';
  const real = await createKit({ where });
  const onReal = await stored(real, await play(real));
  const emulated = await createKit({ where, isEmulated: true });
  const onEmulated = await stored(emulated, await play(emulated));
  expect(onEmulated).toEqual(onReal);
  expect(onReal.transcript.length).toBeGreaterThan(3);
});

it('drops a message that it already received, even after a resume', async () => {
  const kit = await createKit({ isEmulated: true });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'First.' }] }));
  await turns(kit, stageId, 1);
  const messageId = randomUUID();
  const message = prompt({ steps: [{ tools: [run('echo once >> ran')] }, { text: 'Ran.' }] });
  await kit.client.command('send_message', { stageId, message, messageId });
  await decide(kit, stageId, 1, { decision: 'allow' });
  await turns(kit, stageId, 2);
  await killProcess(await livingProcess(kit, stageId));
  await kit.client.state(stageId, 'ended');
  await kit.client.command('start_stage', { stageId });
  await kit.client.state(stageId, 'idle');
  const { stage } = await kit.client.command('get_stage', { stageId });
  expect(await readFile(join(stage.worktree?.path ?? '', 'ran'), 'utf8')).toBe('once\n');
});

it('denies a call that is too large to show, tells Claude why, and continues', async () => {
  const kit = await createKit({ isEmulated: true });
  const steps = [{ tools: [{ name: 'Paste', input: { chars: 20_000_000 } }] }, { text: 'In smaller pieces, then.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  await turns(kit, stageId, 1);
  const transcript = await kit.client.transcript(stageId);
  const result = transcript.find(({ kind }) => kind === 'tool-result');
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining('too large to show to a person') });
  expect(transcript.flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []))).toEqual(['too-large']);
  expect(await kit.client.command('get_pending', {})).toMatchObject({ pending: [] });
  await kit.client.state(stageId, 'idle');
});

it('does not consider a process busy after a restart if the end of its turn was in the lost output', async () => {
  const kit = await createKit({ where: 'apart', isEmulated: true });
  const steps = [{ tools: [run('until test -e go; do sleep 0.05; done')] }, { text: 'Done.' }];
  const stageId = await kit.startStage(prompt({ steps }));
  await decide(kit, stageId, 1, { decision: 'allow' });
  const { stage } = await kit.client.command('get_stage', { stageId });
  await kit.kill();
  await writeFile(join(stage.worktree?.path ?? '', 'go'), '');
  const spool = join(kit.dataDir, 'sessions', stageId, stage.session?.launchId ?? '', 'out.jsonl');
  const resultLine = async () => /\{"type":"result".*\n/.exec(await readFile(spool, 'latin1'));
  await expect.poll(resultLine, { interval: 20 }).not.toBeNull();
  const lost = await resultLine();
  const file = await open(spool, 'r+');
  await file.write('\n'.repeat(lost?.[0].length ?? 0), lost?.index ?? 0);
  await file.close();
  await kit.start('apart');
  await kit.client.state(stageId, 'idle');
  const { session } = await kit.client.command('get_session', { stageId });
  expect(session.lastTurn).toMatchObject({ outcome: 'interrupted', message: expect.stringContaining('lost') });
});

async function nthRequest(kit: Kit, n: number) {
  await expect.poll(() => asked(kit).length, { interval: 5 }).toBeGreaterThanOrEqual(n);
  const data = asked(kit)[n - 1];
  if (data === undefined) throw new Error('unreachable');
  return data;
}

const asked = (kit: Kit) =>
  kit.client.events.flatMap((event) =>
    event.type === 'approval-requested' || event.type === 'question-requested' ? [event.data] : [],
  );

async function decide(kit: Kit, stageId: string, n: number, fields: Record<string, unknown>): Promise<void> {
  const { requestId } = await nthRequest(kit, n);
  await kit.client.command('approve_tool', { stageId, requestId, ...fields });
}

async function answer(kit: Kit, stageId: string, n: number): Promise<void> {
  const { requestId } = await nthRequest(kit, n);
  await kit.client.command('answer_question', { stageId, requestId, answers: { 'Which?': 'B' } });
}

const say = (kit: Kit, stageId: string, message: string, mode = 'append') =>
  kit.client.command('send_message', { stageId, message, mode });

/** Waits until there are that many entries of a kind. */
async function entries(kit: Kit, stageId: string, kind: TranscriptEntry['kind'], count: number): Promise<void> {
  const seen = async () => (await kit.client.transcript(stageId)).filter((entry) => entry.kind === kind).length;
  await expect.poll(seen, { interval: 5 }).toBeGreaterThanOrEqual(count);
}

const turns = (kit: Kit, stageId: string, n: number) => entries(kit, stageId, 'turn-end', n);

/** The CLI writes its transcript shortly after it asks; after a kill, anything missing from the transcript never happened for the CLI. */
async function onDisk(kit: Kit, toolUseId: string): Promise<void> {
  const claude = join(kit.env.HOME ?? '', '.claude');
  const pauses = async () => {
    const names = (await readdir(claude, { recursive: true })).filter((name) => name.endsWith('.jsonl'));
    const texts = await Promise.all(names.map((name) => readFile(join(claude, name), 'utf8')));
    return texts.some((text) => text.includes(toolUseId));
  };
  await expect.poll(pauses, { interval: 5 }).toBe(true);
}

/** Everything that Callboard stored about a session, without the values that differ between any two runs of the same claude. */
async function stored(kit: Kit, stageId: string) {
  const { decisions } = await kit.client.command('get_decisions', { limit: 100 });
  const { session } = await kit.client.command('get_session', { stageId });
  const { events } = await kit.client.command('get_events', { since: 0, limit: 1_000 });
  const { state, lastTurn, queued, queueHeld, mode, backgroundTasks } = session;
  return {
    transcript: (await kit.client.transcript(stageId)).map(lasting),
    decisions: decisions.map(({ kind, toolName, outcome, by, reason, answers, updatedInput, delivery }) => {
      return { kind, toolName, outcome, by, reason, answers, updatedInput, delivery };
    }),
    session: { state, lastTurn: lastTurn?.outcome, queued, queueHeld, mode, backgroundTasks },
    events: countsOf(events),
  };
}

/** An entry without ids, times, and cost. */
function lasting(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case 'user':
      return `user ${entry.by} ${entry.text}`;
    case 'text':
    case 'thinking':
      return `${entry.kind} ${entry.text} ${entry.blockId.split(':')[1]}`;
    case 'tool-use':
      return `tool-use ${entry.toolName} ${JSON.stringify(entry.input)}`;
    case 'tool-result':
      return `tool-result ${entry.isError} ${entry.text}`;
    case 'decision':
      return `decision ${entry.decision.outcome} ${entry.decision.delivery}`;
    case 'turn-end':
      return `turn-end ${entry.outcome} ${entry.message}`;
    case 'notice':
      return `notice ${entry.level} ${entry.code}`;
    case 'unknown':
      return `unknown ${JSON.stringify(entry.raw)}`;
  }
}

/** How often each event was sent. The number of session updates is left out: it depends on how lines arrived. */
function countsOf(events: readonly BoardEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of events) {
    if (['session-updated', 'transcript-appended', 'decision-updated', 'stage-updated'].includes(type)) continue;
    counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}
