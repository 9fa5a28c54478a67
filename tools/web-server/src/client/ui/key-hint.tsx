import css from './key-hint.module.css';

interface KeyHintProps {
  children: string;
  /** The key does nothing right now. It keeps its room, so that nothing moves when it works again. */
  isOff?: boolean;
}

/** The key that does the same as its button. It is not part of the button's accessible name. */
export function KeyHint({ children, isOff = false }: KeyHintProps) {
  return (
    <span aria-hidden className={css.hint} data-off={isOff}>
      {children}
    </span>
  );
}
