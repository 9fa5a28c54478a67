import { eventData, problems, streamEventData } from '@callboard/contract';
import { expect, it } from 'vitest';
import { reference } from '../../../scripts/write-api-docs.ts';

it('the reference has every error code and event, and each shape that it names', () => {
  const text = reference();
  for (const name of [...Object.keys(problems), ...Object.keys(eventData), ...Object.keys(streamEventData)])
    expect(text).toContain(`| \`${name}\` `);
  const shapes = [...text.matchAll(/\]\(#(\w+)\)/g)].map(([, shape]) => shape);
  expect(shapes.length).toBeGreaterThan(10);
  for (const shape of shapes) expect(text.toLowerCase()).toContain(`### ${shape}\n`);
});
