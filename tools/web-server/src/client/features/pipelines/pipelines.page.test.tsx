import { type CheckRun, type CheckState, ProjectId, type StageCheck, type StageView } from '@callboard/contract';
import { sampleProject } from '@callboard/contract/samples';
import { act, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useBoardUi } from '../../data/board-ui.ts';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, session, stage } from '../../test/samples.ts';

const gate = { check: { command: 'npm test', timeLimit: 600, attempts: 3 } };
const build = { name: 'Build', prompt: 'Build it', gate, conversation: 'same' };
const verify = { name: 'Verify', prompt: 'After {{previous.result}}', gate: 'none', conversation: 'fresh' };
const ID = '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e6';

function openBoard(settings: object, file: object | null = null) {
  const items = [{ kind: 'command', text: 'Checks', value: 'npm test', file: 'callboard.yaml', isNew: true }];
  const project = sampleProject({
    id: 'web',
    name: 'web',
    settings,
    ...(file !== null && { file: { settings: file, problems: [] }, trust: { needed: true, hash: 'h', items } }),
  });
  const page = openPage('/', { ...board({ stages: [{ stage: stage('STAGE-1') }] }), projects: [project] });
  page.server.answer({ update_project: () => ({ project }) });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  const inForm = (form: Parameters<ReturnType<typeof useBoardUi.getState>['open']>[0]) =>
    act(() => useBoardUi.getState().open(form));
  return { ...page, sent, inForm };
}

it('adds, renames, copies and removes pipelines of a project, and says what is wrong with them', async () => {
  const pipelines = { Tested: { phases: [build], finish: 'merge' }, Old: { phases: [verify] } };
  const { user, sent, inForm } = openBoard({ pipelines }, { pipelines: { Ours: { phases: [verify] } } });
  await screen.findByRole('region', { name: 'Done' });
  inForm({ kind: 'project', projectId: ProjectId.parse('web') });
  const own = within(await screen.findByRole('region', { name: 'Custom pipelines' }));

  await user.click(own.getByRole('button', { name: /^Old/ }));
  await user.click(own.getByRole('button', { name: 'Remove this pipeline' }));

  await user.click(own.getByRole('button', { name: 'Tested 1 phase, 1 check, merges automatically' }));
  const write = async (name: string, text: string) => {
    const field = own.getByRole('textbox', { name });
    await user.clear(field);
    await user.click(field);
    await user.paste(text);
  };
  await write('Name of the pipeline Tested', 'Checked');
  await write('Attempts of phase 1', '5');
  await user.click(own.getByRole('button', { name: 'Add phase' }));
  await write('Name of phase 2', 'Finish');
  await write('Prompt of phase 2', 'See {{stage.titel}}');
  await user.tab();
  own.getByText(/It has \{\{stage\.titel\}\} in line 1, which is no name: there are \{\{stage\.title\}\}/);
  await user.click(screen.getByRole('button', { name: 'Save' }));
  expect(own.getByRole('alert').textContent).toMatch(/^The prompt of phase 2 has \{\{stage\.titel\}\}/);
  expect(sent('update_project')).toEqual([]);
  await write('Prompt of phase 2', 'See {{stage.title}}');
  await user.selectOptions(own.getByRole('combobox', { name: 'When phase 2 is finished' }), 'none');

  const ofFile = within(screen.getByRole('region', { name: 'From callboard.yaml' }));
  await user.click(ofFile.getByRole('button', { name: /^Ours/ }));
  ofFile.getByText('After {{previous.result}}');
  expect(ofFile.queryByRole('textbox')).toBeNull();
  await user.click(ofFile.getByRole('button', { name: 'Copy to custom pipelines' }));
  await user.selectOptions(screen.getByRole('combobox', { name: 'After the last phase of a stage' }), 'pull-request');
  await user.click(screen.getByRole('button', { name: 'Save' }));
  const checked = { check: { command: 'npm test', timeLimit: 600, attempts: 5 } };
  const finish = { name: 'Finish', prompt: 'See {{stage.title}}', gate: 'none', conversation: 'same' };
  await expect
    .poll(() => sent('update_project'))
    .toEqual([
      {
        projectId: 'web',
        settings: {
          finish: 'pull-request',
          pipelines: {
            Checked: { phases: [{ ...build, gate: checked }, finish], finish: 'merge' },
            'Ours (own)': { phases: [verify] },
          },
        },
      },
    ]);
});

