import css from './key-hint.module.css';

interface KeyHintProps {
  children: string;
  /** The key does nothing just now: its room stays, so that nothing moves when it does again. */
  isOff?: boolean;
}

/** The key that does the same as the button it stands in; not part of the button's name. */
export function KeyHint({ children, isOff = false }: KeyHintProps) {
  return (
    <span aria-hidden className={css.hint} data-off={isOff}>
      {children}
    </span>
  );
}
