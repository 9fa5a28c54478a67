import { middleOf } from '../lib/middle-of.ts';
import css from './middle-cut.module.css';

/** One line that is cut in its middle where there is no room: of a path, the file's name stays. The whole is shown on hover. */
export function MiddleCut({ text }: { text: string }) {
  const at = middleOf(text);
  if (at === 0) return <span title={text}>{text}</span>;
  return (
    <span className={css.cut} title={text}>
      <span className={css.start}>{text.slice(0, at)}</span>
      <span className={css.end}>{text.slice(at)}</span>
    </span>
  );
}
