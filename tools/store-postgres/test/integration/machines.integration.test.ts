import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../../test-support/free-port.ts';
import { git } from '../../../../test-support/git.ts';
import { itAll } from '../../../../test-support/it-all.ts';
import { createDatabase, postgresLack } from '../../../../test-support/postgres.ts';
import { until } from '../../../../test-support/until.ts';
import { createCluster } from '../../../orchestrator/test/support/cluster.ts';
import type { Kit } from '../../../orchestrator/test/support/kit.ts';

const append = (file: string, word: string) => ({
  name: 'Bash',
  input: { command: `echo ${word} >> ${file}`, description: `Write ${word}` },
});

const machinesOf = async ({ client }: Kit) => (await client.command('get_machines')).machines;

describe.skipIf(postgresLack !== '')(`machines on one PostgreSQL${postgresLack && ` (${postgresLack})`}`, () => {
  it('starts a stage on the machine that it is pinned to, and drives it from the other one', async () => {
    const cluster = await createCluster(await createDatabase());
    const [desk, attic] = [await cluster.join('desk'), await cluster.join('attic')];
    expect(await machinesOf(desk)).toMatchObject([
      { name: 'desk', state: 'connected', projects: ['shop'] },
      { name: 'attic', state: 'connected', projects: ['shop'] },
    ]);
    const { projects } = await attic.client.command('get_projects');
    expect(projects).toMatchObject([{ id: 'shop', path: attic.repo }]); // one project, at its own path

    const { client } = desk;
    const stageId = await desk.startStage(
      prompt({ steps: [{ tools: [append('made.txt', 'here')] }, { text: 'Done.' }] }),
      {
        machine: 'attic',
      },
    );
    const request = await client.event('approval-requested', (data) => data.stageId === stageId);
    expect(await readdir(join(attic.dataDir, 'sessions', stageId))).toHaveLength(1);
    await expect(readdir(join(desk.dataDir, 'sessions', stageId))).rejects.toThrow();
    const answer = await client.command('approve_tool', { stageId, requestId: request.requestId, decision: 'allow' });
    expect(answer).toMatchObject({ decision: { outcome: 'allowed', delivery: 'confirmed' } });
    await client.state(stageId, 'idle');
    const { diff } = await client.command('get_diff', { stageId });
    expect(diff.files).toMatchObject([{ path: 'made.txt' }]);
    const { stage } = await client.command('get_stage', { stageId });
    expect(await readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8')).toBe('here\n');
    expect(stage.machineId).toBe((await machinesOf(desk))[1]?.id);
    for (const { client: one } of [desk, attic])
      expect(await one.command('search', { q: 'done ', kind: 'text' })).toMatchObject({ results: [{ stageId }] });

    await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Heard.' }] }) });
    await until('the message was answered', async () =>
      JSON.stringify(await client.transcript(stageId)).includes('Heard.'),
    );
    await client.command('stop_stage', { stageId });
    await client.state(stageId, 'ended');
  });

  itAll('starts each waiting stage once, on whichever machine', async () => {
    const cluster = await createCluster(await createDatabase());
    const [desk, attic] = [
      await cluster.join('desk', { maxParallel: 2 }),
      await cluster.join('attic', { maxParallel: 2 }),
    ];
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) {
      const { stage } = await desk.client.command('create_stage', {
        projectId: 'shop',
        title: `Stage ${n}`,
        autoStart: true,
        prompt: prompt({ steps: [{ text: `Done ${n}.` }] }),
      });
      ids.push(stage.id);
    }
    for (const id of ids) await desk.client.state(id, 'idle', { withinMs: 60_000 });
    for (const stageId of ids) {
      const there = await Promise.all(
        [desk, attic].map(({ dataDir }) => readdir(join(dataDir, 'sessions', stageId)).catch(() => [])),
      );
      expect(there.flat()).toHaveLength(1);
    }
    for (const kit of [desk, attic]) await kit.endIdle();
    for (const id of ids) await desk.client.state(id, 'ended');
  });

  it('interrupts the stages of a machine that is declared lost, starts them elsewhere, and keeps its work when it is back', async () => {
    const cluster = await createCluster(await createDatabase());
    const [desk, attic] = [
      await cluster.join('desk', { isEmulated: false }),
      await cluster.join('attic', { isEmulated: false }),
    ];
    const { client } = desk;
    const stageId = await desk.startStage(
      prompt({ steps: [{ tools: [append('made.txt', 'there')] }, { text: 'Written there.' }, { text: 'x' }] }),
      { machine: 'attic', title: 'Made there' },
    );
    const first = await client.event('approval-requested', (data) => data.stageId === stageId);
    await client.command('approve_tool', { stageId, requestId: first.requestId, decision: 'allow' });
    await client.state(stageId, 'idle');
    const there = (await client.command('get_stage', { stageId })).stage.worktree ?? expect.fail();
    await git(there.path, 'commit', '--quiet', '--allow-empty', '-m', 'What was pushed');
    await git(there.path, 'push', '--quiet', 'origin', 'HEAD');
    await client.command('send_message', {
      stageId,
      message: prompt({ steps: [{ tools: [append('more.txt', 'x')] }, { text: 'y' }] }),
    });
    const open = await client.event(
      'approval-requested',
      ({ requestId, stageId: of }) => of === stageId && requestId !== first.requestId,
    );

    await attic.stop(); // its session goes on, as after a crash of the machine's connection
    const machineId = (await machinesOf(desk))[1]?.id ?? expect.fail();
    await client.event('machine-updated', ({ machine }) => machine.id === machineId && machine.state === 'unreachable');
    await expect(client.command('get_diff', { stageId })).rejects.toMatchObject({
      code: 'machine_unreachable',
      message: expect.stringMatching(/^machine_unreachable: attic has not responded since \d{4}-/),
    });
    expect((await client.command('get_stage', { stageId })).stage.session?.state).toBe('waiting'); // nothing is pretended

    const { machine } = await client.command('declare_machine_lost', { machineId });
    expect(machine).toMatchObject({ name: 'attic', state: 'lost' });
    await client.event('approval-resolved', ({ requestId }) => requestId === open.requestId);
    const { stage } = await client.command('get_stage', { stageId });
    expect(stage).toMatchObject({ machineId: null, lost: { machine: 'attic', worktree: { branch: there.branch } } });
    expect(stage.session).toMatchObject({ state: 'ended', lastTurn: { outcome: 'interrupted' } });

    await client.command('update_stage', { stageId, patch: { machine: null } });
    await client.command('start_stage', { stageId });
    const seen = new Set([first.requestId, open.requestId]);
    const again = await client.event('approval-requested', ({ requestId }) => !seen.has(requestId));
    await client.command('approve_tool', { stageId, requestId: again.requestId, decision: 'allow' });
    await client.state(stageId, 'idle');
    const moved = (await client.command('get_stage', { stageId })).stage;
    expect(moved).toMatchObject({ lost: null, machineId: (await machinesOf(desk))[0]?.id });
    expect(await git(moved.worktree?.path ?? '', 'log', '--format=%s', '-1')).toBe('What was pushed');
    expect(JSON.stringify(desk.model.requests.at(-1)?.messages)).toContain('another machine (attic), which is lost');

    await attic.start(); // under a new epoch
    const back = async () =>
      (await client.transcript(stageId)).find((one) => one.kind === 'notice' && one.code === 'machine-back');
    await until('the machine says what it found', async () => (await back()) !== undefined);
    expect(await back()).toMatchObject({
      text: expect.stringMatching(/^attic is back\. .* kept as the commit [0-9a-f]{40}\. \d of its processes/),
    });
    const saved = /commit ([0-9a-f]{40})/.exec(JSON.stringify(await back()))?.[1] ?? '';
    expect(await git(attic.repo, 'show', `${saved}:made.txt`)).toBe('there');
    // What it found may be told before its lease is renewed.
    await expect.poll(() => machinesOf(desk)).toMatchObject([{ state: 'connected' }, { state: 'connected' }]);
  });

  itAll(
    'removes a lost machine from the list, which still ends what is no longer its own should it come back',
    async () => {
      const cluster = await createCluster(await createDatabase());
      const [desk, attic] = [await cluster.join('desk'), await cluster.join('attic')];
      const { client } = desk;
      const script = { steps: [{ tools: [append('made.txt', 'there')] }, { text: 'Done.' }] };
      const stageId = await desk.startStage(prompt(script), { machine: 'attic' });
      await client.event('approval-requested', (data) => data.stageId === stageId);
      const machineId = (await machinesOf(desk))[1]?.id ?? expect.fail();
      await expect(client.command('remove_machine', { machineId })).rejects.toMatchObject({ code: 'machine_not_lost' });
      await attic.stop(); // its session goes on
      await client.event(
        'machine-updated',
        ({ machine }) => machine.id === machineId && machine.state === 'unreachable',
      );
      await client.command('declare_machine_lost', { machineId });

      const { machine } = await client.command('remove_machine', { machineId });
      expect(machine).toMatchObject({ name: 'attic', state: 'lost' });
      await client.event('machine-removed', (data) => data.machineId === machineId);
      expect(await machinesOf(desk)).toMatchObject([{ name: 'desk', projects: ['shop'] }]);
      const board = await client.command('get_board');
      expect(board.machines).toMatchObject([{ name: 'desk' }]);
      await expect(client.command('declare_machine_lost', { machineId })).rejects.toMatchObject({
        code: 'unknown_machine',
      });

      await attic.start(); // with its old data directory
      await until('the machine says what it found', async () =>
        (await client.transcript(stageId)).some((one) => one.kind === 'notice' && one.code === 'machine-back'),
      );
      expect(JSON.stringify(await client.transcript(stageId))).toMatch(
        /attic is back\..*[1-9]\d* of its processes ran there, and were ended/,
      );
      await expect
        .poll(() => machinesOf(desk))
        .toMatchObject([{ name: 'desk' }, { name: 'attic', state: 'connected' }]);
      await attic.stop();
      await attic.start(); // which owes nothing any more
      const reported = (await client.transcript(stageId)).filter(
        (one) => one.kind === 'notice' && one.code === 'machine-back',
      );
      expect(reported).toHaveLength(1);
    },
  );

  it('takes an answer for a machine that is away, and gives it to Claude once, when that machine is back', async () => {
    const cluster = await createCluster(await createDatabase());
    const limits = { confirmationMs: 300 };
    const [desk, attic] = [await cluster.join('desk', { limits }), await cluster.join('attic', { limits })];
    const { client } = desk;
    const script = { steps: [{ tools: [append('made.txt', 'once')] }, { text: 'Done.' }] };
    const stageId = await desk.startStage(prompt(script), { machine: 'attic' });
    const { requestId } = await client.event('approval-requested', (data) => data.stageId === stageId);
    await attic.stop();
    const answer = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    expect(answer).toMatchObject({ decision: { outcome: 'allowed', delivery: 'accepted' } });
    await expect(client.command('approve_tool', { stageId, requestId, decision: 'deny' })).rejects.toMatchObject({
      code: 'already_decided',
    });
    await attic.start();
    await client.event('decision-updated', (data) => data.requestId === requestId && data.delivery === 'confirmed');
    await client.state(stageId, 'idle');
    const { stage } = await client.command('get_stage', { stageId });
    expect(await readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8')).toBe('once\n');
  });

  itAll('shows the text that Claude writes on another machine, as it is written', async () => {
    const cluster = await createCluster(await createDatabase());
    const port = await freePort();
    const attic = await cluster.join('attic', { machineUrl: `ws://127.0.0.1:${port}`, port });
    const desk = await cluster.join('desk');
    const { client } = desk;
    const text = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');
    const script = { steps: [{ text: 'Ready.' }] };
    const stageId = await desk.startStage(prompt(script), { machine: 'attic' });
    await client.state(stageId, 'idle');
    await client.command('watch', { stageIds: [stageId] });
    const say = { steps: [{ text, gate: 'watched', chunkChars: 10 }] };
    await client.command('send_message', { stageId, message: prompt(say) });
    await until('the machines are connected', async () => {
      attic.model.release('watched');
      return client.deltas.length > 0 || JSON.stringify(await client.transcript(stageId)).includes('word39');
    });
    await client.state(stageId, 'idle');
    expect(client.deltas.map(({ text }) => text).join('')).toContain('word39');
  });

  it('writes nothing when it wakes up after it was declared lost: its process ends, and the next one settles everything', async () => {
    const cluster = await createCluster(await createDatabase());
    const desk = await cluster.join('desk');
    const attic = await cluster.join('attic', { where: 'apart' });
    const { client } = desk;
    const script = { steps: [{ tools: [append('made.txt', 'there')] }, { text: 'Done.' }] };
    const stageId = await desk.startStage(prompt(script), { machine: 'attic' });
    await client.event('approval-requested', (data) => data.stageId === stageId);
    const { pid } = JSON.parse(await readFile(join(attic.dataDir, 'run', 'orchestrator.json'), 'utf8'));
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => {
      if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGCONT');
    });
    const machineId = (await machinesOf(desk))[1]?.id ?? expect.fail();
    const isAway = ({ machine }: { machine: Machine }) => machine.id === machineId && machine.state === 'unreachable';
    await client.event('machine-updated', isAway, { withinMs: 45_000 }); // the lease of a process of its own has its usual length
    await client.command('declare_machine_lost', { machineId });
    const before = (await client.transcript(stageId)).length;
    process.kill(pid, 'SIGCONT');
    await until('the process has ended', () => !existsSync(`/proc/${pid}`), { withinMs: 30_000 });
    expect(await client.transcript(stageId)).toHaveLength(before);
    await attic.start();
    await until('the machine says what it found', async () =>
      (await client.transcript(stageId)).some((one) => one.kind === 'notice' && one.code === 'machine-back'),
    );
    expect(JSON.stringify(await client.transcript(stageId))).toMatch(
      /[1-9]\d* of its processes ran there, and were ended/,
    );
  });
});
