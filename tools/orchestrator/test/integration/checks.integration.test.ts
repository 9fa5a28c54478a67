import { join } from 'node:path';
import type { StageView } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit, type Kit } from '../support/kit.ts';

/** Has Claude write a file. */
const writing = (path: string, file: string) =>
  prompt({
    steps: [
      { tools: [{ name: 'Write', input: { file_path: join(path, file), content: 'mended\n' } }] },
      { text: `Wrote ${file}.` },
    ],
  });

interface Count {
  /** Results by stage, oldest first, without runs that a restart ended. */
  results: string[];
  told: number;
}

async function countOf({ client }: Kit, stageId: string): Promise<Count> {
  const { checks } = await client.command('get_checks', { stageId });
  const results = checks.map(({ state }) => state).filter((state) => state !== 'interrupted');
  const entries = await client.transcript(stageId);
  const told = entries.filter((entry) => entry.kind === 'user' && entry.text.startsWith('Mend it: ')).length;
  return { results: results.toReversed(), told };
}

const step = (text: string) => prompt({ steps: [{ text }] });

it('runs twelve stages with checks to review, each failure told once, through two kills', async () => {
  const kit = await createKit({ where: 'apart', maxParallel: 3 });
  const ids: string[] = [];
  const mended = new Set<string>();
  const gated = new Set<string>();
  const worktreeOf = (id: string) => join(kit.dataDir, 'worktrees', 'shop', id);
  for (let n = 0; n < 12; n++) {
    const id = `STAGE-${n + 1}`;
    const fails = n % 4 === 0;
    const asks = n % 4 === 1;
    const tasks = ['a', 'b'].map(
      (file) => `test -e ${file}.txt || { echo '${writing(worktreeOf(id), `${file}.txt`)}'; exit 1; }`,
    );
    const command = fails ? ['sleep 0.3', ...tasks].join('\n') : 'sleep 0.3; git rev-parse HEAD';
    const build = {
      name: 'Build',
      prompt: step('Built.'),
      gate: { check: { command, message: 'Mend it: {{check.output}}' } },
    };
    const plan = { name: 'Plan', prompt: step('Planned.'), gate: 'human' };
    const { stage } = await kit.client.command('create_stage', {
      ...{ projectId: 'shop', title: id, prompt: 'A task.', permissionMode: 'acceptEdits', autoStart: true },
      pipeline: asks ? [plan, build] : [build],
      dependsOn: n < 3 ? [] : [ids[n - 3]],
    });
    expect(stage.id).toBe(id);
    ids.push(id);
    if (fails) mended.add(id);
    if (asks) gated.add(id);
  }

  let most = 0;
  const advanced = new Set<string>();
  /** Does what people do: starts what waits at a gate, and completes what others wait for. */
  async function act(): Promise<StageView[]> {
    const { stages } = await kit.client.command('get_board');
    most = Math.max(
      most,
      stages.filter(({ session }) => session?.state === 'busy' || session?.state === 'starting').length,
    );
    for (const { id, column, session } of stages) {
      if (column === 'needs-you' && session?.atGate === true && session.check === null) {
        await kit.client.command('advance_stage', { stageId: id });
        advanced.add(id);
      }
      if (column === 'review') await kit.client.command('complete_stage', { stageId: id });
    }
    return stages;
  }
  const reach = (what: string, fits: (stages: StageView[]) => boolean) =>
    until(what, async () => fits(await act()), { withinMs: 90_000, everyMs: 100 }); // twelve stages, three at a time
  const restart = async () => {
    await kit.kill();
    await kit.start('apart');
  };

  await reach('a check that runs', (stages) => stages.some(({ session }) => session?.check?.state === 'running'));
  await restart();
  await reach('a failure', (stages) => stages.some(({ session }) => (session?.check?.failures ?? 0) === 1));
  await restart();
  await reach('the end', (stages) => stages.every(({ column }) => column === 'done'));

  for (const id of ids) {
    expect([id, await countOf(kit, id)]).toEqual([
      id,
      mended.has(id) ? { results: ['failed', 'failed', 'passed'], told: 2 } : { results: ['passed'], told: 0 },
    ]);
  }
  expect(advanced).toEqual(gated);
  expect(most).toBeLessThanOrEqual(4); // one that was at work when Callboard was killed goes on
  expect(await git(kit.repo, 'status', '--porcelain')).toBe('');
});
