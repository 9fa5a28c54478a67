import { act, renderHook } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { FRONT, OVERLAY, useFocusGivenBack } from './request-overlay.tsx';

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

/** A field of the page and one of the request before it, which has the focus. */
function setUp() {
  vi.useFakeTimers();
  const field = document.createElement('input');
  const reason = document.createElement('input');
  const front = document.createElement('div');
  front.setAttribute(FRONT, '');
  front.setAttribute('role', 'dialog');
  front.append(reason);
  document.body.append(field, front);
  const shown: { key: string | null } = { key: OVERLAY };
  const { rerender } = renderHook(({ key }) => useFocusGivenBack(key), { initialProps: shown });
  field.focus();
  reason.focus();
  return { field, reason, show: (key: string | null) => rerender({ key }) };
}
const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));

it('gives the focus back to the page when the last request goes', () => {
  const { field, show } = setUp();
  show(null);
  pass(300);
  expect(document.activeElement).toBe(field);
});

it('leaves the focus where it is if another request comes meanwhile', () => {
  const { reason, show } = setUp();
  show(null);
  show(OVERLAY);
  reason.focus();
  pass(300);
  expect(document.activeElement).toBe(reason);
});
