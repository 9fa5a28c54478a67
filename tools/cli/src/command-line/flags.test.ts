import { expect, it } from 'vitest';
import { type Flag, readFlags } from './flags.ts';

const flags: readonly Flag[] = [
  { kind: 'value', name: 'port', placeholder: 'PORT', variable: 'CB_PORT', help: '' },
  { kind: 'value', name: 'repo', placeholder: 'PATH', repeatable: true, help: '' },
  { kind: 'switch', name: 'open', help: '' },
  { kind: 'variable', name: 'token', variable: 'CB_TOKEN', help: '' },
];
const read = (args: string[], env = {}) => Object.fromEntries(readFlags('start', args, flags, env));

it('reads both spellings of a value, and lists', () => {
  expect(read(['--port=1', '--repo', 'a', '--repo=-b'])).toEqual({
    port: { value: '1', from: '--port' },
    repo: { value: ['a', '-b'], from: '--repo' },
  });
});

it('uses the last value of an option that is given twice', () => {
  expect(read(['--port', '1', '--port', '2']).port?.value).toBe('2');
});

it('reads a switch and its negation', () => {
  expect(read(['--open']).open?.value).toBe(true);
  expect(read(['--no-open']).open?.value).toBe(false);
});

it('prefers the flag to the variable, and ignores an empty variable', () => {
  expect(read([], { CB_PORT: '1' }).port).toEqual({ value: '1', from: 'CB_PORT' });
  expect(read(['--port', '2'], { CB_PORT: '1' }).port).toEqual({ value: '2', from: '--port' });
  expect(read([], { CB_PORT: '' })).toEqual({});
});

it('takes a negative number for a value, so that its schema can refuse it', () => {
  expect(read(['--port', '-1']).port).toEqual({ value: '-1', from: '--port' });
});

it('reads from a variable what the command line may not contain', () => {
  expect(read([], { CB_TOKEN: 'x' }).token).toEqual({ value: 'x', from: 'CB_TOKEN' });
  expect(() => read(['--token', 'x'])).toThrow('has no option --token');
});

it.each([
  [['--bogus'], '`callboard start` has no option --bogus. Its options are: --port, --repo, --open, --no-open.'],
  [['-p'], 'has no option -p.'],
  [['--port'], '--port: needs a value (--port PORT).'],
  [['--port='], '--port: needs a value'],
  [['--port', '--open'], '--port: needs a value'],
  [['--port', '-x'], '--port: needs a value'],
  [['--no-port'], '--no-port: there is no such option.'],
  [['--open=yes'], '--open: takes no value.'],
  [['extra'], 'unexpected argument "extra".'],
])('explains what is wrong with %j', (args, message) => {
  expect(() => read(args)).toThrow(message);
});

it('accepts one word without dashes if the command takes an argument, and refuses a second', () => {
  const flags: Flag[] = [
    { kind: 'argument', name: 'file', placeholder: 'FILE', help: '' },
    { kind: 'switch', name: 'open', help: '' },
  ];
  const given = readFlags('restore', ['--open', 'one.sqlite'], flags, { FILE: 'other' });
  expect(given.get('file')).toEqual({ value: 'one.sqlite', from: 'FILE' });
  expect(() => readFlags('restore', ['one', 'two'], flags, {})).toThrow('unexpected argument "two"');
});
