import { ApprovalBody } from './approval-body.tsx';
import { NetworkBody } from './asked-input.tsx';
import { PlanBody } from './plan-body.tsx';
import { ElicitationBody, QuestionBody } from './question-body.tsx';
import css from './request.module.css';
import { RequestMeta, VerdictActions } from './verdict-actions.tsx';

/**
 * The parts of request forms. `RequestForm` passes them to the kinds: the board needs the kinds' words at once and must not wait
 * for their forms to load.
 */
export const formParts = {
  ApprovalBody,
  ElicitationBody,
  NetworkBody,
  PlanBody,
  QuestionBody,
  RequestMeta,
  VerdictActions,
  /** The class of the scrolling part of a form. */
  scroll: css.scroll,
};

export type FormParts = typeof formParts;
