import { Box } from '@mantine/core';
import type { ReactNode } from 'react';
import { Hint } from './primitives.tsx';

interface PlainPageProps {
  title: string;
  /** What the page is about, in a sentence or two. */
  about?: ReactNode;
  children: ReactNode;
}

/** A page that is one scrolling column below its heading. */
export function PlainPage({ title, about, children }: PlainPageProps) {
  return (
    <Box h="100%" p="12px var(--edge) 32px" style={{ overflow: 'auto' }}>
      <h1>{title}</h1>
      {about !== undefined && (
        <Hint maw={680} m="4px 0 16px">
          {about}
        </Hint>
      )}
      {children}
    </Box>
  );
}
