import { expect, it } from 'vitest';
import { relativePath, shellQuote } from './paths.ts';

it('shows a path from the folder that it lies in', () => {
  expect(relativePath('/w/src/a.ts', '/w')).toBe('src/a.ts');
  expect(relativePath('/other/a.ts', '/w')).toBe('/other/a.ts');
  expect(relativePath('/w/a.ts', null)).toBe('/w/a.ts');
});

it('quotes for a shell what needs it', () => {
  expect(shellQuote('/home/ada/x-1')).toBe('/home/ada/x-1');
  expect(shellQuote("it's here")).toBe("'it'\\''s here'");
});
