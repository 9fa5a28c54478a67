import css from './line-counts.module.css';

/** How many lines a change adds and removes: "+6 −2". What is zero is left out. */
export function LineCounts({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return <span>no lines changed</span>;
  return (
    <span className="figures">
      {added > 0 && <span className={css.added}>+{added}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span className={css.removed}>−{removed}</span>}
    </span>
  );
}
