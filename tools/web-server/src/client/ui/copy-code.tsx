import { IconCheck, IconCopy } from '@tabler/icons-react';
import clsx from 'clsx';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import css from './copy-code.module.css';

const SAYS_SO_MS = 2_000;

/** A block of code with a button that copies what is in it. */
export function CopyCode({ children }: { children: ReactNode }) {
  const box = useRef<HTMLPreElement>(null);
  return (
    <div className={css.box}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard */}
      <pre ref={box} tabIndex={0}>
        {children}
      </pre>
      <CopyButton className={css.copy} label="Copy code" read={() => box.current?.textContent ?? ''} />
    </div>
  );
}

interface CopyButtonProps {
  label: string;
  read: () => string;
  className?: string | undefined;
}

/** Copies a text that is read when it is pressed. A plain button: every row of a transcript has one. */
export function CopyButton({ label, read, className }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SAYS_SO_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () =>
    navigator.clipboard.writeText(read()).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <button
      type="button"
      className={clsx(css.button, className)}
      aria-label={isCopied ? 'Copied' : label}
      title={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
    >
      {isCopied ? <IconCheck size={16} /> : <IconCopy size={16} />}
    </button>
  );
}
