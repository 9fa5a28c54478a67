import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Note } from '../../../ui/note.tsx';
import css from './request.module.css';

/** Says that an answer has not arrived yet, if it was given while Callboard is unreachable. */
export function StillSending({ isPending }: { isPending: boolean }) {
  const isAway = !useCanCommand();
  return (
    <div className={css.sending} role="status">
      {isPending && isAway && (
        <Note>
          Not delivered yet: Callboard cannot be reached just now. Your answer is sent once it is back, as long as this
          page stays open.
        </Note>
      )}
    </div>
  );
}
