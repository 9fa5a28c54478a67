import { Project } from '@callboard/contract';
import { expect, it } from 'vitest';
import { newSandboxForm, projectFormOf, readProjectForm } from './project-form.ts';

it('converts settings to a form and back', () => {
  const sandbox = { sandbox: false, sandboxAutoAllow: true, sandboxHosts: ['a.example'], sandboxSockets: [] };
  const settings = {
    requestTimeoutMs: 300_000,
    copyIgnored: ['.env', 'config/*.local'],
    submodules: true,
    spareWorktree: false,
    editor: 'cursor',
    sessionMessages: true,
    machine: 'attic',
    declareLostAfterMs: 1_200_000,
    ...sandbox,
  };
  const project = Project.parse({
    id: 'web',
    name: 'web',
    path: '/web',
    createdAt: '2026-01-01T10:00:00.000Z',
    settings,
  });
  expect(readProjectForm(projectFormOf(project))).toEqual({ name: 'web', settings });
  expect(
    readProjectForm({
      name: ' a ',
      minutes: '',
      copy: '\n .env \n',
      submodules: false,
      spareWorktree: true,
      editor: 'zed',
      sessionMessages: false,
      machine: '',
      lostAfter: ' 10 ',
      sandbox: newSandboxForm,
    }),
  ).toMatchObject({
    name: 'a',
    settings: {
      requestTimeoutMs: null,
      copyIgnored: ['.env'],
      submodules: false,
      spareWorktree: true,
      editor: 'zed',
      sessionMessages: false,
      machine: null,
      declareLostAfterMs: 600_000,
    },
  });
});
