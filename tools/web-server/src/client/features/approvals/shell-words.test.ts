import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shellPieces } from './asked-input.tsx';

const kinds = (command: string, kind: string) =>
  shellPieces(command)
    .filter((piece) => piece.kind === kind)
    .map(({ text }) => text);

it('keeps every character of a command', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (command) => {
      expect(
        shellPieces(command)
          .map(({ text }) => text)
          .join(''),
      ).toBe(command);
    }),
  );
});

it('finds the command words, even after assignments and operators', () => {
  expect(kinds('cd web && NODE_ENV=test npm run build -- --mode "x" | tee b.log', 'command')).toEqual([
    'cd',
    'npm',
    'tee',
  ]);
  expect(kinds('sudo rm -rf "$HOME/a"; (ls)', 'command')).toEqual(['sudo', 'rm', 'ls']);
});

it('distinguishes options, quoted text, variables and comments', () => {
  const command = `grep -rn --color 'a b' "$x" $HOME 2>&1 # why`;
  expect(kinds(command, 'option')).toEqual(['-rn', '--color']);
  expect(kinds(command, 'text')).toEqual([`'a b'`, '"$x"']);
  expect(kinds(command, 'variable')).toEqual(['$HOME']);
  expect(kinds(command, 'comment')).toEqual(['# why']);
});
