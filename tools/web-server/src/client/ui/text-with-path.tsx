import css from './text-with-path.module.css';

interface PathInProps {
  /** One line of text. */
  text: string;
  /** A path that occurs in the text. */
  path?: string | undefined;
  /** Keeps the text on one line. Otherwise it wraps. */
  isLine?: boolean;
}

/** A text with a path that is shortened in its middle if there is no room. The file name at its end stays visible. */
export function TextWithPath({ text, path = '', isLine = false }: PathInProps) {
  const at = text.indexOf(path);
  const name = path.lastIndexOf('/');
  if (name <= 0 || at === -1) return text;
  const parts = (
    <>
      {text.slice(0, at)}
      <span className={css.path} data-path>
        <span className={css.folders}>{path.slice(0, name)}</span>
        <span className={css.name}>{path.slice(name)}</span>
      </span>
      {text.slice(at + path.length)}
    </>
  );
  return isLine ? <span className={css.line}>{parts}</span> : parts;
}
