import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { LostNote } from './unsettled-answers.tsx';

// Hours, not minutes: what is rendered without a browser has the time at which the page's clock was loaded.
const at = new Date(Date.now() - 3.5 * 3_600_000).toISOString();
const end = { ended: 'process', endedAt: at, endReason: 'Ended by SIGKILL.' } as const;
const shown = (lost: Parameters<typeof LostNote>[0]['lost']) => renderToStaticMarkup(<LostNote lost={lost} />);
const text = (lost: Parameters<typeof LostNote>[0]['lost']) => shown(lost).replaceAll(/<[^>]*>/g, '');

it('says when the answer was handed over and why the process ended, and claims nothing that is unknown', () => {
  expect(text({ writtenAt: at, ...end })).toBe(
    'Handed to Claude 3 h ago; the process ended 3 h ago, before it was confirmed. Ended by SIGKILL.',
  );
  expect(text({ writtenAt: null, ...end })).toMatch(/^It may have been handed to Claude;/);
  expect(text({ writtenAt: at, ...end, ended: 'turn' })).toMatch(/; its turn ended /);
  expect(text(null)).toBe('The process ended before it confirmed the answer.');
});
