import type { MouseEvent } from 'react';
import { exactTime } from '../lib/format.ts';

/** Attributes of an element that shows the exact time on hover. It is written out only then: hundreds of rows have a time. */
export const exactOnHover = (at: string) => ({
  onMouseOver: ({ currentTarget }: MouseEvent<HTMLElement>) => {
    currentTarget.title = exactTime(at);
  },
});
