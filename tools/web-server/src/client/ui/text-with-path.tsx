import css from './text-with-path.module.css';

interface PathInProps {
  /** One line of words. */
  text: string;
  /** A path that stands in it. */
  path?: string | undefined;
  /** In one line, come what may; else in as many as there is room for. */
  isLine?: boolean;
}

/** Words with a path that is cut in its middle where it has no room: the name of the file, at its end, is what is looked for. */
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
