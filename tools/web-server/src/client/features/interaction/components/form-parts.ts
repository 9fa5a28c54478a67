import { ApprovalBody } from './approval-body.tsx';
import { ElicitationBody } from './elicitation-body.tsx';
import { NetworkBody } from './network-body.tsx';
import { PlanBody } from './plan-body.tsx';
import { QuestionBody } from './question-body.tsx';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

/**
 * What the forms of requests are made of. `RequestForm` hands it to the kinds: the board needs their words at once, and must not wait
 * for their forms.
 */
export const formParts = {
  ...{ ApprovalBody, ElicitationBody, NetworkBody, PlanBody, QuestionBody },
  RequestMeta,
  VerdictActions,
  /** The class of the part of a form that scrolls. */
  scroll: css.scroll,
};

export type FormParts = typeof formParts;
