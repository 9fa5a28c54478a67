import css from './key-hint.module.css';

/** The key that does the same as the button it stands in; not part of the button's name. */
export function KeyHint({ children }: { children: string }) {
  return (
    <span aria-hidden className={css.hint}>
      {children}
    </span>
  );
}
