import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Note } from '../../../ui/note.tsx';
import css from './request.module.css';

/** Says of an answer that was given while Callboard is away that it has not arrived yet. */
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
