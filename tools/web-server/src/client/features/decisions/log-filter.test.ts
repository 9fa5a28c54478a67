import { expect, it } from 'vitest';
import { ALL, isFiltering, readLogFilter, toQuery, writeLogFilter } from './decision-log.tsx';

const filterOf = (query: string) => readLogFilter(new URLSearchParams(query));

it('is written to the URL and read from it', () => {
  const query =
    'project=shop&stage=STAGE-1&kind=approval&outcome=denied&source=rule&who=Ada&device=Chrome+on+Android&from=2026-01-02&to=2026-01-03';
  expect(String(writeLogFilter(filterOf(query)))).toBe(query);
  expect(isFiltering(filterOf(query))).toBe(true);
  expect(isFiltering(filterOf('other=1'))).toBe(false);
});

it('asks the server for whole days in local time, including the last one', () => {
  expect(toQuery(filterOf('from=2026-01-31&to=2026-01-31'))).toMatchObject({
    since: new Date(2026, 0, 31).toISOString(),
    before: new Date(2026, 1, 1).toISOString(),
  });
});

it('asks for what was decided on one device', () => {
  expect(toQuery(filterOf('device=Chrome+on+Android'))).toEqual({ device: 'Chrome on Android' });
});

it('asks for denials of Claude Code by their source', () => {
  expect(toQuery(filterOf('source=hook'))).toEqual({ source: 'hook' });
});

it('ignores invalid and empty values', () => {
  expect(toQuery(filterOf('kind=nonsense&source=nobody&outcome=&from=soon&stage=a b'))).toEqual(toQuery(ALL));
  expect(toQuery(ALL)).toEqual({});
});
