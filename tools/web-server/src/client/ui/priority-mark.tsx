import { type PriorityLabel, priorityLabel } from '../lib/priority-words.ts';
import css from './priority-mark.module.css';

const PATHS: Readonly<Record<Exclude<PriorityLabel, 'Normal'>, string>> = {
  // A filled square with a bar and a point cut out of it.
  Urgent:
    'M2.5 1h7A1.5 1.5 0 0 1 11 2.5v7A1.5 1.5 0 0 1 9.5 11h-7A1.5 1.5 0 0 1 1 9.5v-7A1.5 1.5 0 0 1 2.5 1Zm2.75 2v3.6h1.5V3Zm0 4.7v1.4h1.5V7.7Z',
  High: 'M6 1.8 11 6.6 9.9 7.7 6 3.95 2.1 7.7 1 6.6Zm0 3.6 5 4.8-1.1 1.1L6 7.55 2.1 11.3 1 10.2Z',
  Low: 'M6 9 1 4.2l1.1-1.1L6 6.85 9.9 3.1 11 4.2Z',
};

/** A stage's priority as a mark; a normal one has none. */
export function PriorityMark({ priority, size = 12 }: { priority: number; size?: number }) {
  const word = priorityLabel(priority);
  if (word === 'Normal') return null;
  const label = `${word} priority`;
  return (
    <span className={css.mark} data-word={word} role="img" aria-label={label} title={label}>
      <svg width={size} height={size} viewBox="0 0 12 12" fill="currentColor" aria-hidden>
        <path d={PATHS[word]} fillRule="evenodd" />
      </svg>
    </span>
  );
}
