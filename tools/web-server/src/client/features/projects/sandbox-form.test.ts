import { expect, it } from 'vitest';
import { newSandboxForm, readSandboxForm, sandboxFormOf, sandboxProblems } from './project-form.ts';

it('converts settings to a form and back', () => {
  const settings = {
    sandbox: true,
    sandboxAutoAllow: true,
    sandboxHosts: ['packages.example.com', '*.example.com'],
    sandboxSockets: ['/run/docker.sock'],
  };
  expect(readSandboxForm(sandboxFormOf(settings))).toEqual(settings);
});

it('keeps an undecided sandbox undecided, and turns on that of a new project', () => {
  const undecided = sandboxFormOf({ sandbox: null, sandboxAutoAllow: false, sandboxHosts: [], sandboxSockets: [] });
  expect(readSandboxForm(undecided)).not.toHaveProperty('sandbox');
  expect(readSandboxForm(newSandboxForm).sandbox).toBe(true);
});

it('says which line is invalid, and why', () => {
  const form = { ...newSandboxForm, hosts: 'a.example\nhttp://b.example\n', sockets: 'run/x.sock' };
  const { hosts, sockets } = sandboxProblems(form);
  expect(hosts).toMatch(/^"http:\/\/b\.example" must be a host name/);
  expect(sockets).toMatch(/^"run\/x\.sock" must be the absolute path/);
  expect(sandboxProblems({ ...form, hosts: ' a.example ', sockets: '' })).toEqual({ hosts: null, sockets: null });
});