it('finishes a new stage as its pipeline says, unless a person chooses otherwise', async () => {
  const pipelines = { Merged: { phases: [build], finish: 'merge' } };
  const { user, server, sent, inForm } = openBoard({ pipelines }, { pipelines: { Ours: { phases: [build] } } });
  server.answer({
    get_branches: () => ({ branches: ['main'], current: 'main' }),
    get_capabilities: () => ({ capabilities: null, from: null }),
    create_stage: () => problem('unknown_project', 'Gone.'),
    put_draft: ({ stageId, key, value }) => ({ draft: { stageId, key, value, updatedAt: at(0), writer: null } }),
  });
  await screen.findByRole('region', { name: 'Done' });
  inForm({ kind: 'new-stage', projectId: ProjectId.parse('web') });
  const dialog = within(await screen.findByRole('dialog'));
  await user.click(dialog.getByRole('button', { name: 'More' }));
  const end = dialog.getByRole<HTMLSelectElement>('combobox', { name: 'At the end' });
  expect(end.selectedOptions[0]?.text).toBe('You finish it (project default)');
  const pipeline = dialog.getByRole('combobox', { name: 'Pipeline' });
  // Nobody has agreed to what the repository's own pipeline would run.
  const ours = within(pipeline).getByRole('option', { name: 'Ours (agree to callboard.yaml first)' });
  expect(ours).toHaveProperty('disabled', true);
  await user.selectOptions(pipeline, 'Merged');
  expect(end.value).toBe('merge');
  dialog.getByText(/^At the end: Merges automatically \(as the pipeline “Merged” says\)\. The stage decides first/);
  await user.selectOptions(dialog.getByRole('combobox', { name: 'When phase 1 is finished' }), 'human');
  dialog.getByText(/^At the end: You finish it \(the last phase ends with you\)\./);
  await user.selectOptions(end, 'pull-request');
  await user.click(dialog.getByRole('textbox', { name: 'Prompt' }));
  await user.keyboard('Do it');
  await user.click(dialog.getByRole('button', { name: 'Add to board' }));
  await expect
    .poll(() => sent('create_stage'))
    .toMatchObject([{ finish: 'pull-request', pipeline: [{ name: 'Build', gate: 'human' }] }]);
});

const run = (n: number, state: CheckState, change: Partial<CheckRun> = {}): CheckRun => ({
  id: `${ID}${n}`,
  stageId: stage('STAGE-1').id,
  phaseIndex: 0,
  phase: 'Build',
  command: 'npm test',
  timeLimit: 600,
  state,
  failures: 0,
  attempts: 3,
  by: null,
  createdAt: at(0),
  startedAt: at(0),
  endedAt: at(1),
  exitCode: null,
  reason: null,
  commandId: `${ID}${n}`,
  messageId: null,
  ...change,
});

