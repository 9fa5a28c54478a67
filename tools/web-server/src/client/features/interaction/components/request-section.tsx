import type { PendingRequest } from '@callboard/contract';
import { useId } from 'react';
import { requestKey } from '../../../lib/request-text.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { askTitle } from '../words/request-words.ts';
import { DecisionPlace } from './decision-place.tsx';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';

/** A request within the page: in a stage's transcript, or beside the inbox's list. */
export function RequestSection({ request }: { request: PendingRequest }) {
  const titleId = useId();
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  return (
    <DecisionPlace key={key} about={key} className={css.section}>
      <div className={css.sectionHead}>
        <h2 className={css.sectionTitle} id={titleId}>
          {title}
        </h2>
      </div>
      <RequestForm request={request} labelledBy={titleId} />
    </DecisionPlace>
  );
}
