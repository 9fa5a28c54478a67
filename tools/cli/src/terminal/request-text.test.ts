import { sampleRequest } from '@callboard/contract/samples';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { requestLine, requestLines, risksOf } from './request-text.ts';
import { displayWidth, styleOf } from './text.ts';

const place = {
  title: 'Login form',
  folder: '/data/worktrees/shop/STAGE-1',
  width: 60,
  style: styleOf({ isTerminal: false, env: {} }),
  now: new Date('2026-01-02T03:08:05.000Z'),
};
const textOf = (fields: Record<string, unknown>) => requestLines(sampleRequest(fields), place).join('\n');

it('shows a command whole, with who asks, since when, why and what is at risk', () => {
  const text = textOf({
    requestId: 'request-1',
    input: { command: 'npm install left-pad\nnpm test', description: 'Install', timeout: 5 },
    agent: 'tests',
    reason: 'No rule allows it.',
    stakes: [{ code: 'network', text: 'Installs packages from the network.' }],
  });
  expect(text).toMatchInlineSnapshot(`
    "STAGE-1 Login form request request-1
      Run this command? asked 4 min ago, by agent tests
        $ npm install left-pad
          npm test
        description: Install
        timeout: 5
      Why it asks: No rule allows it.
      ! Installs packages from the network."
  `);
});

it('names the hosts that a command needs', () => {
  const text = textOf({ input: { command: 'npm ci' }, hosts: ['packages.example', 'files\u202e.example'] });
  expect(text.replaceAll(/\s+/g, ' ')).toContain('Needs packages.example, files');
  expect(text).not.toContain('\u202e');
});

it('says of the path that made Claude Code ask where it is', () => {
  expect(textOf({ blockedPath: '/data/worktrees/shop/STAGE-1/src/app.ts' })).toContain('  On src/app.ts');
  expect(textOf({ blockedPath: '/data/worktrees/shop/STAGE-12/app.ts' })).toMatch(
    /Outside the stage's folder:\s+\/data\/worktrees\/shop\/STAGE-12\/app.ts/,
  );
});

it('shows an edit as what goes and what comes', () => {
  const input = { file_path: '/w/app.ts', old_string: 'a\nb', new_string: 'c', replace_all: true };
  const text = textOf({ toolName: 'Edit', displayName: 'Edit', input });
  for (const line of ['Edit?', 'file_path: /w/app.ts', 'replace_all: true', '- a', '- b', '+ c'])
    expect(text).toContain(line);
});

it('shows questions with their options, a plan, and the fields of a form', () => {
  const questions = [
    { question: 'Which database?', header: 'Database', options: [{ label: 'SQLite', description: 'a file' }] },
    { question: 'Which checks?', multiSelect: true, options: [{ label: 'Lint', preview: 'npm run lint' }] },
  ];
  const asked = textOf({ kind: 'question', toolName: 'AskUserQuestion', input: { questions } });
  for (const line of [
    '2 questions',
    '1. [Database] Which database?',
    '1) SQLite: a file',
    '2. Which checks? (several may be chosen)',
    'npm run lint',
  ])
    expect(asked).toContain(line);
  expect(textOf({ kind: 'plan', toolName: 'ExitPlanMode', input: { plan: '# Plan\n1. Build' } })).toContain('1. Build');
  expect(textOf({ kind: 'plan', toolName: 'ExitPlanMode', input: {} })).toContain('No plan text.');
  const form = {
    message: 'Where to?',
    requested_schema: { type: 'object', required: ['city'], properties: { city: { type: 'string', title: 'City' } } },
  };
  const filled = textOf({ kind: 'elicitation', displayName: 'travel', toolName: 'elicitation', input: form });
  for (const line of ['travel asks for details', 'Where to?', 'city (text, required) City'])
    expect(filled).toContain(line);
});

it('says that a command asks to leave the sandbox, and why', () => {
  const text = textOf({ leavesSandbox: { reason: 'needs docker' } });
  expect(text).toContain('Run this command outside the sandbox?');
  expect(text).toContain('Why outside the sandbox: needs docker');
});

it('warns of hidden characters and shows them as codes', () => {
  const text = textOf({ input: { command: 'rm -rf \u202e dist' } });
  expect(text).toContain('⟨U+202E⟩');
  expect(text.replaceAll(/\s+/g, ' ')).toContain('Hidden characters: 1 text direction mark.');
});

it('leaves nothing out, commands no terminal, and fits the width, whatever is asked', () => {
  const json = fc.jsonValue({ maxDepth: 2, noUnicodeString: false });
  const inputs = fc.dictionary(
    fc.constantFrom('command', 'file_path', 'content', 'old_string', 'new_string', 'x\x1b[2J'),
    json,
  );
  fc.assert(
    fc.property(inputs, fc.constantFrom('Bash', 'Edit', 'mcp__a__b'), (input, toolName) => {
      const lines = requestLines(sampleRequest({ input, toolName }), place);
      for (const line of lines) {
        expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
        expect(displayWidth(line)).toBeLessThanOrEqual(place.width);
      }
      const shown = lines.join('').replaceAll(/\s/g, '');
      for (const name of Object.keys(input).filter((key) => /^(file_path|content)$/.test(key)))
        expect(shown).toContain(name);
    }),
    { numRuns: 150 },
  );
});

it.each([
  [{ input: { command: 'npm i\nnpm t' } }, '$ npm i ⏎ npm t'],
  [{ toolName: 'Edit', input: { old_string: 'a', file_path: 'b.ts' } }, 'Edit b.ts'],
  [{ kind: 'network', toolName: 'SandboxNetworkAccess', input: { host: 'example.com' } }, 'Connect to example.com'],
  [{ kind: 'plan', toolName: 'ExitPlanMode', input: { plan: 'x' } }, 'Review the plan'],
])('says %j in one line', (fields, line) => expect(requestLine(sampleRequest(fields))).toBe(line));

it('names stakes once each', () => {
  const stakes = ['network', 'installs', 'network'].map((code) => ({ code, text: '' }));
  expect(risksOf(sampleRequest({ stakes }))).toBe('network, installs');
});

it('says that a hook changed the call, and shows what Claude wrote', () => {
  const inputChange = { hook: 'rewrite.sh', from: { command: 'echo original' } };
  const text = textOf({ input: { command: 'echo rewritten' }, inputChange });
  for (const line of ['$ echo rewritten', '! The hook rewrite.sh changed this call. Claude wrote:', '$ echo original'])
    expect(text).toContain(line);
});
