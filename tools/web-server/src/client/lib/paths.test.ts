import { expect, it } from 'vitest';
import { fileName, pathText, relativePath, shortPath } from './tool-text.ts';

it('shows a path relative to its folder', () => {
  expect(relativePath('/w/src/a.ts', '/w')).toBe('src/a.ts');
  expect(relativePath('/other/a.ts', '/w')).toBe('/other/a.ts');
  expect(relativePath('/w/a.ts', null)).toBe('/w/a.ts');
});

it('shortens a long path in its middle, and a long name at its beginning', () => {
  expect(shortPath('src/a.ts', 20)).toBe('src/a.ts');
  expect(shortPath('src/a/very/deep/folder/a.ts', 14)).toBe('src/a/ve…/a.ts');
  expect(shortPath(`src/${'x'.repeat(30)}.ts`, 10)).toBe('…xxxxxx.ts');
});

it('reads a name that git has quoted, with the bytes that are no text as codes', () => {
  expect(fileName('"src/caf\\351.txt"')).toBe('src/caf⟨\\xe9⟩.txt');
  expect(fileName('"\\303\\251\\377\\"x\\\\y\\tz"')).toBe('é⟨\\xff⟩"x\\y\tz');
  expect(fileName('src/app.ts')).toBe('src/app.ts');
  expect(pathText('"a\\tb\\351"')).toMatch(/^a.*b⟨\\xe9⟩$/);
});
