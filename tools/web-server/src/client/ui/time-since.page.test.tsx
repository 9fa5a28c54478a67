import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { exactTime } from '../lib/format.ts';
import { TimeSince } from './text.tsx';

it('shows the exact time on hover', () => {
  const at = new Date(Date.now() - 3 * 60_000 - 1_000).toISOString();
  render(<TimeSince at={at} ago />);
  const time = screen.getByText('3 min ago');
  fireEvent.mouseOver(time);
  expect(time.title).toBe(exactTime(at));
});
