import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useOpen } from '../model/session-ui.ts';
import css from './transcript.module.css';

const LINES = 40;
const CHARS = 2_000;

interface LongTextProps {
  /** Unique among everything that can be opened. */
  id: string;
  text: string;
  children: (shown: string) => ReactNode;
}

/** The beginning of a long text, and all of it on demand. */
export function LongText({ id, text, children }: LongTextProps) {
  const [isWhole, setWhole] = useOpen(`whole:${id}`, false);
  const beginning = cut(text);
  if (beginning === text) return children(text);
  return (
    <div className={css.long}>
      {children(isWhole ? text : `${beginning} …`)}
      <Button size="compact-xs" variant="subtle" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show less' : `Show all (${formatSize(text)})`}
      </Button>
    </div>
  );
}

function cut(text: string): string {
  const lines = text.split('\n');
  const byLines = lines.length > LINES * 1.5 ? lines.slice(0, LINES).join('\n') : text;
  return byLines.length > CHARS * 1.5 ? byLines.slice(0, CHARS) : byLines;
}

function formatSize(text: string): string {
  const lines = text.split('\n').length;
  return lines > LINES ? `${lines.toLocaleString()} lines` : `${text.length.toLocaleString()} characters`;
}
