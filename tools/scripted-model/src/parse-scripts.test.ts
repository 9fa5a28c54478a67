import { describe, expect, it } from 'vitest';
import { parseScripts } from './parse-scripts.ts';

describe('parseScripts', () => {
  it('reads scripts by name', () => {
    const yaml = `
add-login:
  steps:
    - text: I look first.
      tools:
        - { name: Bash, input: { command: ls } }
    - text: |
        Two
        lines
`;
    expect(parseScripts(yaml)).toEqual({
      'add-login': {
        steps: [
          { text: 'I look first.', tools: [{ name: 'Bash', input: { command: 'ls' } }] },
          { text: 'Two\nlines\n' },
        ],
      },
    });
  });

  it('names what does not fit', () => {
    expect(() => parseScripts('a: { steps: [{ txt: x }] }')).toThrow(/txt[\s\S]*a\.steps\[0\]/);
    expect(() => parseScripts('a: { steps: [{ text: x, blocks: [] }] }')).toThrow('replaces');
  });

  it('takes an empty file for no scripts', () => {
    expect(parseScripts('')).toEqual({});
  });
});
