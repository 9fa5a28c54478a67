import { memo, Suspense } from 'react';
import { onDemand } from '../lib/on-demand.ts';
import css from './markdown.module.css';

const MarkdownView = onDemand(() => import('./markdown-view.tsx'));

/** A text of the model's, rendered; its plain text until the renderer is there. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className={css.plain}>{text}</div>}>
      <MarkdownView text={text} />
    </Suspense>
  );
});
