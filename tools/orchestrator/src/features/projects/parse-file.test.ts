import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseFile } from './project-settings.ts';

const problems = (text: string) =>
  parseFile(text).problems.map(({ line, key, message }) => `${line} ${key}: ${message}`);

it('reads all keys, in short and in long form', () => {
  const text = `
setup: npm ci
cleanup:
  command: docker compose down
  timeLimit: 2m
base: develop
fetch: true
devServers:
  web: npm run dev
  api: { command: npm run api, port: 8080 }
caches: [~/.gradle]
defaults: { model: opus, effort: high }
finish: merge
`;
  expect(parseFile(text)).toEqual({
    settings: {
      setup: { command: 'npm ci' },
      cleanup: { command: 'docker compose down', timeLimit: 120 },
      base: 'develop',
      fetch: true,
      devServers: { web: { command: 'npm run dev' }, api: { command: 'npm run api', port: 8080 } },
      caches: ['~/.gradle'],
      defaults: { model: 'opus', effort: 'high' },
      finish: 'merge',
    },
    problems: [],
  });
});

it('reads pipelines, with checks in short and in long form', () => {
  const text = `
pipelines:
  Tested:
    finish: merge
    phases:
      - { name: Plan, prompt: "{{stage.prompt}}", gate: human }
      - name: Build
        prompt: Build it.
        conversation: fresh
        gate: { check: npm test }
      - name: Verify
        prompt: Verify it.
        gate: { check: { command: npm run lint, timeLimit: 2m, attempts: 1 } }
`;
  const usual = { conversation: 'same' };
  expect(parseFile(text)).toEqual({
    problems: [],
    settings: {
      pipelines: {
        Tested: {
          finish: 'merge',
          phases: [
            { ...usual, name: 'Plan', prompt: '{{stage.prompt}}', gate: 'human' },
            {
              name: 'Build',
              prompt: 'Build it.',
              conversation: 'fresh',
              gate: { check: { command: 'npm test', timeLimit: 600, attempts: 3 } },
            },
            {
              ...usual,
              name: 'Verify',
              prompt: 'Verify it.',
              gate: { check: { command: 'npm run lint', timeLimit: 120, attempts: 1 } },
            },
          ],
        },
      },
    },
  });
});

it.each([
  ['', {}],
  ['# only words\n', {}],
  ['setup: ~\n', { setup: null }],
  ['base: "1.0"\n', { base: '1.0' }],
])('accepts %j', (text, settings) => {
  expect(parseFile(text)).toEqual({ settings, problems: [] });
});

it.each([
  ['fetch: true\nsetpu: npm ci\n', ['2 setpu: There is no such key.']],
  ['setup:\n  command: npm ci\n  limit: 3\n', ['3 setup.limit: There is no such key.']],
  ['setup:\n  comand: x\n', ['2 setup.comand: There is no such key.', '1 setup.command: It is missing.']],
  ['finish: soon\n', ['1 finish: It must be one of none, merge, pull-request.']],
  ['pipelines:\n  A:\n    phases: []\n', ['3 pipelines.A.phases: It has no phases.']],
  [
    'pipelines:\n  A:\n    finish: soon\n    phases: [{ name: a, prompt: b }]\n',
    [expect.stringMatching(/^3 pipelines\.A\.finish: It must be one of none/)],
  ],
  [
    'pipelines:\n  A: { phases: [{ name: a, prompt: b }] }\n  a: { phases: [{ name: a, prompt: b }] }\n',
    ['3 pipelines.a: It has the same name as "A".'],
  ],
  [
    'pipelines:\n  A:\n    phases:\n      - name: a\n        prompt: See {{stage.titel}}\n',
    [
      expect.stringMatching(
        /^5 pipelines\.A\.phases\.0\.prompt: It has \{\{stage\.titel\}\} in line 1, which is no name/,
      ),
    ],
  ],
  [
    'pipelines:\n  A:\n    phases:\n      - name: a\n        prompt: b\n        gate: { check: { command: "" } }\n',
    ['6 pipelines.A.phases.0.gate.check.command: It is empty.'],
  ],
  [
    'pipelines:\n  A:\n    phases:\n      - name: a\n        prompt: b\n        gate: { check: { command: x, timeLimit: soon } }\n',
    ['6 pipelines.A.phases.0.gate: Check.timeLimit is not a number.'],
  ],
  ['fetch: often\n', ['1 fetch: It must be true or false.']],
  ['setup:\n  command: ""\n', ['2 setup.command: It is empty.']],
  [
    'setup:\n  command: x\n  timeLimit: soon\n',
    ['3 setup.timeLimit: It must be a number of seconds, or a duration such as "90s", "10m" or "1h".'],
  ],
  ['devServers:\n  web:\n    command: x\n    port: 99999\n', [expect.stringMatching(/^4 devServers\.web\.port: /)]],
  ['devServers:\n  "a b": x\n', [expect.stringMatching(/^2 devServers\.a b: It must be a name/)]],
  ['caches:\n  - ~/.gradle\n  - ~/.ssh/keys\n', [expect.stringMatching(/^3 caches\.1: It holds programs/)]],
  ['caches: [~/../x]', [expect.stringMatching(/^1 caches\.0: It must not contain/)]],
  ['base: x\nsandbox: false\n', ['2 sandbox: It is set by a person, in the settings of the project.']],
  ['defaults:\n  mode: plan\n', ['2 defaults.mode: It is set by a person, in the settings of the project.']],
  ['setup: a\nsetup: b\n', [expect.stringMatching(/^2 : Map keys must be unique/)]],
  ['setup: [\n', [expect.stringMatching(/^\d : /)]],
  ['- a\n', ['1 : It must be keys with values.']],
  [
    'a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]\n',
    [expect.stringMatching(/^1 : Excessive alias count/)],
  ],
])('names the line and the key of what it cannot use: %j', (text, expected) => {
  expect(problems(text)).toEqual(expected);
  expect(parseFile(text).settings).toEqual({});
});

it('never throws, and names a line of the file', () => {
  const anything = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.string({ unit: fc.constantFrom(...'ab:-[]{}&*!|>\'"#%@`\n ?,~0\t'), maxLength: 80 }),
    fc.json({ maxDepth: 3 }),
    fc
      .record(
        {
          setup: fc.anything({ maxDepth: 2 }),
          devServers: fc.dictionary(fc.string({ maxLength: 8 }), fc.anything({ maxDepth: 2 })),
          defaults: fc.dictionary(
            fc.constantFrom('model', 'effort', 'mode', '__proto__'),
            fc.anything({ maxDepth: 1 }),
          ),
          caches: fc.anything({ maxDepth: 2 }),
          pipelines: fc.dictionary(
            fc.constantFrom('Tested', 'tested', ' a', '', '__proto__'),
            fc.record({ phases: fc.anything({ maxDepth: 3 }), finish: fc.anything({ maxDepth: 0 }) }),
          ),
        },
        { requiredKeys: [] },
      )
      .map((value) => {
        try {
          return stringify(JSON.parse(JSON.stringify(value) ?? 'null'));
        } catch {
          return '';
        }
      }),
  );
  fc.assert(
    fc.property(anything, (text) => {
      const { settings, problems } = parseFile(text);
      const lines = text.split('\n').length + 1;
      for (const { line, message } of problems) {
        expect(line).toBeLessThanOrEqual(lines);
        expect(message).not.toBe('');
      }
      if (problems.length > 0) expect(settings).toEqual({});
    }),
    { numRuns: 500 },
  );
});
