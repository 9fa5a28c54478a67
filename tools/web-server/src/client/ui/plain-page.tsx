import { Box } from '@mantine/core';
import type { ReactNode } from 'react';
import { FullPage, Hint, Scroll, Toolbar } from './primitives.tsx';

interface PlainPageProps {
  title: string;
  /** What the page is about, in a sentence or two. */
  about?: ReactNode;
  children: ReactNode;
}

/** A page that is one scrolling column below its heading. */
export function PlainPage({ title, about, children }: PlainPageProps) {
  return (
    <FullPage>
      <Toolbar>
        <h1>{title}</h1>
      </Toolbar>
      <Scroll aria-label={title}>
        <Box p="12px var(--edge) 32px">
          {about !== undefined && (
            <Hint maw={680} mb="lg">
              {about}
            </Hint>
          )}
          {children}
        </Box>
      </Scroll>
    </FullPage>
  );
}
