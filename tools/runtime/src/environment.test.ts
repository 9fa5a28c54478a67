import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { serverEnvironment, userEnvironment } from './environment.ts';

const bin = (...parts: string[]) => join('/repo', ...parts, 'node_modules', '.bin');
const gyp = '/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin';
const path = (...entries: string[]) => entries.join(delimiter);

it('leaves out the variables of npm, Node and Callboard', () => {
  const theirs = { HOME: '/home/ada', LANG: 'C.UTF-8', NODE_OPTIONS: '--max-old-space-size=1', NODE_ENV: 'test' };
  const ours = {
    CALLBOARD_TOKEN: 'secret',
    npm_config_cache: '/c',
    npm_lifecycle_event: 'start',
    INIT_CWD: '/repo',
    NODE: '/node',
    NODE_CHANNEL_FD: '3',
  };
  expect(userEnvironment({ ...theirs, ...ours, GONE: undefined })).toEqual(theirs);
});

it("leaves out npm's COLOR and EDITOR, and keeps the user's", () => {
  const npm = { npm_lifecycle_event: 'start' };
  expect(userEnvironment({ ...npm, COLOR: '0', EDITOR: 'vi' })).toEqual({});
  expect(userEnvironment({ ...npm, COLOR: '1', EDITOR: 'nano' })).toEqual({ EDITOR: 'nano' });
  const theirs = { COLOR: '0', EDITOR: 'vi' };
  expect(userEnvironment(theirs)).toEqual(theirs);
});

it("keeps the user's own variables for npm, which are in capitals", () => {
  const theirs = { NPM_TOKEN: 't', NPM_CONFIG_REGISTRY: 'https://npm.example.org' };
  expect(userEnvironment(theirs)).toEqual(theirs);
});

it("removes npm's entries from the front of PATH", () => {
  const PATH = path(bin('tools', 'cli'), bin(), '/node_modules/.bin', gyp, '/usr/local/bin', '/usr/bin');
  expect(userEnvironment({ PATH })).toEqual({ PATH: path('/usr/local/bin', '/usr/bin') });
});

it('keeps a node_modules/.bin further back: the user put it there', () => {
  const own = path('/usr/bin', bin('other'), '/bin');
  expect(userEnvironment({ PATH: path(bin(), own) })).toEqual({ PATH: own });
  expect(userEnvironment({ PATH: own })).toEqual({ PATH: own });
});

it('handles a PATH of npm entries only, an empty PATH and a missing one', () => {
  expect(userEnvironment({ PATH: path(bin(), gyp) })).toEqual({ PATH: '' });
  expect(userEnvironment({ PATH: '' })).toEqual({ PATH: '' });
  expect(userEnvironment({})).toEqual({});
});

it('does not change the environment it was given', () => {
  const env = Object.freeze({ PATH: path(bin(), '/bin'), CALLBOARD_PORT: '1' });
  expect(() => userEnvironment(env)).not.toThrow();
});

it.each([{}, { MALLOC_ARENA_MAX: '4' }, { NODE_COMPILE_CACHE: '/tmp/theirs', MALLOC_ARENA_MAX: '2' }])(
  'does not hand on what only a server of ours is set to: %j',
  (theirs) => {
    const ofServer = serverEnvironment(theirs, '/cache');
    expect(ofServer).toMatchObject({ MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: '/cache' });
    expect(userEnvironment(ofServer)).toEqual(theirs);
    expect(userEnvironment(serverEnvironment(theirs, undefined))).toEqual(theirs);
  },
);
