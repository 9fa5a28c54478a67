import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { OperationalError } from '../lib/errors.ts';
import { createLoginWatch, type LoginWatchDeps } from './login-watch.ts';

const nobody = async () => ({ loggedIn: false, authMethod: 'none' });

async function watch(deps: Partial<LoginWatchDeps> = {}) {
  const home = await temporaryFolder();
  await mkdir(join(home, '.claude'));
  const watched = createLoginWatch({
    log: pino({ level: 'silent' }),
    platform: { now: () => new Date(0) },
    env: {},
    home,
    delayMs: 0,
    checkIntervalMs: 5,
    findClaude: async () => '/bin/claude',
    askLogin: nobody,
    ...deps,
  });
  onTestFinished(watched.stop);
  const logIn = () =>
    writeFile(join(home, '.claude', '.credentials.json'), JSON.stringify({ claudeAiOauth: { accessToken: 'x' } }));
  return { watched, logIn, is: (state: string) => until(`claude is ${state}`, () => watched.state().state === state) };
}

const turn = (outcome: 'failed' | 'succeeded', at = 1) => ({
  outcome,
  at: new Date(at).toISOString(),
  message: null,
  code: outcome === 'failed' ? ('not-logged-in' as const) : null,
});

it('finds a missing login at a start, and notices when somebody logs in', async () => {
  const { watched, logIn, is } = await watch();
  let changes = 0;
  watched.onChange(() => (changes += 1));
  watched.begin();
  await is('not-logged-in');
  expect(watched.state()).toMatchObject({ why: expect.stringContaining('in a terminal'), command: 'claude' });
  await logIn();
  await is('ready');
  expect(changes).toBe(2);
});

it('asks Claude Code again only when the files of its login have changed', async () => {
  let asked = 0;
  const askLogin = () => {
    asked += 1;
    return nobody();
  };
  const { watched, logIn, is } = await watch({ askLogin });
  watched.begin();
  await is('not-logged-in');
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toBe(1);
  await logIn();
  await is('ready');
});

it('checks again when somebody logs in while a check is under way', async () => {
  const first = Promise.withResolvers<{ loggedIn: boolean; authMethod: string }>();
  let asked = 0;
  const askLogin = () => {
    asked += 1;
    return first.promise;
  };
  const { watched, logIn, is } = await watch({ askLogin });
  watched.begin();
  await until('claude is asked', () => asked === 1);
  watched.sawTurn(turn('failed'));
  await logIn();
  await new Promise((resolve) => setTimeout(resolve, 50)); // ten looks, none of which may use up the change
  first.resolve(await nobody());
  await is('ready');
});

it('learns from the end of a turn, and not from one that is older than the last change', async () => {
  const { watched, is } = await watch();
  watched.sawTurn(turn('failed'));
  await is('not-logged-in');
  watched.sawTurn(turn('succeeded', -1));
  await is('not-logged-in');
  watched.sawTurn(turn('succeeded'));
  await is('ready');
});

it('says that no claude was found, and notices when one is installed', async () => {
  const gone = new OperationalError('claude_missing', 'Claude Code was not found.');
  let isThere = false;
  const findClaude = () => (isThere ? Promise.resolve('/bin/claude') : Promise.reject(gone));
  const { watched, is } = await watch({ findClaude, askLogin: async () => ({ loggedIn: true, authMethod: 'x' }) });
  watched.sawMissing(gone);
  expect(watched.state()).toMatchObject({ state: 'missing', why: 'Claude Code was not found.' });
  expect(() => watched.sawMissing(new Error('something else'))).toThrow('something else');
  isThere = true;
  await is('ready');
});

it('claims nothing where nothing can be found out', async () => {
  let asked = 0;
  const askLogin = async () => {
    asked += 1;
    return null;
  };
  const { watched } = await watch({ askLogin });
  watched.begin();
  await until('claude was asked', () => asked === 1);
  await watched.stop();
  expect(watched.state().state).toBe('unknown');
});
