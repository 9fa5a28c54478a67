import { memo, Suspense } from 'react';
import { lazyComponent } from './error-boundary.tsx';

const load = () => import('./markdown-view.tsx');
const MarkdownView = lazyComponent(load);

/** Loads the renderer before a text is there. If that fails, the first text says so. */
export const preloadMarkdown = (): void => void load().catch(() => undefined);

/** A model's text as Markdown; plain until the renderer is loaded. `isLive` says that more text follows. */
export const Markdown = memo(function Markdown({ text, isLive = false }: { text: string; isLive?: boolean }) {
  return (
    <Suspense fallback={<div className="pre-wrap">{text}</div>}>
      <MarkdownView text={text} isLive={isLive} />
    </Suspense>
  );
});
