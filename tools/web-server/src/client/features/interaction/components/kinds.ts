import type { PendingRequest, RequestKind } from '@callboard/contract';
import type { ComponentType } from 'react';
import { ApprovalBody } from './approval-body.tsx';
import { ElicitationBody } from './elicitation-body.tsx';
import { NetworkBody } from './network-body.tsx';
import { PlanBody } from './plan-body.tsx';
import { QuestionBody } from './question-body.tsx';

export interface RequestBodyProps {
  request: PendingRequest;
}

/** What each kind of request looks like: the content and the actions of its form. */
export const requestBodies: Record<RequestKind, ComponentType<RequestBodyProps>> = {
  approval: ApprovalBody,
  question: QuestionBody,
  plan: PlanBody,
  elicitation: ElicitationBody,
  network: NetworkBody,
};
