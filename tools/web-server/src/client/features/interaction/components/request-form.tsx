import type { PendingRequest } from '@callboard/contract';
import type { FormEvent } from 'react';
import { askTitle } from '../../../lib/request-words.ts';
import { useEndingTold } from '../api/use-ending-told.ts';
import { useFolder, useStageTitle } from '../api/use-request.ts';
import { requestBodies } from './kinds.ts';
import css from './request.module.css';
import type { KeyPolicy } from './verdict-actions.tsx';

interface RequestFormProps {
  request: PendingRequest;
  keys: KeyPolicy;
  /** The id of what names the form; without one it stands in a dialog that has the name. */
  labelledBy?: string;
}

const stay = (event: FormEvent) => event.preventDefault();

/** The one form of a request, wherever it stands. */
export function RequestForm({ request, keys, labelledBy }: RequestFormProps) {
  useEndingTold(request, askTitle(request, useStageTitle(request.stageId), useFolder(request.stageId)));
  const Body = requestBodies[request.kind];
  return (
    <form className={css.form} aria-labelledby={labelledBy} onSubmit={stay}>
      <Body request={request} keys={keys} />
    </form>
  );
}
