import type { PendingRequest } from '@callboard/contract';
import type { FormEvent } from 'react';
import { useAnswer, useApprove } from '../api/use-decide.ts';
import { useEndingNotice } from '../api/use-ending-notice.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { requestKinds } from '../kinds/registry.ts';
import { askTitle } from '../words/request-words.ts';
import { formDeps } from './form-parts.ts';
import { BeingAnswered } from './held-answers.tsx';
import css from './request.module.css';

interface RequestFormProps {
  request: PendingRequest;
  /** The form's name; omit it in a dialog that has the name. */
  label?: string;
}

const stay = (event: FormEvent) => event.preventDefault();

/** The form of a request, the same wherever it is shown. */
export function RequestForm({ request, label }: RequestFormProps) {
  useEndingNotice(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  const approve = useApprove(request);
  const answer = useAnswer(request);
  const { Body } = requestKinds[request.kind];
  return (
    <form className={css.form} aria-label={label} onSubmit={stay}>
      <BeingAnswered request={request} />
      <Body request={request} approve={approve} answer={answer} parts={formDeps} />
    </form>
  );
}
