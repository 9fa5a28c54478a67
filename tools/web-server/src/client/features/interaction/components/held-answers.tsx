import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { requestKey } from '../../../lib/request-text.ts';
import { useDelayedByMe, useDelayedEnding, useWithdraw } from '../api/use-held.ts';
import { useMe } from '../api/use-me.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { delayedLabel, delayedText } from '../model/held-answers.ts';
import { askSummary, askTitle } from '../words/request-words.ts';
import css from './held-answers.module.css';

interface DelayedAnswersProps {
  /** Where no form is in front of the page: it floats above the page's lower edge. */
  floats?: boolean;
  /** The stage whose page shows its own. */
  except?: string | null;
}

/** What this person just answered by a tap, with Undo, until the server sends it. */
export function DelayedAnswers({ floats = false, except = null }: DelayedAnswersProps) {
  const held = useDelayedByMe().filter(({ stageId }) => stageId !== except);
  return <DelayedBar held={held} floats={floats} />;
}

/** The same for one request, in the place of its form. */
export const DelayedAnswerLine = ({ request }: { request: PendingRequest }) => <DelayedBar held={[request]} />;

function DelayedBar({ held, floats = false }: { held: readonly PendingRequest[]; floats?: boolean }) {
  const withdraw = useWithdraw();
  const [first] = held;
  return (
    <div className={css.place} data-floats={floats} role="status">
      {held.map((request) => (
        <Ending key={requestKey(request)} request={request} />
      ))}
      {first !== undefined && (
        <div className={css.bar}>
          <span className={css.words}>
            {held.length === 1 ? <OneDelayed request={first} /> : delayedText(held.flatMap((one) => one.held ?? []))}
          </span>
          <Button
            className={css.undo}
            variant="subtle"
            loading={withdraw.isPending}
            onClick={() => withdraw.mutate(held)}
          >
            Undo
          </Button>
        </div>
      )}
    </div>
  );
}

function OneDelayed({ request }: { request: PendingRequest }) {
  const folder = useFolder(request.stageId);
  if (request.held === undefined) return null;
  return (
    <>
      <strong>{delayedLabel(request.held)}</strong> {askSummary(request, folder)}
    </>
  );
}

function Ending({ request }: { request: PendingRequest }) {
  useDelayedEnding(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  return null;
}

/** Above a form that cannot be used for a moment: who is answering. */
export function BeingAnswered({ request: { held } }: { request: PendingRequest }) {
  const { name } = useMe();
  return (
    <p className={css.other} role="status">
      {held !== undefined &&
        `${held.by === name ? 'You are' : `${held.by} is`} answering: ${delayedLabel(held)}, sent in 2 s unless taken back.`}
    </p>
  );
}
