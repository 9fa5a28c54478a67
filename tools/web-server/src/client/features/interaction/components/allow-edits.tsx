import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import type { EditsOffer } from '../model/always-allow-offers.ts';
import { type Approval, delayedFor, type Verdict } from '../model/verdict.ts';
import css from './content.module.css';
import { DecisionButton, type Press } from './decision-place.tsx';

interface AllowEditsProps {
  offer: EditsOffer;
  approve: Approval;
  off: boolean;
  allowWith: Pick<Verdict, 'updatedInput'>;
}

/** Allows this call, and from now on the edits of this stage. */
export function AllowEdits({ offer, approve, off, allowWith }: AllowEditsProps) {
  const canAnswer = useCanAnswer();
  const allow = (press: Press) =>
    approve.mutate({ decision: 'allow', ...allowWith, updatedPermissions: offer.updates, ...delayedFor(press) });
  return (
    <div className={css.panel}>
      <p>
        Claude then edits and creates files in the stage’s folder without asking, and runs <code>mkdir</code>,{' '}
        <code>touch</code>, <code>mv</code>, <code>cp</code> and <code>rm</code> there. Other commands still ask.
      </p>
      {offer.folders.length > 0 && (
        <p>
          The same holds in{' '}
          {offer.folders.map((folder) => (
            <code key={folder} className={css.rule}>
              <Seen text={folder} kind="command" />
            </code>
          ))}
        </p>
      )}
      <div className={css.panelRow}>
        <DecisionButton variant="default" disabled={off || !canAnswer} act={allow}>
          Allow edits in this stage
        </DecisionButton>
      </div>
      <p className={css.hint}>To end it, choose another mode beside the message box.</p>
    </div>
  );
}