/** Opens a pane of a stage whose newest check is in this state. */
function openPane(tab: 'checks' | 'phases' | 'details', check: Partial<StageCheck>, change: object = {}) {
  const own = stage('STAGE-1', { title: 'Login form', pipeline: [build, verify] });
  const newest = { checkId: `${ID}1`, state: 'failed', command: 'npm test', failures: 0, attempts: 3, since: at(0) };
  const lastTurn = { outcome: 'succeeded', at: at(0), message: null };
  const view = board({
    stages: [
      {
        stage: own,
        session: session('STAGE-1', { state: 'idle', lastTurn, check: { ...newest, ...check }, ...change }),
      },
    ],
  });
  const page = openPage(`/stages/STAGE-1?tab=${tab}`, view);
  const [seen] = view.stages as [StageView];
  const output = (text: string) => ({ output: text, from: 0, to: text.length, total: text.length, isCut: false });
  page.server.answer({
    get_command_output: ({ commandId }) =>
      commandId === `${ID}4`
        ? problem('unknown_command', 'Only the newest are kept.')
        : output(`output of ${commandId.at(-1)}\n`),
    get_checks: () => ({
      checks: [
        run(1, 'failed', { exitCode: 1, failures: 3 }),
        run(2, 'timed-out', { failures: 2, messageId: ID, reason: 'It did not end within 10 minutes.' }),
        run(3, 'interrupted', { reason: 'It was ended by a restart of Callboard, and is run again.' }),
        run(4, 'passed', { exitCode: 0, by: 'Ada' }),
      ],
    }),
    run_check: () => ({ stage: seen }),
    interrupt: () => ({ session: { ...session('STAGE-1'), queue: [], pending: [] } }),
    update_stage: () => ({ stage: seen }),
    send_check: () => ({ stage: seen }),
    advance_stage: () => ({ stage: seen }),
  });
  const sent = () => page.server.received.map(({ command }) => command);
  return { ...page, sent };
}

it('shows each run with what followed from it, and what a person can do about the last failure', async () => {
  const { user, sent } = openPane('checks', { failures: 3 }, { atGate: true });
  const pane = within(await screen.findByRole('region', { name: 'Checks' }));
  const head = async (text: RegExp) => pane.findByRole('button', { name: text });
  expect((await head(/^Failed Build exit code 1, failure 3 of 3 1:00$/)).getAttribute('aria-expanded')).toBe('true');
  await pane.findByText('output of 1');
  await user.click(await head(/^Ran too long Build failure 2 of 3, sent to Claude/));
  pane.getByText('It did not end within 10 minutes.');
  await user.click(await head(/^Ended by a restart, run again Build/));
  pane.getByText('It was ended by a restart of Callboard, and is run again.');
  await user.click(await head(/^Passed Build run by Ada/));
  await pane.findByText('The output is gone: only that of the newest 20 runs is kept.');
  // One button for one thing: the head of the page has what a person decides.
  expect(pane.queryByRole('button', { name: 'Run again' })).toBeNull();
  await user.click(screen.getByRole('button', { name: 'Run again' }));
  await expect.poll(sent).toContain('run_check');
  await user.click(screen.getByRole('button', { name: 'Send to Claude once more' }));
  await expect.poll(sent).toContain('send_check');
  await user.click(screen.getByRole('button', { name: 'Accept anyway' }));
  await expect.poll(sent).toContain('advance_stage');
});

it('stops a check that runs, and says what becomes of a message meanwhile', async () => {
  const { user, sent } = openPane('checks', { state: 'running' }, { state: 'busy' });
  await screen.findByRole('region', { name: 'Checks' });
  await expect.poll(() => screen.getByRole('button', { name: /^Stop check/ })).toHaveProperty('disabled', false);
  await user.click(screen.getByRole('button', { name: /^Stop check/ }));
  await expect.poll(sent).toContain('interrupt');
  screen.getByPlaceholderText(/^Message, sent after the check/);
  screen.getByText(/^A check is running: a message waits/);
});

it('says among the details how the stage is finished, and changes that', async () => {
  const { user, server } = openPane('details', { state: 'passed' });
  const details = within(await screen.findByRole('region', { name: 'Details' }));
  details.getByText('You finish it (project default).');
  await user.selectOptions(details.getByRole('combobox', { name: 'At the end of this stage' }), 'merge');
  await expect
    .poll(() => server.received.find(({ command }) => command === 'update_stage')?.input)
    .toEqual({ stageId: 'STAGE-1', patch: { finish: 'merge' } });
});

