import { Button, Textarea } from '@mantine/core';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import type { useWriting } from '../api/comments.ts';
import { linesText } from '../model/comment-words.ts';
import { useReviewUi, type Writing } from '../model/review-ui.ts';
import css from './comments.module.css';
import { focusChanges } from './use-line-hand.ts';

interface ComposerProps {
  writing: Writing;
  parts: ReturnType<typeof useWriting>;
}

/** Where a comment is written. Its text is a draft from the first letter on; Escape asks only if text would be lost. */
export function CommentComposer({ writing, parts }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const canCommand = useCanCommand();
  const { text, original, isAsked } = writing;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const done = () => {
    if (text.trim() === '') return;
    void parts.finish().then(focusChanges, () => undefined);
  };
  const leave = () => {
    const isLost = text.trim() !== '' && text !== original;
    const { stageId } = parts;
    if (isLost && !isAsked) useReviewUi.getState().ask(stageId, true);
    else void parts.discard().then(focusChanges, () => undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      if (isAsked) useReviewUi.getState().ask(parts.stageId, false);
      else leave();
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      done();
    }
  };
  return (
    <section className={css.composer} ref={box} aria-label={`Comment on ${linesText(writing)}`}>
      <Textarea
        ref={field}
        aria-label={`Comment on ${linesText(writing)}`}
        placeholder={`What should change in ${linesText(writing)}`}
        autosize
        minRows={2}
        maxRows={12}
        value={text}
        onChange={(event) => useReviewUi.getState().setText(parts.stageId, event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {parts.error !== null && <ErrorNote lead="Not stored yet." error={parts.error} />}
      <div className={css.buttons}>
        {isAsked ? (
          <>
            <span className={css.ask} role="alert">
              {original === null ? 'Discard this comment?' : 'Discard what you changed?'}
            </span>
            <Button size="compact-sm" variant="default" onClick={leave}>
              Discard
            </Button>
            <Button size="compact-sm" autoFocus onClick={() => useReviewUi.getState().ask(parts.stageId, false)}>
              Keep writing
            </Button>
          </>
        ) : (
          <>
            <Button size="compact-sm" variant="subtle" color="gray" onClick={leave}>
              Cancel
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              disabled={text.trim() === '' || !canCommand}
              loading={parts.isFinishing}
              onClick={done}
            >
              {original === null ? 'Add comment' : 'Save'}
              <KeyHint>Ctrl+Enter</KeyHint>
            </Button>
          </>
        )}
      </div>
    </section>
  );
}
