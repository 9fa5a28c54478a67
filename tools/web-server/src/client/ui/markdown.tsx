import { memo, Suspense } from 'react';
import { lazyComponent } from './error-boundary.tsx';
import css from './markdown.module.css';

const MarkdownView = lazyComponent(() => import('./markdown-view.tsx'));

/** A text of the model's, rendered; its plain text until the renderer is there. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className={css.plain}>{text}</div>}>
      <MarkdownView text={text} />
    </Suspense>
  );
});