it('shows the phases with what was sent and said, and what decides at the end of each', async () => {
  const { user, server } = openPane('phases', { state: 'passed' }, { phaseIndex: 1, check: null });
  const begun = { stageId: stage('STAGE-1').id, begunAt: at(0) };
  server.answer({
    get_phases: () => ({
      phases: [
        { ...begun, phaseIndex: 0, phase: 'Build', prompt: 'Build it', result: 'It is built.', endedAt: at(1) },
        { ...begun, phaseIndex: 1, phase: 'Verify', prompt: 'After It is built.', result: null, endedAt: null },
      ],
    }),
  });
  const pane = within(await screen.findByRole('region', { name: 'Phases' }));
  await pane.findByText('After It is built.');
  const [first, second] = pane.getAllByRole('listitem');
  if (first === undefined || second === undefined) throw new Error('no phases');
  expect(second.getAttribute('aria-current')).toBe('step');
  within(first).getByText('Its check decides: 3 attempts, 10 minutes each at most. A failure goes back to Claude.');
  within(second).getByText('A new conversation. The stage is complete after it.');
  within(first).getByText('It is built.');
  expect(within(first).queryByText('Build it')).toBeNull();
  await user.click(within(first).getByRole('button', { name: 'Sent to Claude' }));
  within(first).getByText('Build it');
});

it('saves what was changed in all sections and nothing else, and asks before changes are discarded', async () => {
  const { user, sent, inForm } = openBoard({ pipelines: { Tested: { phases: [build] } } });
  await screen.findByRole('region', { name: 'Done' });
  const open = async () => {
    inForm({ kind: 'project', projectId: ProjectId.parse('web') });
    return within(await screen.findByRole('dialog', { name: 'Project web' }));
  };
  const form = await open();
  await user.click(await form.findByRole('button', { name: /^Tested/ }));
  await user.type(form.getByRole('textbox', { name: 'Name of the pipeline Tested' }), ' twice');
  await user.type(form.getByRole('textbox', { name: 'Name' }), ' shop');
  await user.click(form.getByRole('button', { name: 'Cancel' }));
  const asked = within(await screen.findByRole('dialog', { name: 'Discard what you changed?' }));
  await user.click(asked.getByRole('button', { name: 'Cancel' }));
  await user.click(form.getByRole('button', { name: 'Save' }));
  await expect.poll(() => useBoardUi.getState().form).toBeNull();
  const [patch] = sent('update_project');
  expect(patch).toMatchObject({ name: 'web shop', settings: { pipelines: { 'Tested twice': {} } } });
  expect(patch).not.toHaveProperty('settings.setup');

  const again = await open();
  await user.type(await again.findByRole('textbox', { name: 'Set-up command' }), 'npm ci');
  await user.keyboard('{Control>}{Enter}{/Control}'); // the button stands outside of the form
  await expect.poll(() => sent('update_project')).toHaveLength(2);
  expect(sent('update_project')[1]).toEqual({
    projectId: 'web',
    settings: expect.objectContaining({ setup: expect.objectContaining({ command: 'npm ci' }) }),
  });
  expect(sent('update_project')[1]).not.toHaveProperty('settings.pipelines');
});

it('names the phase that is finished once in the list of sessions', async () => {
  const designed = stage('STAGE-1', {
    title: 'Login form',
    pipeline: [{ ...build, name: 'Design', gate: 'human' }, verify],
  });
  const atGate = session('STAGE-1', { state: 'idle', atGate: true, phaseIndex: 0 });
  openPage('/sessions', board({ stages: [{ stage: designed, session: atGate }] }));
  const row = await screen.findByRole('row', { name: /Login form/ });
  expect(row.textContent).toContain('Phase finishedDesign');
  expect(row.textContent).not.toContain('Design finished');
});
