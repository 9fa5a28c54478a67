import clsx from 'clsx';
import { lineDiff } from '../lib/line-diff.ts';
import css from './code.module.css';
import { Highlighted } from './highlighted.tsx';
import { Seen } from './seen.tsx';

interface CodeBlockProps {
  text: string;
  /** Shows a shell prompt that is not part of the text. */
  isCommand?: boolean;
  /** Null if there is none. */
  language?: string | null;
}

/** A block of code, coloured if its language is known. */
export function CodeBlock({ text, isCommand = false, language = isCommand ? 'bash' : null }: CodeBlockProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <pre className={clsx(css.block, isCommand && css.prompt)} tabIndex={0}>
      <Highlighted text={text} language={language} kind={isCommand ? 'command' : 'code'} />
    </pre>
  );
}

const SAID = { same: '', removed: 'Removed: ', added: 'Added: ' };

/** The lines an edit removes and adds. */
export function Diff({ before, after }: { before: string; after: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <div className={clsx(css.block, css.diff)} tabIndex={0}>
      {lineDiff(before, after).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
        <div key={index} data-line className={line.kind === 'same' ? undefined : css[line.kind]}>
          <span className="visually-hidden">{SAID[line.kind]}</span>
          <Seen text={line.text} kind="code" />
        </div>
      ))}
    </div>
  );
}
