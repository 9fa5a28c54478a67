import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { risksOf } from './risk.ts';

const codes = (command: string): string[] =>
  risksOf({ kind: 'approval', toolName: 'Bash', input: { command }, blockedPath: null }, '/w').map(({ code }) => code);

const PIECES = [
  ...[
    'rm marker',
    'rm',
    'marker',
    'ls',
    'echo',
    'cat',
    'x=1',
    'X=rm',
    '$X',
    '$x',
    'f()',
    'f',
    'eval',
    'bash -c',
    'sh',
    'env',
  ],
  ...[
    'xargs',
    'find . -name marker -exec',
    '-delete',
    'find .',
    '{}',
    '\\;',
    'command',
    'exec',
    'if',
    'then',
    'fi',
    'for x in',
    'do',
    'done',
  ],
  ...[
    '$(',
    ')',
    '`',
    '"',
    "'",
    '\\',
    '{',
    '}',
    '(',
    ';',
    '&&',
    '||',
    '|',
    '&',
    '\n',
    ' ',
    '<<E\n',
    '\nE\n',
    '<<<',
    '>',
    '<',
    '$((',
    '))',
  ],
  ...[
    '[[',
    ']]',
    '[',
    ']',
    '-eq',
    '-v',
    'alias ls=rm',
    'printf -v',
    '*',
    '?',
    '~',
    '#',
    '$',
    '!',
    '=',
    'a[$(rm marker)]',
    '${x:-',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
    '${!x}',
    '@P}',
  ],
  ...[
    'set --',
    'test',
    'read x',
    'while',
    'case x in',
    'esac',
    'x)',
    ';;',
    '\u202e',
    '\u00a0',
    'ｒｍ',
    '\t',
    '\r',
    "$'\\x72m'",
    'trap',
    'EXIT',
    'r""m',
    '\\rm',
  ],
];
const script = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((pieces) => pieces.join(' '));
const tight = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((pieces) => pieces.join(''));

it('tells something of each text, and never throws', () => {
  const text = fc.oneof(script, tight, fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ maxLength: 200 }));
  fc.assert(
    fc.property(text, (command) => Array.isArray(codes(command))),
    { numRuns: 2_000 },
  );
});

it('tells of a command however it is wrapped, or that nobody knows', () => {
  const wrap = fc.constantFrom<(inner: string) => string>(
    (inner) => `sudo ${inner}`,
    (inner) => `env A=1 ${inner}`,
    (inner) => `timeout 5 ${inner}`,
    (inner) => `(${inner})`,
    (inner) => `{ ${inner}; }`,
    (inner) => `echo $(${inner})`,
    (inner) => `echo "$(${inner})"`,
    (inner) => `bash -c '${inner.replaceAll("'", "'\\''")}'`,
    (inner) => `ls; ${inner}`,
    (inner) => `ls && ${inner} || true`,
    (inner) => `echo a | ${inner}`,
    (inner) => `if ls; then ${inner}; fi`,
    (inner) => `for x in a b; do ${inner}; done`,
    (inner) => `f() { ${inner}; }; f`,
    (inner) => `cat <<E\n$(${inner})\nE`,
    (inner) => `bash <<'E'\n${inner}\nE`,
    (inner) => `echo '${inner.replaceAll("'", "'\\''")}' | sh`,
    (inner) => `diff <(${inner}) x`,
    (inner) => `eval '${inner.replaceAll("'", "'\\''")}'`,
    (inner) => `! ${inner}`,
    (inner) => `time ${inner}`,
    (inner) => `x=\${y:-$(${inner})}`,
  );
  const wrapped = fc.array(wrap, { maxLength: 6 });
  fc.assert(
    fc.property(wrapped, (wraps) => {
      const reported = codes(wraps.reduce((inner, next) => next(inner), 'rm -rf /data'));
      expect(reported.some((code) => code === 'deletes' || code === 'unknown')).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

it('tells no less of two commands than of each', () => {
  const command = fc.constantFrom(
    'npm ci',
    'rm x',
    'curl a.example',
    'git push',
    'ls',
    'crontab x',
    'cat .env',
    'make',
    'kill 1',
  );
  const join = fc.constantFrom('; ', '\n', ' && ', ' || ', ' | ', ' & ');
  fc.assert(
    fc.property(command, join, command, (a, by, b) => {
      expect(codes(`${a}${by}${b}`)).toEqual(expect.arrayContaining([...codes(a), ...codes(b)]));
    }),
  );
});

it.each(['$(', '(', '{ ', '`', '"$(', 'a|', 'if ', 'case x in ', '((', 'a <<E\n', '[[ ! ', '@(', '{a,', 'a;', 'a b '])(
  'answers in time to a huge text of %j',
  (piece) => {
    const before = process.cpuUsage();
    expect(codes(piece.repeat(Math.floor(99_000 / piece.length)))).toContain('unknown');
    expect(codes(piece.repeat(1_000_000))).toContain('unknown');
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000); // ms of the processor: a busy machine adds none
  },
);

const folder = mkdtempSync(join(tmpdir(), 'stakes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('told of each script by which bash deletes a file', () => {
  const marker = join(folder, 'marker');
  const runsIt = fc.oneof(script, tight).filter((text) => codes(text).length === 0);
  fc.assert(
    fc.property(runsIt, (text) => {
      writeFileSync(marker, '');
      spawnSync('bash', ['-c', text], { cwd: folder, env: { PATH: process.env.PATH }, input: '', timeout: 1_000 });
      expect(existsSync(marker)).toBe(true);
    }),
    { numRuns: 40 },
  );
});
