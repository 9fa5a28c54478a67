import { renderHook } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { useFollowEnd } from './virtual-rows.tsx';

/** A box of 400 px at the end of rows of 1,000 px, whose last one shrinks by 300 px, and what its reader is taken to want. */
function followedBox() {
  const box = document.createElement('section');
  const height = { drawn: 1_000, measured: 1_000 };
  Object.defineProperties(box, {
    scrollHeight: { get: () => height.drawn },
    clientHeight: { value: 400 },
    scrollTop: { value: 600, writable: true },
  });
  const setFollowing = vi.fn();
  renderHook(() =>
    useFollowEnd(
      { current: box },
      {
        isFollowing: true,
        setFollowing,
        hasRows: true,
        hasForms: false,
        size: height.drawn,
        measured: () => height.measured,
        scrollToEnd: () => undefined,
        scrollToOffset: () => undefined,
      },
    ),
  );
  const scrollTo = (top: number) => {
    box.scrollTop = top;
    box.dispatchEvent(new Event('scroll'));
  };
  return { height, scrollTo, setFollowing };
}

it('keeps following its end as a row shrinks, even before the box is drawn smaller', () => {
  const { height, scrollTo, setFollowing } = followedBox();
  height.measured = 700;
  scrollTo(300);
  expect(setFollowing).not.toHaveBeenCalledWith(false);
  height.drawn = 700;
  scrollTo(300);
  expect(setFollowing).not.toHaveBeenCalledWith(false);
});

it('stays where a person scrolls up', () => {
  const { height, scrollTo, setFollowing } = followedBox();
  scrollTo(500);
  expect(setFollowing).toHaveBeenLastCalledWith(false);
  scrollTo(600);
  expect(setFollowing).toHaveBeenLastCalledWith(true);
  // Also while a row shrinks.
  height.measured = 700;
  scrollTo(200);
  expect(setFollowing).toHaveBeenLastCalledWith(false);
});
