import type { ReactNode } from 'react';
import css from './plain-page.module.css';

interface PlainPageProps {
  title: string;
  /** What the page is about, in a sentence or two. */
  about?: ReactNode;
  children: ReactNode;
}

/** A page that is one scrolling column below its heading. */
export function PlainPage({ title, about, children }: PlainPageProps) {
  return (
    <div className={css.page}>
      <h1 className={css.head}>{title}</h1>
      {about !== undefined && <p className={css.about}>{about}</p>}
      {children}
    </div>
  );
}
