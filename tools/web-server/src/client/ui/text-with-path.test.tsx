import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { TextWithPath } from './text.tsx';

const shown = (text: string, path?: string) => renderToStaticMarkup(<TextWithPath text={text} path={path} />);

it('separates the file name from its folders, so that only these are shortened, and keeps every letter', () => {
  const html = shown('asks to write: src/a/b/c.ts and 1 more', 'src/a/b/c.ts');
  expect(html).toMatch(/>src\/a\/b<\/span><span[^>]*>\/c\.ts<\/span>/);
  expect(html.replaceAll(/<[^>]*>/g, '')).toBe('asks to write: src/a/b/c.ts and 1 more');
});

it('leaves a text without folders unchanged', () => {
  expect(shown('asks to write: notes.md', 'notes.md')).toBe('asks to write: notes.md');
  expect(shown('asks to run: npm i')).toBe('asks to run: npm i');
  expect(shown('has a plan', 'src/a.ts')).toBe('has a plan');
});
