import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Highlighted } from './highlighted.tsx';
import css from './markdown.module.css';
import { rehypeSeen } from './rehype-seen.ts';
import { Seen } from './seen.tsx';

const plugins = [remarkGfm];
const rehypePlugins = [rehypeSeen];

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  code: ({ className, children }) => {
    const language = /language-(\S+)/.exec(className ?? '')?.[1] ?? null;
    return <code>{typeof children === 'string' ? <Highlighted text={children} language={language} /> : children}</code>;
  },
  // A text must not make the page load anything.
  img: ({ src, alt }) => (
    <span>
      <Seen text={alt === undefined || alt === '' ? (src ?? '') : alt} kind="prose" />
    </span>
  ),
};

/** Markdown without raw HTML: a model's output is text only. */
export default function MarkdownView({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      <ReactMarkdown remarkPlugins={plugins} rehypePlugins={rehypePlugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
