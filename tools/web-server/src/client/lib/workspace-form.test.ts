import { sampleProject } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { fromFile, readWorkspaceForm, workspaceFormOf } from './stage-form.ts';

const NONE = new Set<never>();
const settings = {
  setup: { command: 'npm ci', timeLimit: 600 },
  cleanup: { command: 'docker compose down' },
  base: 'develop',
  fetch: true,
  devServers: { web: { command: 'npm run dev' }, api: { command: 'npm run api', port: 8080 } },
  caches: ['~/.gradle'],
  defaults: { model: 'opus', effort: 'high' as const, mode: 'acceptEdits' as const },
};

it('shows the settings, and reads them back as they were', () => {
  const form = workspaceFormOf(sampleProject({ settings }));
  expect(form).toMatchObject({
    setup: 'npm ci',
    setupMinutes: '10',
    servers: 'web: npm run dev\napi 8080: npm run api',
  });
  expect(readWorkspaceForm(form, NONE)).toEqual({ settings });
  const empty = workspaceFormOf(sampleProject());
  expect(readWorkspaceForm(empty, NONE)).toMatchObject({
    settings: { setup: null, cleanup: null, base: null, fetch: false, devServers: {}, caches: [] },
  });
});

it('shows what callboard.yaml says, and sends nothing of it', () => {
  const file = { settings: { setup: { command: 'make' }, devServers: { a: { command: 'b' } } }, problems: [] };
  const project = sampleProject({ settings, file });
  const form = workspaceFormOf(project);
  expect(form).toMatchObject({ setup: 'make', servers: 'a: b', cleanup: 'docker compose down' });
  const decided = fromFile(project);
  expect([...decided]).toEqual(['setup', 'devServers']);
  const read = readWorkspaceForm(form, decided);
  expect('settings' in read && Object.keys(read.settings).toSorted()).toEqual([
    ...['base', 'caches', 'cleanup', 'defaults', 'fetch'],
  ]);
});

it.each([
  [{ servers: 'npm run dev' }, { servers: expect.stringContaining('is not a name, a colon and a command') }],
  [{ servers: 'a/b: npm run dev' }, { servers: expect.stringContaining('must be a name') }],
  [{ servers: 'web 99999: x' }, { servers: expect.any(String) }],
  [{ caches: '/etc' }, { caches: expect.stringContaining('must be a folder in your home') }],
  [{ setupMinutes: '0' }, { setupMinutes: 'Between 1 and 1440 minutes.' }],
])('says what is wrong with %j', (change, errors) => {
  expect(readWorkspaceForm({ ...workspaceFormOf(sampleProject()), ...change }, NONE)).toEqual({ errors });
});
