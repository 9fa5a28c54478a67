import { expect, it } from 'vitest';
import { resumeCommand, shellQuote } from './sessions.ts';

it('quotes words that a shell would split or expand', () => {
  expect(shellQuote('/home/ada/x-1')).toBe('/home/ada/x-1');
  expect(shellQuote("it's here")).toBe("'it'\\''s here'");
});

it('goes to the folder of a conversation and resumes it there', () => {
  expect(resumeCommand('/home/ada/my work', '24796da1-60bd')).toBe(
    "cd '/home/ada/my work' && claude --resume 24796da1-60bd",
  );
});
