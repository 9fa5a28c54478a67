import { BUILT_IN_PIPELINES, ProjectPipelines, pipelinesOf } from '@callboard/contract';
import { expect, it } from 'vitest';
import { type PipelineSource, requirePipeline } from './stages.ts';

const phases = [{ name: 'Build', prompt: '{{stage.prompt}}' }];
const checked = [{ ...phases[0], gate: { check: { command: 'npm test' } } }];
const pipelines = (of: unknown) => ProjectPipelines.parse(of);

function source(change: Partial<PipelineSource> = {}): PipelineSource {
  const file = pipelines({ Tested: { phases: checked }, Merged: { phases, finish: 'merge' }, Plain: { phases } });
  const own = pipelines({ tested: { phases }, Mine: { phases: checked, finish: 'pull-request' } });
  return { pipelines: pipelinesOf({ file, own }), problems: [], isAgreed: true, at: null, ...change };
}

it('finds a pipeline of the file, of the project and a built-in one, whatever the case of its name', () => {
  expect(requirePipeline(source(), 'TESTED')).toMatchObject({ name: 'Tested', origin: 'file', finish: null });
  expect(requirePipeline(source(), ' mine ')).toMatchObject({ origin: 'project', finish: 'pull-request' });
  for (const built of BUILT_IN_PIPELINES) expect(requirePipeline(source(), built.name.toUpperCase())).toEqual(built);
});

it('says which pipelines there are, and that a broken file lacks its own', () => {
  const unknown = expect.objectContaining({
    code: 'unknown_pipeline',
    message: expect.stringContaining(
      'There is no pipeline "Tset". There are "Tested", "Merged", "Plain", "Mine", "Just',
    ),
  });
  expect(() => requirePipeline(source(), 'Tset')).toThrow(unknown);
  const problems = [{ line: 3, key: 'pipelines', message: 'It is bad.' }];
  const broken = { problems, pipelines: pipelinesOf({ file: {}, own: {} }) };
  expect(() => requirePipeline(source(broken), 'Tested')).toThrow('because it cannot be used (line 3)');
});

it('uses nothing of the repository that would run or finish something unless people agreed', () => {
  const isAgreed = false;
  for (const name of ['Tested', 'Merged'])
    expect(() => requirePipeline(source({ isAgreed }), name)).toThrow(
      expect.objectContaining({ code: 'settings_not_agreed', message: expect.stringContaining(`"${name}"`) }),
    );
  for (const name of ['Plain', 'Mine', 'Plan, build, verify'])
    expect(requirePipeline(source({ isAgreed }), name).name).toBe(name);
});
