import type { PendingRequest } from '@callboard/contract';
import type { FormEvent } from 'react';
import { askTitle } from '../../../lib/request-words.ts';
import { useEndingTold } from '../api/use-ending-told.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { requestBodies } from './kinds.ts';
import css from './request.module.css';

interface RequestFormProps {
  request: PendingRequest;
  /** The id of what names the form; without one it stands in a dialog that has the name. */
  labelledBy?: string;
}

const stay = (event: FormEvent) => event.preventDefault();

/** The one form of a request, wherever it stands. */
export function RequestForm({ request, labelledBy }: RequestFormProps) {
  useEndingTold(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  const Body = requestBodies[request.kind];
  return (
    <form className={css.form} aria-labelledby={labelledBy} onSubmit={stay}>
      <Body request={request} />
    </form>
  );
}
