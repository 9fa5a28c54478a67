import { expect, it } from 'vitest';
import { runHere } from '../test/run-here.ts';
import { commands } from './run.ts';

it.each([['help'], ['--help'], ['-h'], ['--port', 'x', '-h']])('lists every command for %j', async (...args) => {
  const { exitCode, out, err } = await runHere(args);
  expect([exitCode, err]).toEqual([0, '']);
  expect(out).toMatch(/^Usage: callboard .*--orchestrator-port PORT .*CALLBOARD_TOKEN_SHA256/s);
  for (const { name, summary } of commands) expect(out).toContain(`${name.padEnd(13)}  ${summary}`);
});

it.each([
  ['help', 'restore'],
  ['restore', '--help'],
  ['restore', '-h', '--bogus'],
])('says what one command does, for %j', async (...args) => {
  const { exitCode, out, err } = await runHere(args);
  expect([exitCode, err]).toEqual([0, '']);
  expect(out).toMatch(/^Usage: callboard restore FILE \[options\]\n\nEnds all sessions, keeps /);
  expect(out).toMatch(/--data-dir PATH +Where Callboard keeps all its data/);
  expect(out).not.toContain('--port');
});

it.each([
  ['say', 'say STAGE [MESSAGE] [options]'],
  ['answer', 'answer [REQUEST] [ANSWER...] [options]'],
  ['start-stage', 'start-stage [STAGE] [options]'],
  ['completion', 'completion SHELL'],
])('shows which arguments of %s may be left out', async (name, usage) => {
  expect((await runHere(['help', name])).out.split('\n')[0]).toBe(`Usage: callboard ${usage}`);
});

it('shows a command without options', async () => {
  expect((await runHere(['help', 'help'])).out).toBe(
    'Usage: callboard help [COMMAND]\n\nShows this text, or what one command does.\n\n  COMMAND  The command; without it, all of them.',
  );
});

it.each([
  ['help', 'strat'],
  ['strat', '--help'],
])('names the commands for %j', async (...args) => {
  const { exitCode, out, err } = await runHere(args);
  expect([exitCode, out]).toEqual([2, '']);
  expect(err).toContain('there is no command "strat". The commands are: start, link,');
});
