import { StageId } from '@callboard/contract';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { KindIcon, PriorityMark, ProjectMark, priorityLabel, StageIdText } from './marks.tsx';
import { MiddleCut } from './text.tsx';

it('says a priority in a word, and draws nothing for the normal one', () => {
  expect([0, 1, 2, 3, 9].map(priorityLabel)).toEqual(['Urgent', 'High', 'Normal', 'Low', 'Low']);
  expect(renderToStaticMarkup(<PriorityMark priority={2} />)).toBe('');
  for (const priority of [0, 1, 5])
    expect(renderToStaticMarkup(<PriorityMark priority={priority} />)).toContain(
      `aria-label="${priorityLabel(priority)} priority"`,
    );
});

it('draws the icon of what is asked, hidden from screen readers', () => {
  const icon = renderToStaticMarkup(<KindIcon kind="approval" toolName="Bash" />);
  expect(icon).toContain('data-sign="command"');
  expect(icon).toContain('aria-hidden="true"');
});

it('draws a project in one of its eight tints', () => {
  expect(renderToStaticMarkup(<ProjectMark name="shop" />)).toMatch(/var\(--tint-[1-8]\)/);
});

it('shows the id of a stage', () => {
  expect(renderToStaticMarkup(<StageIdText id={StageId.parse('STAGE-12')} />)).toContain('>STAGE-12<');
});

it('cuts a path before its file name and other text before its end, keeps every letter, and shows the whole on hover', () => {
  const html = renderToStaticMarkup(<MiddleCut text="src/routes/login.ts" />);
  expect(html).toMatch(/>src\/routes<\/span><span[^>]*>\/login\.ts<\/span>/);
  expect(html).toContain('title="src/routes/login.ts"');
  const long = renderToStaticMarkup(<MiddleCut text="callboard-a-long-branch-name-of-a-stage" />);
  expect(long).toMatch(/>e-of-a-stage<\/span>/);
  expect(long.replaceAll(/<[^>]*>/g, '')).toBe('callboard-a-long-branch-name-of-a-stage');
  expect(renderToStaticMarkup(<MiddleCut text="notes.md" />)).toContain('>notes.md<');
});
