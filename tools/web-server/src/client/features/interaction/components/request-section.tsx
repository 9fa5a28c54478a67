import type { PendingRequest } from '@callboard/contract';
import { requestKey } from '../../../lib/request-text.ts';
import { useMe } from '../api/use-me.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { isDelayedBy } from '../model/held-answers.ts';
import { askTitle } from '../words/request-words.ts';
import { DecisionSlot } from './decision-place.tsx';
import { DelayedAnswerLine } from './held-answers.tsx';
import css from './request.module.css';
import { RequestForm } from './request-form.tsx';
import { RequestHead } from './request-head.tsx';

interface RequestSectionProps {
  request: PendingRequest;
  /** Whether it stands beside a list of requests of all stages, and not on its stage's own page. */
  isDetail?: boolean;
}

/** A request within the page: in a stage's transcript, or beside the inbox's list. */
export function RequestSection({ request, isDetail = false }: RequestSectionProps) {
  const title = askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId));
  const key = requestKey(request);
  const { name } = useMe();
  if (isDelayedBy(request, name)) return <DelayedAnswerLine request={request} />;
  return (
    <DecisionSlot key={key} about={key} isRoom={!isDetail} className={isDetail ? css.detailPlace : css.section}>
      <RequestHead request={request} hasCrumbs={isDetail} linksStage={false} />
      <RequestForm request={request} label={title} />
    </DecisionSlot>
  );
}
